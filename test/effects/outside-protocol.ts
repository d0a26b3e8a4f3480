/**
 * What the network around a world tells of what reached it.
 * @module
 */

/** A name or address that packets went to; `name` where an address stands for one that was asked for. */
export type Reached = {
  readonly protocol: 'tcp' | 'udp' | 'icmp' | string
  readonly address: string
  readonly port: number
  readonly name: string | undefined
  readonly packets: number
}

export type Seen = {
  readonly reached: readonly Reached[]
  /** Every name that its DNS server was asked for. */
  readonly questions: readonly string[]
  /** Canaries in what its servers received, each with where. */
  readonly canaries: readonly { readonly canary: string; readonly place: string }[]
  /** Packets that came too fast to be looked at: then nothing is known. */
  readonly missed: number
}

/** To it: `tell` asks for what was seen since the last time. */
export type ToOutside = { readonly kind: 'tell' } | { readonly kind: 'canary'; readonly canary: string }
export type FromOutside = { readonly kind: 'ready' } | ({ readonly kind: 'seen' } & Seen)

/** Of the outside, and of the device in the world. */
export const OUTSIDE_ADDRESS = '10.99.0.1'
export const DEVICE_ADDRESS = '10.99.0.2'
export const OUTSIDE_ADDRESS_6 = 'fd99::1'
export const DEVICE_ADDRESS_6 = 'fd99::2'

/** The ways in which a secret may be written in bytes that are looked through: itself, in hexadecimal, in base64. */
export function writtenForms(canary: string): readonly string[] {
  const bytes = Buffer.from(canary)
  const shifted = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    // Without the letters that its neighbours have a part in.
    return text.slice(Math.ceil((before * 4) / 3) + 1, text.length - 6)
  })
  return [canary, bytes.toString('hex'), canary.split('').reverse().join(''), ...shifted]
}
