/**
 * The manifests of both tools: which arguments they take, which words those become, what they want. The files that run
 * and their digests are added where they are made.
 * @module
 */

const text = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength })

export const MANIFESTS = {
  markdown_to_html: {
    version: '1',
    args_schema: {
      type: 'object',
      required: ['markdown'],
      properties: { markdown: text(100_000) },
      additionalProperties: false,
    },
    argv: ['--', { arg: 'markdown' }],
    permissions: ['fs:read'],
    tier: 'T1',
  },
  image_sanitize: {
    version: '1',
    args_schema: {
      type: 'object',
      required: ['input_path', 'resize_max', 'output_format', 'output_path'],
      properties: {
        input_path: text(500),
        resize_max: { type: 'integer', minimum: 64, maximum: 4_096 },
        output_format: { type: 'string', enum: ['jpg', 'png'] },
        output_path: text(500),
      },
      additionalProperties: false,
    },
    argv: [
      { arg: 'resize_max', flag: '--resize-max' },
      { arg: 'output_format', flag: '--format' },
      { arg: 'output_path', flag: '--out' },
      '--',
      { arg: 'input_path' },
    ],
    permissions: ['fs:read', 'fs:write'],
    tier: 'T2',
  },
} as const

export type ToolName = keyof typeof MANIFESTS

/** The file of each. */
export const PROGRAMS: Readonly<Record<ToolName, string>> = {
  markdown_to_html: 'markdown-to-html',
  image_sanitize: 'image-sanitize',
}
