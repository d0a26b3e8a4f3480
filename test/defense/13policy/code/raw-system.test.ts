import t from 'tap'
import { reachesSystem } from '../../../../src/defense/13policy/code/raw-system.ts'

t.test('signals to all, calls by number, machine code and what is brought in are told', async (t) => {
  t.equal(reachesSystem('int main(){kill(-1,9);}'), 'kill')
  t.equal(reachesSystem('for(int i=2;i<99;i++)kill(i,SIGKILL);'), 'kill')
  t.equal(reachesSystem('ProcessHandle.of(1).get().destroyForcibly()'), 'kill')
  t.equal(reachesSystem('System.Posix.Signals.signalProcess 9 1'), 'kill')
  t.equal(reachesSystem('syscall(SYS_unlink, "/x");'), 'syscall')
  t.equal(reachesSystem('syscall(169, 1);'), 'syscall')
  t.equal(reachesSystem('asm!("syscall", in("rax") 169)'), 'asm')
  t.equal(reachesSystem('_start: mov x8, #142\n svc #0\n'), 'asm')
  t.equal(reachesSystem('pragma Import(C, System, "system");'), 'import')
})

t.test('what a program does to itself, asks or prints is not told', async (t) => {
  t.equal(reachesSystem('kill(getpid(), SIGTERM);'), undefined)
  t.equal(reachesSystem('kill(child, SIGTERM);'), undefined)
  t.equal(reachesSystem('printf("%ld", syscall(SYS_gettid));'), undefined)
  t.equal(reachesSystem('_start: mov $1, %rax\n syscall\n mov $60, %rax\n syscall\n'), undefined)
  t.equal(reachesSystem('ProcessHandle.allProcesses().count()'), undefined)
})
