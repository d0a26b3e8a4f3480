/** stub */
export interface Model { readonly weights: Int8Array; readonly knownMin: number }
export function readModel(_value: unknown): Model | readonly string[] { return { weights: new Int8Array(1), knownMin: 1e9 } }
export function modelPermille(_m: Model, _c: Uint16Array, _l: number): number { return 0 }
