import { spawnSync } from 'node:child_process'
import t from 'tap'
import { checkEnvelope } from '../../src/intent/envelopes/checks.ts'
import { writeEnvelope } from '../../src/intent/envelopes/envelope.ts'
import { writeManifest } from '../../src/intent/vault/manifest.ts'
import { BLOG_TEMPLATE, envelopeOf, groundOf, manifestOf } from './ground.ts'

/** An envelope as the source of the format makes one: Python's json, hashlib, and PyNaCl for the signatures. */
const MAKE = `
import hashlib, json, sys
from nacl.signing import SigningKey
canonical = lambda v: json.dumps(v, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("utf-8")
given = json.load(sys.stdin)
template = given["template"]
digest = hashlib.sha256(canonical(template)).hexdigest()
manifest = {"template_id": template["template_id"], "version": template["version"], "sha256_hash": digest}
sign = lambda byte, v: SigningKey(bytes([byte]) * 32).sign(canonical(v)).signature.hex()
envelope = {
    "version": "1.0", "envelope_id": "from-python", "session_id": "s", "timestamp_utc": "2026-02-24T00:00:00.123456+00:00",
    "sender_id": "intake_agent", "receiver_id": "sanitization_agent",
    "human_readable": "caf\\u00e9 \\U0001f600 \\x7f",
    "template_ref": dict(manifest, dispatcher_signature=sign(1, manifest),
        capability_set_id=template["capability_set_id"], capability_set_version=template["capability_set_version"]),
    "payload": given["payload"],
}
envelope["envelope_signature"] = sign(2, envelope)
print(json.dumps(envelope, indent=2))
`

const VERIFY = `
import json, sys
from nacl.signing import SigningKey
canonical = lambda v: json.dumps(v, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("utf-8")
given = json.load(sys.stdin)
envelope, manifest = json.loads(given["envelope"]), json.loads(given["manifest"])
key = lambda byte: SigningKey(bytes([byte]) * 32).verify_key
signature = bytes.fromhex(envelope.pop("envelope_signature"))
key(2).verify(canonical(envelope), signature)
signature = bytes.fromhex(manifest.pop("dispatcher_signature"))
key(1).verify(canonical(manifest), signature)
print("verified")
`

function python(script: string, input: unknown): string | undefined {
  // Debian's has the package of Debian, whatever else is on the PATH.
  const program = ['/usr/bin/python3', 'python3'].find(
    (one) => spawnSync(one, ['-c', 'import nacl']).status === 0,
  )
  if (program === undefined) return undefined
  const run = spawnSync(program, ['-c', script], { input: JSON.stringify(input), encoding: 'utf8' })
  if (run.status !== 0) throw new Error(run.stderr)
  return run.stdout
}

t.test(
  'an envelope of Python and PyNaCl is accepted, and ours is verified there (SA-05, SA-07, SA-48)',
  (t) => {
    const payload = {
      title: 'Ünï \u{1f600} \u007f',
      body_markdown: '"\\\n\t',
      image_present: true,
      image_count: 2,
    }
    const made = python(MAKE, { template: BLOG_TEMPLATE, payload })
    if (made === undefined) {
      t.comment('skipped: python3 with PyNaCl is not here')
      t.end()
      return
    }
    t.match(checkEnvelope(Buffer.from(made), groundOf()), {
      kind: 'accepted',
      envelope: { envelopeId: 'from-python', payload, humanReadable: 'café \u{1f600} \u007f' },
    })
    const envelope = Buffer.from(
      writeEnvelope(envelopeOf({ payload, humanReadable: '\ufb33\u{1f600}' })),
    ).toString()
    const manifest = Buffer.from(writeManifest(manifestOf('template', BLOG_TEMPLATE))).toString()
    t.equal(python(VERIFY, { envelope, manifest }), 'verified\n')
    t.end()
  },
)
