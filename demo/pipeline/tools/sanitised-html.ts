/**
 * What HTML of an article may hold: text with its structure, links to the web, nothing that runs or loads. The tool that
 * makes it and the agent that deploys it both pass it through here: whoever shows a page trusts nobody before it.
 * @module
 */
import sanitizeHtml from 'sanitize-html'

const ALLOWED = {
  allowedTags: [
    ...['h1', 'h2', 'h3', 'h4', 'p', 'br', 'hr', 'ul', 'ol', 'li', 'blockquote', 'pre', 'code'],
    ...['em', 'strong', 's', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
  ],
  allowedAttributes: { a: ['href'] },
  allowedSchemes: ['https', 'mailto'],
  disallowedTagsMode: 'discard',
} as const

export function sanitisedHtml(html: string): string {
  return sanitizeHtml(html, {
    ...ALLOWED,
    allowedTags: [...ALLOWED.allowedTags],
    allowedAttributes: { a: [...ALLOWED.allowedAttributes.a] },
    allowedSchemes: [...ALLOWED.allowedSchemes],
  })
}
