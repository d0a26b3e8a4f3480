/**
 * `sass-edge metrics [TARGET]`: what a daemon counts, as the text that a Prometheus server scrapes.
 * @module
 */

import { takeWords } from '../common/local-config.node.ts'
import { asOperator, OPERATOR_OPTIONS } from '../common/operator.node.ts'
import type { Command } from '../words/command.ts'

export const command: Command = {
  usage: ['metrics'],
  options: OPERATOR_OPTIONS,
  examples: {
    'sass-edge metrics': 'what GET /metrics answers, without metrics.listen',
    'sass-edge metrics >/var/lib/node_exporter/sass_edge.prom': 'for the textfile collector of node_exporter',
  },
  async run(context) {
    takeWords(context, 0)
    const text = await asOperator(context, ({ operator }) => operator.metrics())
    return context.output.result({ text }, [text.trimEnd()])
  },
}
