/**
 * `sass-edge intent pack`: an envelope, built and signed with an agent's key, as a file to hand in, to drop or to carry.
 * The template is that of a manifest, which needs no secret; where the vault can be opened here, the payload is held to
 * the schema at once.
 * Rules: docs/intent.md section 2.
 * @module
 */

import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { publicKeyOf, signWith } from '../../base/crypto/ed25519.node.ts'
import { createFile, lstatOf } from '../../base/files.node.ts'
import { ENVELOPE_FILE_BYTES } from '../../config/intent-limits.ts'
import { mistakeText } from '../../config/syntax.ts'
import { readVaultEntry } from '../../edge/intent/vault-entry.node.ts'
import { readPrivateKey } from '../../edge/state/key-file.node.ts'
import { misuse } from '../../errors.ts'
import { isJsonObject, type JsonObject, readIntentJson } from '../../intent/canonical/python-json.ts'
import { writeUtcTime } from '../../intent/canonical/utc-time.ts'
import {
  type Envelope,
  envelopeFileName,
  readEnvelope,
  sealEnvelope,
  type TemplateRef,
  writeEnvelope,
} from '../../intent/envelopes/envelope.ts'
import { MANIFEST_BYTES } from '../../intent/limits.ts'
import { manifestPath } from '../../intent/vault/layout.ts'
import { readManifest } from '../../intent/vault/manifest.ts'
import type { Template } from '../../intent/vault/template.ts'
import { writeAll } from '../common/output.node.ts'
import { makingError } from '../common/system-error.node.ts'
import { optionValue } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'
import { idAndVersion, readGiven, required, requiredPath } from './given.node.ts'

const STDOUT_FD = 1
const FILE_MODE = 0o644

/** What is known of the template that is meant. */
type Meant = { readonly reference: TemplateRef; readonly template: Template | undefined }

async function meantTemplate(context: CommandContext): Promise<Meant> {
  const { options } = context.arguments
  const vault = optionValue(options, 'vault')
  const named = required(
    context,
    'template',
    '--template ID@VERSION with --vault DIR, or --template FILE, its manifest',
  )
  const { id, version } = idAndVersion(named)
  const path =
    vault === undefined ? named : join(resolve(context.cwd, vault), manifestPath('template', id, version))
  const read = readManifest('template', readGiven(context, path, MANIFEST_BYTES))
  if (!read.ok)
    throw misuse(`${path} is no manifest of a template: its ${read.field || 'text'} ${read.problem}.`, {
      path,
    })
  const { manifest } = read
  const template =
    vault === undefined
      ? undefined
      : await readVaultEntry(resolve(context.cwd, vault), manifest.id, manifest.version)
  const set = optionValue(options, 'capability-set')
  const capabilities =
    set !== undefined
      ? idAndVersion(set)
      : template && { id: template.capabilitySetId, version: template.capabilitySetVersion }
  if (capabilities === undefined)
    throw misuse(
      'Which capability set the template comes with cannot be read here, and an envelope names it: write --capability-set ID@VERSION.',
    )
  return {
    template,
    reference: {
      templateId: manifest.id,
      version: manifest.version,
      sha256: manifest.sha256,
      dispatcherSignature: manifest.dispatcherSignature,
      capabilitySetId: capabilities.id,
      capabilitySetVersion: capabilities.version,
    },
  }
}

function readPayload(context: CommandContext, template: Template | undefined): JsonObject {
  const path = required(context, 'payload', '--payload FILE, or - for stdin')
  const bytes = readGiven(context, path, ENVELOPE_FILE_BYTES)
  const json = readIntentJson(bytes, ENVELOPE_FILE_BYTES)
  if (!json.ok || !isJsonObject(json.value))
    throw misuse(
      `The payload ${path} is not one JSON object: ${json.ok ? 'it is another value' : mistakeText(bytes, json)}.`,
    )
  const problem = template?.schema.ok === true ? template.schema.check(json.value) : undefined
  if (problem !== undefined)
    throw misuse(
      `The payload ${path} does not fit its template, since ${problem.field || 'the whole'} ${problem.problem}, so nothing was signed: correct that.`,
    )
  return json.value
}

/** Where the file goes: into a directory by its id, or to the place that is named, which must be free. */
function place(context: CommandContext, envelope: Envelope, bytes: Uint8Array): string {
  const out = resolve(context.cwd, optionValue(context.arguments.options, 'out') ?? '.')
  const isDirectory = statSync(out, { throwIfNoEntry: false })?.isDirectory() === true
  const path = isDirectory ? join(out, envelopeFileName(envelope.envelopeId)) : out
  try {
    if (lstatOf(path) !== undefined)
      throw misuse(`${path} is there already and was left as it is: name another place with --out.`)
    createFile(path, bytes, FILE_MODE)
    return path
  } catch (cause) {
    throw makingError(
      cause,
      'USAGE',
      path,
      (since) => `${path} cannot be written, since ${since}: choose another place with --out.`,
    )
  }
}

/** Builds, signs and writes one envelope. */
export async function pack(context: CommandContext): Promise<number> {
  const { options } = context.arguments
  const senderId = required(context, 'agent', '--agent NAME, who sends it')
  const receiverId = required(
    context,
    'to',
    '--to NAME, for whom it is: an agent of the device, or the device itself',
  )
  const seed = readPrivateKey(requiredPath(context, 'key', '--key FILE, the private key of the sender'))
  const { reference, template } = await meantTemplate(context)
  const envelope = sealEnvelope(
    {
      envelopeId: randomUUID(),
      sessionId: optionValue(options, 'session') ?? randomUUID(),
      timestampUtc: writeUtcTime(Date.now()),
      senderId,
      receiverId,
      humanReadable: optionValue(options, 'say') ?? '',
      templateRef: reference,
      payload: readPayload(context, template),
    },
    (bytes) => signWith(seed, bytes),
  )
  const bytes = writeEnvelope(envelope)
  // As its receiver will: a name or a text that no envelope may have is told here.
  const read = bytes.length > ENVELOPE_FILE_BYTES ? undefined : readEnvelope(bytes)
  if (read?.ok !== true) {
    const problem =
      read === undefined
        ? `it has more than ${ENVELOPE_FILE_BYTES} bytes`
        : `its ${read.field} ${read.problem}`
    throw misuse(`No device would take this envelope, since ${problem}: correct that.`)
  }
  if (optionValue(options, 'out') === '-') {
    writeAll(STDOUT_FD, bytes)
    return EXIT.OK
  }
  const path = place(context, envelope, bytes)
  return context.output.result(
    {
      file: path,
      envelope_id: envelope.envelopeId,
      session_id: envelope.sessionId,
      sender_public_key: Buffer.from(publicKeyOf(seed)).toString('base64url'),
    },
    [`envelope  ${path}`, `session   ${envelope.sessionId}`],
  )
}
