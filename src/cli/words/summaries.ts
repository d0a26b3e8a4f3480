/**
 * Every command with its one line, in the order of the overview. Kept apart from the commands, so that
 * `sass-edge --help` need not load any of them.
 * @module
 */

export const SUMMARIES = Object.freeze({
  run: 'run the daemon in the foreground',
  init: 'make an installation: configuration, keys, state',
  check: 'check the configuration and this machine before a start',
  config: 'show the configuration, or what applies to one caller',
  policy: 'look through the rules over commands, and test them',
  keygen: 'make a pair of keys',
  agent: 'invite, add, list and remove the callers that may authenticate',
  enroll: 'come in on a device by the line that was made for it',
  delegate: 'hand work on to another agent, for one session of it',
  trust: 'pin the key of a device, or list the pins',
  exec: 'run a command on a device',
  shell: 'open an interactive program on a device',
  attach: 'go back to a command that runs on a device, or to the end of one',
  rsh: 'stand in for ssh where rsync, git or Ansible call it',
  cp: 'copy files to a device or from it',
  mcp: 'give an AI host tools on a device, by the Model Context Protocol',
  jobs: 'list what runs on a device',
  kill: 'send a signal to a running command',
  handoff: 'hand work to another agent of a device, or take what was handed to you',
  intent: 'pack, publish and run work that is signed, on a device or for one',
  decide: 'decide about proposals by the constitution, without a daemon',
  branch: 'review what agents have changed, merge it or drop it',
  confirm: 'list the questions that wait for a human, and answer them',
  level: 'show and set the levels of alarm',
  penalties: 'list who is kept out, and let them in again',
  audit: 'read the record of what was decided, and prove that it is whole',
  terminate: 'end one session of an agent for good',
  purge: 'erase what a session said and did, and keep the proof',
  why: 'explain a decision, by the number of its record',
  reload: 'have the daemon read its configuration again',
  drain: 'have the daemon end in order: what runs may finish, nothing new begins',
  doctor: 'see what this device offers to keep commands apart, and what is missing',
  ping: 'see whether a device answers',
  status: 'see what a daemon is doing',
  metrics: 'print what a daemon counts, for Prometheus',
  completion: 'print what a shell needs to complete the words of sass-edge',
  version: 'show the version',
} as const)

export type CommandName = keyof typeof SUMMARIES
