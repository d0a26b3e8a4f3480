/**
 * `sass-edge completion bash|zsh|fish`: the completion script of a shell. `completion targets` is what the scripts ask
 * for the names of devices, so that hosts.json has one reader.
 * @module
 */
import { SassError } from '../errors.ts'
import { loadHosts } from './common/hosts.node.ts'
import { takeWords } from './common/local-config.node.ts'
import type { Command } from './words/command.ts'
import { COMPLETION_SCRIPTS, type ShellName } from './words/completion-scripts.ts'
import { commandWords } from './words/completion-words.ts'
import { EXIT } from './words/exit-codes.ts'
import { SUMMARIES } from './words/summaries.ts'

function isShell(word: string | undefined): word is ShellName {
  return word !== undefined && Object.hasOwn(COMPLETION_SCRIPTS, word)
}

/**
 * @param loadCommands every command, this one among them
 * @param foreign commands whose words are those of another program
 */
export function completionCommand(
  loadCommands: () => Promise<readonly Command[]>,
  foreign: ReadonlySet<string | undefined>,
): Command {
  return {
    name: 'completion',
    summary: SUMMARIES.completion,
    usage: ['completion bash|zsh|fish', 'completion targets'],
    options: [],
    examples: [
      { line: 'source <(sass-edge completion bash)', does: 'in ~/.bashrc' },
      { line: 'source <(sass-edge completion zsh)', does: 'in ~/.zshrc, after compinit' },
      { line: 'sass-edge completion fish | source', does: 'in ~/.config/fish/config.fish' },
      { line: 'sass-edge completion targets', does: 'the names of devices in hosts.json' },
    ],
    async run(context) {
      const [word] = takeWords(context, 1)
      if (word === 'targets') {
        const targets = Object.keys(loadHosts(context.environment))
        context.output.result({ targets }, targets)
        return EXIT.OK
      }
      if (!isShell(word)) {
        throw new SassError('USAGE', 'No known shell is named: write sass-edge completion bash, zsh or fish.')
      }
      const commands = await loadCommands()
      const script = COMPLETION_SCRIPTS[word](
        commands.map((each) => commandWords(each, foreign.has(each.name))),
      )
      context.output.result({ shell: word, script }, [script])
      return EXIT.OK
    },
  }
}
