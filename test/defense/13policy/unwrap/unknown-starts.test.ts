/**
 * What an unknown program, a queue of jobs, nu and PowerShell start; and what is only a word to them.
 * @module
 */
import t from 'tap'
import { commandsOf, lineOf, pathsOf } from '../unwrap-staged.ts'

const REACHED: readonly (readonly [string, string])[] = [
  ['launcher -n 4 rm -rf /srv/x', 'launcher: rm -rf /srv/x'],
  ['launcher dd if=/dev/zero of=/srv/x', 'launcher: dd if=/dev/zero of=/srv/x'],
  ["launcher node7 sh -c 'rm x'", 'launcher > sh -c: rm x'],
  ["launcher node7 python3 -c 'print(1)'", 'launcher: python3 -c print(1)'],
  ['launcher sudo rm x', 'launcher > sudo: rm x'],
  ["launcher --wrap='rm x'", 'launcher: rm x'],
  ["launcher --cluster c --exec-command 'rm x'", 'launcher: rm x'],
  ["launcher add 'rm x'", 'launcher: rm x'],
  ["newsh -c 'rm x'", 'newsh: rm x'],
  ['launcher -- rm x', 'launcher: rm x'],
  ['launcher node7 systemctl poweroff', 'launcher: systemctl poweroff'],
  ['launcher sed -i s/a/b/ /srv/x', 'launcher: sed -i s/a/b/ /srv/x'],
  ['newlaunch /bin/rm -rf /srv/x', 'newlaunch: /bin/rm -rf /srv/x'],
  ["launcher --pre-hook 'rm x'", 'launcher: rm x'],
  ["launcher --on-success='rm x'", 'launcher: rm x'],
  ["launcher --editor 'rm x' notes", 'launcher: rm x'],
  ['launcher -l -p 44 -e /bin/sh', 'launcher: /bin/sh'],
  ['srun -n 2 rm x', 'srun: rm x'],
  ['mpiexec -np 4 rm x', 'mpirun: rm x'],
  ["sbatch --wrap 'rm x'", 'sbatch --wrap: rm x'],
  ["echo 'rm x' | qsub", 'sh -c > sbatch: rm x'],
  ['qsub -b y rm x', 'sbatch: rm x'],
  ["bsub -q short 'rm x'", 'bsub: rm x'],
  ["heroku run 'rm x'", 'heroku run: rm x'],
  ["nu --commands 'rm x'", 'sh -c: rm x'],
  ["nu -n -e 'rm x'", 'sh -c: rm x'],
  ["nu --execute='rm x'", 'sh -c: rm x'],
  ["nu -c '^rm x'", 'sh -c: ^rm x'],
  ["pwsh -CommandWithArgs 'rm x'", 'sh -c: rm x'],
  ["pwsh -c \"Start-Process rm -ArgumentList '-r','x'\"", 'sh -c > Start-Process: rm -r x'],
  ['pwsh -c "saps -FilePath rm -ArgumentList \'-r x\' -Wait"', 'sh -c > Start-Process: rm -r x'],
  ['pwsh -c "Start-Job { rm x }"', 'sh -c > Start-Job: rm x'],
  ['pwsh -c "Invoke-Command -ScriptBlock {rm x}"', 'sh -c > Start-Job: rm x'],
  ['pwsh -c "ls | % { rm x }"', 'sh -c > Start-Job: rm x'],
]

t.test('what is started is found by the form of the words', (t) => {
  for (const [line, expected] of REACHED) {
    const lines = commandsOf(line).map(lineOf)
    t.ok(lines.includes(expected), `${line}: ${lines.join(' | ')}`)
  }
  t.end()
})

t.test('a word, a title and a text that reads otherwise start nothing', (t) => {
  for (const line of [
    'tracker rm item-7',
    "tracker create --title 'rm -rf / is refused'",
    "tracker create --body 'sh -c x'",
    "tracker -e 'to be done'",
    "tracker query 'SELECT count(*) FROM x'",
    'tracker describe sh',
    'tracker cp remote:x local',
    'tracker /bin/rm /srv/x',
    'tracker --help rm /srv/x',
    'tracker run build',
    "tracker --message 'rm x'",
    "tracker --subcommand 'rm x'",
    'tracker --shell /bin/bash',
    'tracker use systemctl',
  ])
    t.equal(commandsOf(line).length, 1, line)
  t.end()
})

