/**
 * Files from which the tools of a project run are followed where the request has written them, and only there.
 * @module
 */
import t from 'tap'
import { commandsOf, lineOf } from '../unwrap-staged.ts'

const REACHED: readonly (readonly [string, string])[] = [
  [`echo '{"scripts":{"postinstall":"rm x"}}' > package.json && npm install`, 'npm run: rm x'],
  [`echo '{"scripts":{"build":"rm x"}}' > package.json && yarn`, 'npm run: rm x'],
  [`echo 'import os; os.system("rm x")' > setup.py && pip install .`, 'pip: rm x'],
  [`echo 'import os; os.system("rm x")' > lib/setup.py && pip3 install -e ./lib`, 'pip: rm x'],
  [`echo 'import os; os.system("rm x")' > conftest.py && pytest -q`, 'pytest: rm x'],
  [`echo 'import os; os.system("rm x")' > test_a.py && pytest test_a.py::a`, 'pytest: rm x'],
  [
    `echo 'services: {x: {image: a, privileged: true, volumes: ["/:/h"]}}' > compose.yaml; docker compose up`,
    'compose: docker run --privileged -v /:/h image',
  ],
  [
    `echo 'services: {x: {image: a, pid: host}}' > x.yml; docker-compose -f x.yml up -d`,
    'compose: docker run --pid=host image',
  ],
]

t.test('what the request has written runs', (t) => {
  for (const [line, expected] of REACHED) {
    const lines = commandsOf(line).map(lineOf)
    t.ok(
      lines.some((one) => one.endsWith(expected)),
      `${line}: ${lines.join(' | ')}`,
    )
  }
  t.end()
})

t.test('a file that was there, and an order that runs nothing, start nothing', (t) => {
  for (const line of ['npm install', 'pip install .', 'pytest', 'docker compose up'])
    t.equal(commandsOf(line).length, 1, line)
  for (const line of [
    `echo '{"scripts":{"build":"rm x"}}' > package.json && npm view x`,
    `echo '{"scripts":"rm x"}' > package.json && npm install`,
    `echo '{scripts}' > package.json && npm install`,
    `echo 'services: {x: {image: a, volumes: ["./a:/b"]}}' > compose.yaml; docker compose up`,
    `echo 'import os; os.system("rm x")' > setup.py && pip install -r requirements.txt`,
  ])
    t.notOk(
      commandsOf(line).some(({ names }) => names.includes('rm')),
      line,
    )
  t.end()
})
