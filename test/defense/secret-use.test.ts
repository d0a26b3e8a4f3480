/**
 * What a command does with a path that holds secrets: which uses have to do with the secret, and which have not.
 * @module
 */
import t from 'tap'
import { effectiveCommands } from '../../src/defense/13policy/unwrap.ts'
import { usesSecret } from '../../src/defense/secret-use.ts'

const HOME = '/home/agent'

function uses(line: string): boolean {
  const { commands } = effectiveCommands(['sh', '-c', line], {
    cwd: '/srv/work',
    home: HOME,
    resolved: undefined,
    terminal: false,
    stdin: false,
  })
  return commands.some((command) => usesSecret(command, HOME))
}

const APART = [
  ...[
    'ls ~/.ssh',
    'ls -l *.pem | wc -l',
    'stat server.key',
    'file server.key',
    'ls ~/.ssh/*.pub 2>/dev/null',
  ],
  ...['chmod 600 tls.key', 'chmod 0400 tls.key', 'chmod go-rwx tls.key', 'chmod u=rw,go= tls.key'],
  ...['openssl x509 -in server.pem -noout -dates', 'openssl verify -CAfile root.pem leaf.pem'],
  ...['openssl req -x509 -newkey rsa:2048 -nodes -keyout t.key -out t.crt', 'openssl genrsa -out t.key 2048'],
  ...["ssh-keygen -t ed25519 -N '' -f ./id_ed25519", 'ssh-keygen -lf id_ed25519.pub'],
  ...['touch .env', 'cp .env.example .env', 'echo A=1 > .env.local', 'sed -i s/1/2/ .env.local'],
  ...['cut -d: -f1 /etc/passwd', 'cat .env.test', 'cat ca.pem', 'cat certs/fullchain.pem'],
]

const USED = [
  ...['ls ~/.ssh/id* | xargs cat', 'cat $(ls ~/.ssh/id*)', 'ls ~/.ssh/id* | while read f; do cat "$f"; done'],
  ...[
    'ls ~/.ssh/id* > list',
    'file -f .env',
    'du --files0-from=.env',
    'rm .env.ci',
    'ls *.pem | sh',
    'stat server.key; cat server.key',
  ],
  ...[
    'chmod 644 tls.key',
    'chmod 660 tls.key',
    'chmod o+r tls.key',
    'chmod -x tls.key',
    'chmod --reference=a tls.key',
  ],
  ...[
    'openssl x509 -req -in a.csr -CA ca.pem -CAkey ca.key',
    'openssl rsa -in server.pem',
    'openssl pkey -in a.pem',
  ],
  ...[
    'openssl x509 -in server.pem -out /tmp/x',
    'openssl req -new -key t.key',
    'openssl genrsa -out ../t.key 2048',
  ],
  ...["ssh-keygen -t ed25519 -N '' -f ~/.ssh/id_ed25519", 'ssh-keygen -yf id_rsa', 'ssh-keygen -p -f id_rsa'],
  ...[
    'cp x .env',
    'echo A=1 > .env',
    'mv .env.local x',
    'cp .env.local x',
    'sed -n p .env.local',
    'cp .env .env.local',
  ],
  ...[
    'sed -i "w x" .env.local',
    'sed -i s/a/b/wx .env.local',
    'echo A=1 > ../.env.local',
    'tee .env < .env.example',
  ],
  ...[
    'echo x >> /etc/passwd',
    'cat /etc/passwd-',
    'cat /etc/shadow',
    'cat server.pem',
    'cat privkey.pem',
    'cat .env.*',
  ],
]

t.test(
  'to see, to shut or to make a file, and to look at what is public of it, is not to use its secret',
  async (t) => {
    for (const line of APART) t.notOk(uses(line), line)
  },
)

t.test('to read, to move, to open to others or to overwrite it is', async (t) => {
  for (const line of USED) t.ok(uses(line), line)
})
