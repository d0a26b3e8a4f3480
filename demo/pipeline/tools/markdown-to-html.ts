/**
 * A tool: `markdown-to-html -- TEXT` prints the HTML of a text in Markdown. HTML in the text is text.
 * @module
 */
import MarkdownIt from 'markdown-it'
import { sanitisedHtml } from './sanitised-html.ts'

const text = process.argv.at(-1) ?? ''
process.stdout.write(sanitisedHtml(new MarkdownIt({ html: false }).render(text)))
