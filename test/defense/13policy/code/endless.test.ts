/**
 * Loops that only take memory are told from those that end, wait or stay as large as they are.
 * @module
 */
import t from 'tap'
import { growsWithoutEnd } from '../../../../src/defense/13policy/code/endless.ts'

t.test('a loop without an end in which something grows', (t) => {
  for (const text of [
    'x=[]\nwhile True: x.append(bytearray(10**8))',
    'while 1: x+=[0]*10**6',
    '$x.="a"x1e8 while 1',
    'const a=[];for(;;)a.push(Buffer.alloc(1e8))',
    'a=[];loop{a<<"x"*10**8}',
    '[bytearray(10**9) for _ in iter(int,1)]',
    'for i in itertools.count(): x.extend(y)',
    'BEGIN{while(1)a[i++]=i}',
    'local t={} while true do t[#t+1]=("x"):rep(1e6) end',
    'while(1) $a[]=str_repeat("x",1000000);',
    'while(1){push @a,"x"x1e6}',
    'a="x"*10**12',
  ])
    t.ok(growsWithoutEnd(text), text)
  t.end()
})

t.test('a loop that ends, waits or takes nothing more', (t) => {
  for (const text of [
    'i=0\nwhile True:\n  i+=1\n  if i>5: break',
    'while True: x.append(read())',
    'while True:\n  n+=1\n  time.sleep(1)',
    'for i in range(10): x.append(i)',
    'while x < 5: x += 1',
    'for(const x of [1,2])i+=x',
    'while True: pass',
    'a="x"*10**3',
    'print("-"*80)',
    'n=[0]*4096',
  ])
    t.notOk(growsWithoutEnd(text), text)
  t.end()
})

t.test('a loop that starts process after process', (t) => {
  for (const text of [
    'int main(){for(;;)fork();}',
    'int main(){while(1)fork();return 0;}',
    'int main(){while(1){pid_t p=fork();}}',
    'main(){fork();main();}',
    'while(fork()>=0);',
    'loop { unsafe { libc::fork(); } }',
    'for(i=0;;fork()) x();',
  ])
    t.ok(growsWithoutEnd(text), text)
  for (const text of [
    'int main(){pid_t p=fork(); if(!p) return 0; wait(0);}',
    'for(int i=0;i<4;i++) if(fork()==0) break;',
    'while(1){accept(s,0,0); if(fork()==0) serve();}',
  ])
    t.notOk(growsWithoutEnd(text), text)
  t.end()
})
