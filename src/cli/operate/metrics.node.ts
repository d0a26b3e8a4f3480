/**
 * `sass-edge metrics [TARGET]`: what a daemon counts, as the text that a Prometheus server scrapes.
 * @module
 */

import { takeWords } from '../common/local-config.node.ts'
import { asOperator, OPERATOR_OPTIONS } from '../common/operator.node.ts'
import type { Command } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'
import { SUMMARIES } from '../words/summaries.ts'

export const command: Command = {
  name: 'metrics',
  summary: SUMMARIES.metrics,
  usage: ['metrics'],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'sass-edge metrics', does: 'what GET /metrics answers, without metrics.listen' },
    {
      line: 'sass-edge metrics >/var/lib/node_exporter/sass_edge.prom',
      does: 'for the textfile collector of node_exporter',
    },
  ],
  async run(context) {
    takeWords(context, 0)
    const text = await asOperator(context, ({ operator }) => operator.metrics())
    context.output.result({ text }, [text.trimEnd()])
    return EXIT.OK
  },
}
