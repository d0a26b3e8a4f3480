/**
 * Files of age version 1, opened and sealed whole and within bounds, by the library `age-encryption`: X25519 recipients
 * and passphrases. Loaded when it is first needed. Refused before the library reads them: headers with more recipients
 * than anybody means, each of which costs a multiplication on the curve.
 * Rules: c2sp.org/age; docs/intent.md section 3.
 * @module
 */
import { SassError } from '../../errors.ts'
import { AGE_IDENTITIES, AGE_RECIPIENTS } from '../../intent/limits.ts'

export type AgeKeys = { readonly identities: readonly string[]; readonly passphrase?: string | undefined }

/** `problem` is a clause that follows the name of the file: `is for other recipients`. */
export type Opened =
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly problem: string }

const library = () => import('age-encryption')

const X25519_IDENTITY = /^AGE-SECRET-KEY-1[A-Z0-9]{58}$/
const X25519_RECIPIENT = /^age1[a-z0-9]{58}$/
const HEADER_LINES = /^(?:-> |--- )/gm

/** Whether a header has at most AGE_RECIPIENTS recipients. One that does not end is the library's to refuse. */
function hasFewRecipients(sealed: Uint8Array): boolean {
  const text = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength).toString('latin1')
  let recipients = 0
  for (const [begin] of text.matchAll(HEADER_LINES)) {
    if (begin === '--- ') return true
    recipients += 1
    if (recipients > AGE_RECIPIENTS) return false
  }
  return true
}

function oneChunk(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes)
      controller.close()
    },
  })
}

/** All of a stream; undefined: it is more than `limitBytes`. */
async function collect(
  stream: ReadableStream<Uint8Array>,
  limitBytes: number,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream) {
    length += chunk.length
    if (length > limitBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

/** What a sealed file holds, all of it authentic, or why it cannot be told. */
export async function openAge(sealed: Uint8Array, keys: AgeKeys, limitBytes: number): Promise<Opened> {
  if (!hasFewRecipients(sealed)) return { ok: false, problem: `has more than ${AGE_RECIPIENTS} recipients` }
  const { Decrypter } = await library()
  const decrypter = new Decrypter()
  for (const identity of keys.identities) decrypter.addIdentity(identity)
  if (keys.passphrase !== undefined) decrypter.addPassphrase(keys.passphrase)
  try {
    const bytes = await collect(await decrypter.decrypt(oneChunk(sealed)), limitBytes)
    if (bytes === undefined) return { ok: false, problem: `holds more than ${limitBytes} bytes` }
    return { ok: true, bytes }
  } catch (error) {
    // The library has no codes; this one sentence is its way to say that nothing else is wrong.
    const isForOthers = error instanceof Error && /no identity matched/.test(error.message)
    return {
      ok: false,
      problem: isForOthers ? 'is sealed for other recipients' : 'is not a whole file of age version 1',
    }
  }
}

/**
 * `bytes` sealed for all of `recipients` (`age1…`), each of whom can open it alone.
 * @throws SassError USAGE for what is no X25519 recipient, for none, and for more than AGE_RECIPIENTS
 */
export async function sealAge(bytes: Uint8Array, recipients: readonly string[]): Promise<Uint8Array> {
  const bad = recipients.find((recipient) => !X25519_RECIPIENT.test(recipient))
  if (bad !== undefined)
    throw new SassError(
      'USAGE',
      `${JSON.stringify(bad.slice(0, 80))} is no age recipient, so nothing was sealed: give one that begins with age1, as sass-edge intent vault prints it.`,
    )
  if (recipients.length === 0 || recipients.length > AGE_RECIPIENTS)
    throw new SassError(
      'USAGE',
      `${recipients.length} recipients are given, so nothing was sealed: name 1 to ${AGE_RECIPIENTS} with --recipient.`,
    )
  const { Encrypter } = await library()
  const encrypter = new Encrypter()
  try {
    for (const recipient of recipients) encrypter.addRecipient(recipient)
    const sealed = await collect(await encrypter.encrypt(oneChunk(bytes)), Number.MAX_SAFE_INTEGER)
    return sealed ?? new Uint8Array()
  } catch (cause) {
    throw new SassError(
      'USAGE',
      'One of the recipients is mistyped, since its checksum is wrong, so nothing was sealed: copy it anew.',
      {},
      cause,
    )
  }
}

/** The identities of an age identity file: one a line, with comments; undefined where it is no such file. */
export function readIdentities(text: string): readonly string[] | undefined {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  const isGood = lines.length > 0 && lines.length <= AGE_IDENTITIES
  return isGood && lines.every((line) => X25519_IDENTITY.test(line)) ? lines : undefined
}

/** A fresh identity as the text of its file, and the recipient that belongs to it. */
export async function makeIdentity(): Promise<{ readonly file: string; readonly recipient: string }> {
  const { generateX25519Identity, identityToRecipient } = await library()
  const identity = await generateX25519Identity()
  const recipient = await identityToRecipient(identity)
  return { file: `# public key: ${recipient}\n${identity}\n`, recipient }
}

/** The recipients that belong to identities. @throws the library's error where a checksum is wrong */
export async function recipientsOf(identities: readonly string[]): Promise<readonly string[]> {
  const { identityToRecipient } = await library()
  return Promise.all(identities.map((identity) => identityToRecipient(identity)))
}
