/**
 * `sass-edge completion bash|zsh|fish`: the completion script of a shell. `completion targets` is what the scripts ask
 * for the names of devices, so that hosts.json has one reader.
 * @module
 */
import { misuse } from '../errors.ts'
import { loadHosts } from './common/hosts.node.ts'
import { takeWords } from './common/local-config.node.ts'
import type { Command, NamedCommand } from './words/command.ts'
import { COMPLETION_SCRIPTS, type ShellName } from './words/completion-scripts.ts'
import { commandWords } from './words/completion-words.ts'

function isShell(word: string | undefined): word is ShellName {
  return word !== undefined && Object.hasOwn(COMPLETION_SCRIPTS, word)
}

/**
 * @param loadCommands every command, this one among them
 * @param foreign commands whose words are those of another program
 */
export function completionCommand(
  loadCommands: () => Promise<readonly NamedCommand[]>,
  foreign: ReadonlySet<string | undefined>,
): Command {
  return {
    usage: ['completion bash|zsh|fish', 'completion targets'],
    options: {},
    examples: {
      'source <(sass-edge completion bash)': 'in ~/.bashrc',
      'source <(sass-edge completion zsh)': 'in ~/.zshrc, after compinit',
      'sass-edge completion fish | source': 'in ~/.config/fish/config.fish',
      'sass-edge completion targets': 'the names of devices in hosts.json',
    },
    async run(context) {
      const [word] = takeWords(context, 1)
      if (word === 'targets') {
        const targets = Object.keys(loadHosts(context.environment))
        return context.output.result({ targets }, targets)
      }
      if (!isShell(word)) {
        throw misuse('No known shell is named: write sass-edge completion bash, zsh or fish.')
      }
      const commands = await loadCommands()
      const script = COMPLETION_SCRIPTS[word](
        commands.map((each) => commandWords(each, foreign.has(each.name))),
      )
      return context.output.result({ shell: word, script }, [script])
    },
  }
}
