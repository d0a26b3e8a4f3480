/**
 * A tool: `image-sanitize --resize-max PIXELS --format jpg|png --out FILE -- FILE` reads an image and writes its pixels
 * alone: no EXIF, no comments, no more than so many pixels wide and high.
 * @module
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createJimp } from '@jimp/core'
import jpeg from '@jimp/js-jpeg'
import png from '@jimp/js-png'
import { methods as resize } from '@jimp/plugin-resize'

/** An image that says it is larger is not unpacked: 4 bytes a pixel. */
const INPUT_BYTES = 8_388_608
const Image = createJimp({ formats: [jpeg, png], plugins: [resize] })
const MIME = { jpg: 'image/jpeg', png: 'image/png' } as const

const { values, positionals } = parseArgs({
  options: {
    'resize-max': { type: 'string' },
    format: { type: 'string' },
    out: { type: 'string' },
  },
  allowPositionals: true,
})
const most = Number(values['resize-max'])
const mime = values.format === 'png' || values.format === 'jpg' ? MIME[values.format] : undefined
const [input, out] = [positionals[0], values.out]
if (input === undefined || out === undefined || mime === undefined || !Number.isSafeInteger(most))
  throw new Error('image-sanitize needs --resize-max, --format jpg|png, --out and a file.')

const bytes = readFileSync(input)
if (bytes.length > INPUT_BYTES) throw new Error(`${input} is larger than ${INPUT_BYTES} bytes.`)
const image = await Image.fromBuffer(bytes)
const scale = Math.min(1, most / Math.max(image.width, image.height))
if (scale < 1)
  image.resize({
    w: Math.max(1, Math.round(image.width * scale)),
    h: Math.max(1, Math.round(image.height * scale)),
  })
// A new image of the pixels: whatever else the file held stays behind.
const clean = new Image({ width: image.width, height: image.height, data: image.bitmap.data })
const written = await (mime === 'image/jpeg' ? clean.getBuffer(mime, { quality: 82 }) : clean.getBuffer(mime))
writeFileSync(out, written)
process.stdout.write(
  `${JSON.stringify({ path: out, width: clean.width, height: clean.height, bytes: written.length })}\n`,
)
