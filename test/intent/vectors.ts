/**
 * Vectors of the formats of signed work that nobody here made: an envelope, a template and a plan with their hashes and
 * signatures, as the source of the formats gives them.
 * @module
 */
import type { JsonObject } from '../../src/intent/canonical/python-json.ts'

export const ENVELOPE_VECTOR: JsonObject = {
  version: '1.0',
  envelope_id: '00000000-0000-4000-8000-000000000001',
  session_id: '00000000-0000-4000-8000-0000000000aa',
  timestamp_utc: '2026-02-24T00:00:00+00:00',
  sender_id: 'intake_agent',
  receiver_id: 'sanitization_agent',
  human_readable: 'café',
  template_ref: {
    template_id: 'blog_article_intent',
    version: '1',
    sha256_hash: '373be70ba57192da363b2b6504559d04da78ab0f1d71c86f77d394130cfc03d0',
    dispatcher_signature:
      '920db7899c109316f57902bf9ffa1074addb9b7a07c148ed277e6754d33c343a768aa8956b804b2f2f15b9372a8d311ad140b55908fd576c0b7b553c7bf8060e',
    capability_set_id: 'caps_blog_article_intent_v1',
    capability_set_version: '1',
  },
  payload: { title: 'Hello SAOE', body_markdown: '# Test', image_present: false },
  envelope_signature:
    'daeb183cbf70b3e907ab45dfd472a946f97ee72e9a2e58f321a385149ca6f18f10fbf5df21d457897025e3dee1e8a00413f68f98b1bef7ef21717061dec32303',
}
export const ENVELOPE_SIGNED_BYTES = 718
export const ENVELOPE_SIGNED_SHA256 = 'e5fb8ae15cdc8a02fef1d282afa982f2cf25b38094058fb0a932baf5d70ba0a8'

export const IMAGE_TEMPLATE_VECTOR: JsonObject = {
  template_id: 'image_process_intent',
  version: '1',
  schema_purpose: 'Intent envelope for image processing.',
  json_schema: {
    type: 'object',
    required: ['input_image_path_token', 'strip_exif', 'resize_max', 'output_format'],
    properties: {
      input_image_path_token: { type: 'string', maxLength: 200 },
      strip_exif: { type: 'boolean' },
      resize_max: { type: 'integer', minimum: 64, maximum: 4096 },
      output_format: { type: 'string', enum: ['jpg', 'png'] },
    },
    additionalProperties: false,
  },
  policy_metadata: {
    max_payload_bytes: 65536,
    allowed_senders: ['intake_agent', 'sanitization_agent', 'over_agent', 'image_filter_agent'],
    allowed_receivers: ['sanitization_agent', 'over_agent', 'image_filter_agent', 'deployment_agent'],
  },
  capability_set_id: 'caps_image_process_intent_v1',
  capability_set_version: '1',
}
/** The source names its beginning and its end. */
export const IMAGE_TEMPLATE_SHA256 = /^6f01c651[0-9a-f]{52}e52c$/

export const PLAN_VECTOR: JsonObject = {
  schema_version: '1.0',
  plan_id: '00000000-0000-4000-8000-0000000000b1',
  session_id: '00000000-0000-4000-8000-0000000000aa',
  issuer_id: 'over_agent',
  timestamp_utc: '2026-02-24T00:00:00+00:00',
  tool_calls: [
    {
      tool_call_id: '00000000-0000-4000-8000-0000000000c1',
      tool_name: 'markdown_to_html',
      args: { markdown: '# Test' },
    },
  ],
}
export const PLAN_SHA256 = 'f5b3dcf025df2ff25e576be1269037dfdb2a2ca0f828dac0df46d9370f0e0640'
export const PLAN_SIGNATURE =
  'ce114473dcc5288f8a6ab9670c8ab557cfef15b8d7bc8e4e446bd6287f666e469727f336a3cc6a216acbdce5fa8ed21e670ff39d15edda079f4508b9864e720d'
