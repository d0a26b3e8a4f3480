/**
 * readRshWords: the words of ssh as rsync, git and Ansible write them, and what is refused.
 * @module
 */
import t from 'tap'
import { type RemoteCommand, readRshWords } from '../../../src/cli/run/rsh-words.ts'

const PLAIN: RemoteCommand = {
  target: 'edge7',
  keyFile: undefined,
  text: 'true',
  stdin: true,
  terminal: 'none',
  compress: false,
}

const GOOD: readonly (readonly [words: readonly string[], expected: Partial<RemoteCommand>])[] = [
  [['edge7', 'true'], {}],
  [
    ['-l', 'ci', 'edge7', 'rsync', '--server', '-logDtpre.iLsfxCIvu', '.', 'src/'],
    { target: 'ci@edge7', text: 'rsync --server -logDtpre.iLsfxCIvu . src/' },
  ],
  [
    ['-o', 'SendEnv=GIT_PROTOCOL', '-p', '2000', 'ci@edge7', "git-upload-pack 'a repo'"],
    { target: 'ci@edge7:2000', text: "git-upload-pack 'a repo'" },
  ],
  [
    ['-C', '-o', 'ControlMaster=auto', '-oConnectTimeout=10', '-tt', 'edge7', '/bin/sh -c "echo ~"'],
    { text: '/bin/sh -c "echo ~"', terminal: 'forced', compress: true },
  ],
  [['-o', 'User=ci', '-o', 'Port 2001', 'edge7', 'true'], { target: 'ci@edge7:2001' }],
  [['-o', 'ProxyCommand=none', '-o', 'ProxyJump none', 'edge7', 'true'], {}],
  [['-l', 'a', '-o', 'User=b', 'edge7', 'true'], { target: 'a@edge7' }],
  [['-qxTn', 'edge7', 'true'], { stdin: false }],
  [['-t', 'edge7', 'true'], { terminal: 'asked' }],
  [['-tT', 'edge7', 'true'], { terminal: 'none' }],
  [['-i', 'ci.key', 'edge7', 'ls', '-l', '--json'], { keyFile: 'ci.key', text: 'ls -l --json' }],
  [['edge7', '-l', 'ci', 'ls', '-l'], { target: 'ci@edge7', text: 'ls -l' }],
  [['-p2002', '2001:db8::1', 'true'], { target: '[2001:db8::1]:2002' }],
  [['--', 'edge7', '-x'], { text: '-x' }],
  [['edge7', '--', '-x'], { text: '-x' }],
]

t.test('what asks for a command names its device, its text and its streams', (t) => {
  for (const [words, expected] of GOOD)
    t.strictSame(readRshWords(words), { ok: true, command: { ...PLAIN, ...expected } }, words.join(' '))
  t.end()
})

const BAD: readonly (readonly [words: readonly string[], problem: RegExp])[] = [
  [[], /no host/],
  [['edge7'], /no command/],
  [['edge7', ' '], /no command/],
  [['-p'], /-p has no value/],
  [['-p', '99999', 'edge7', 'true'], /port/],
  [['-L', '80:a:80', 'edge7', 'true'], /-L cannot be had/],
  [['-NT', 'edge7'], /-N cannot be had/],
  [['-s', 'edge7', 'sftp'], /-s cannot be had/],
  [['-G', 'edge7'], /-G cannot be had/],
  [['-o', 'ProxyCommand=nc %h %p', 'edge7', 'true'], /-o ProxyCommand cannot be had/],
  [['-oproxyjump gate', 'edge7', 'true'], /-o proxyjump cannot be had/],
  [['-o', 'HostName=192.0.2.7', 'edge7', 'true'], /-o HostName cannot be had/],
  [['-o', 'LocalForward=80 a:80', 'edge7', 'true'], /-o LocalForward cannot be had/],
  [['-é', 'edge7', 'true'], /no option/],
]

t.test('what asks for more than a command is refused, and says so', (t) => {
  for (const [words, problem] of BAD) {
    const read = readRshWords(words)
    t.equal(read.ok, false, words.join(' '))
    if (!read.ok) t.match(read.problem, problem)
  }
  t.end()
})