t.test('code of a language that nothing is known of counts by what it clearly does', (t) => {
  for (const [line, expected] of [
    ['newlang -e \'system("rm x")\'', 'newlang: rm x'],
    ['newlang --eval \'Sys.run "rm x"\'', 'newlang: rm x'],
    ['newlang eval \'spawn("rm x")\'', 'newlang: rm x'],
    ["newlang -e '!rm x'", 'newlang: rm x'],
    ["newlang -e '!sh rm x'", 'newlang: rm x'],
    ["newlang -b 'shell rm x'", 'newlang: rm x'],
    ['newlang -e \'subprocess.run(["rm","x"])\'', 'newlang: rm x'],
    ["newlang -e '`rm x`'", 'newlang: rm x'],
    ["newlang -e '%x(rm x)'", 'newlang: rm x'],
    ['echo \'system("rm x")\' | newlang', 'sh -c > newlang: rm x'],
    ['echo \'system("rm x")\' > a.nl; newlang a.nl', 'sh -c > newlang: rm x'],
    ["echo 'rm x' | newsh", 'sh -c > newsh: rm x'],
    ['newlang shell <<< \'exec("rm x")\'', 'sh -c > newlang: rm x'],
    ["newqueue run -n 1 'rm x'", 'newqueue: rm x'],
    ['flask shell <<< \'import os; os.system("rm x")\'', 'sh -c > flask: rm x'],
    ["psql db <<< 'SELECT 1'", 'sh -c > psql <: psql db -c SELECT 1\n'],
  ] as const) {
    const lines = commandsOf(line).map(lineOf)
    t.ok(lines.includes(expected), `${line}: ${lines.join(' | ')}`)
  }
  const written = pathsOf(commandsOf('newlang -e \'DeleteFile["/srv/x"]; File.rm("/srv/y")\''))
  t.ok(written.includes('write /srv/x') && written.includes('write /srv/y'), written.join(' | '))
  for (const line of [
    'tracker create --title \'system("rm x")\'',
    "newlang -e 'f(x)'",
    "newlang -e 'exec(code)'",
    'newlang -e \'print("/etc/x")\'',
  ]) {
    const commands = commandsOf(line)
    t.equal(commands.length, 1, line)
    t.same(commands[0]?.opaque, [], line)
  }
  t.end()
})

t.test('what a tool does for itself is what the program of that name would do', (t) => {
  for (const [line, expected] of [
    ['cmake -E remove_directory x', 'cmake -E: rm -r x'],
    ['cmake -E rename a b', 'cmake -E: mv a b'],
    ["tox -x 'testenv.commands=rm x'", 'tox: rm x'],
    ["fish -c 'echo rm x | source'", 'sh -c > source: rm x'],
    ['regina <<< \'ADDRESS SYSTEM "rm x"\'', 'sh -c > regina: rm x'],
    ['gdl -e \'spawn, "rm x"\'', 'gdl -e: rm x'],
    ['wolframscript -code \'Run["rm x"]\'', 'wolframscript -code: rm x'],
    ['rust-script -e \'Command::new("rm").arg("x").status()\'', 'rust-script -e: rm x'],
  ] as const) {
    const lines = commandsOf(line).map(lineOf)
    t.ok(lines.includes(expected), `${line}: ${lines.join(' | ')}`)
  }
  t.ok(pathsOf(commandsOf('jsonnet -e \'importstr "/srv/x"\'')).includes('read /srv/x'))
  const fileinput = 'import fileinput; fileinput.input("/srv/x",inplace=True)'
  t.ok(pathsOf(commandsOf(['python3', '-c', fileinput])).includes('write /srv/x'))
  t.ok(pathsOf(commandsOf(['perl', '-e', 'sysopen(F,"/srv/x",1)'])).includes('write /srv/x'))
  t.ok(commandsOf('x=\'$(rm y)\'; echo "${x@P}"').some(({ opaque }) => opaque.includes('eval')))
  t.end()
})

t.test('the side of this machine is read or written when a container is copied to or from', (t) => {
  t.ok(pathsOf(commandsOf('docker cp /etc/shadow web:/tmp')).includes('read /etc/shadow'))
  t.ok(pathsOf(commandsOf('docker container cp web:/x /srv/y')).includes('write /srv/y'))
  t.notOk(pathsOf(commandsOf('docker cp web:/etc/shadow x')).includes('read /etc/shadow'))
  t.ok(pathsOf(commandsOf('jar xf a.jar -C /srv/y')).includes('write /srv/y'))
  t.ok(pathsOf(commandsOf('cd /srv/z && jar xf a.jar')).includes('write /srv/z'))
  t.ok(pathsOf(commandsOf('ar x a.a --output=/srv/y')).includes('write /srv/y'))
  t.end()
})

t.test('a loop that only adds to a file, or only makes directories, has no end', (t) => {
  const isStopped = (line: string) => commandsOf(line).some(({ opaque }) => opaque.includes('limit'))
  for (const line of ['while :; do echo x >> f; done', 'for ((;;)); do mkdir d; cd d; done'])
    t.ok(isStopped(line), line)
  for (const line of [
    'while :; do echo x >> f; sleep 1; done',
    'for i in 1 2 3; do echo $i >> f; done',
    'while true; do date >> f; sleep 60; done',
    'while :; do echo x > /dev/null; break; done',
  ])
    t.notOk(isStopped(line), line)
  t.end()
})
