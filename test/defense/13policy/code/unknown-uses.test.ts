import t from 'tap'
import { readCode } from '../../../../src/defense/13policy/code/words.ts'
import { type Language, PROJECT } from '../../../../src/defense/13policy/unwrap/inner.ts'

const START = 'unknown:'

/** What the code uses that is not known, of its own or in a module that is no file of the request. */
function unknown(text: string, language: Language, via = 'x'): string {
  const { calls, inner } = readCode(text, language, via)
  const asked = inner.flatMap((one) => (one.kind === 'script' ? (one.otherwise ?? []) : []))
  return [...calls, ...asked]
    .filter((call) => call.startsWith(START))
    .map((call) => call.slice(START.length))
    .join(' ')
}

const USES: readonly (readonly [Language, string, string])[] = [
  ['python', 'import json; print(json.dumps(1))', ''],
  ['python', 'import os; print(os.getcwd(), os.path.join("a", "b"), os.O_RDONLY)', ''],
  ['python', 'import os; os.setns(3)', 'os.setns'],
  ['python', 'import os as o; x = o; x.setns(3)', 'os.setns'],
  ['python', 'from os import setns as s; s(3)', 'os.setns'],
  ['python', 'from os import *', 'os.*'],
  ['python', 'import glob; glob.os.setns(3)', 'glob.os.setns'],
  ['python', 'import plant; plant.valve.open()', 'plant'],
  ['python', 'import plant.valve as v; v.open()', 'plant.valve'],
  ['python', 'from plant import valve; valve.open()', 'plant'],
  ['python', '__import__("plant").go()', 'plant'],
  ['python', 'import plant; print(plant.VERSION, plant.__file__)', ''],
  ['python', 'import plant', ''],
  ['python', 'x = []; x.append(1); x.plant()', ''],
  ['python', 'globals()["x"]', 'globals'],
  ['python', 'class A:\n  def load(self): return self.os\nA().load()', ''],
  ['javascript', 'const m = require("mqtt"); m.connect("x")', 'mqtt'],
  ['javascript', 'import {connect} from "mqtt"; connect("x")', 'mqtt'],
  ['javascript', 'require("./lib/x").go()', ''],
  ['javascript', 'process.stdout.write(process.argv[2])', ''],
  ['javascript', 'process.initgroups(1, 2)', 'process.initgroups'],
  ['javascript', 'net.connect(1)', 'net.connect'],
  ['javascript', 'const net = sum(1); net.toFixed(2)', ''],
  ['javascript', 'fs.existsSync("x"); path.join("a", "b")', ''],
  ['perl', 'use List::Util qw(sum); print sum(1, 2)', ''],
  ['perl', 'use Plant::Valve; open_it()', 'Plant.Valve'],
  ['perl', 'Plant::Valve->new', 'Plant.Valve.new'],
  ['perl', 'syscall(88)', 'syscall'],
  ['perl', 'package Own; sub new { 1 } package main; Own->new', ''],
  ['ruby', 'require "json"; puts JSON.parse("1")', ''],
  ['ruby', 'require "net/http"; Net::HTTP.get(URI("x"))', ''],
  ['ruby', 'require "plant"', 'plant'],
  ['ruby', 'syscall 62, -1, 9', 'syscall'],
  ['lua', 'local f = require "ffi" f.C.kill(-1, 9)', 'ffi'],
  ['ruby', 'Etc.getpwent', 'Etc.getpwent'],
  ['ruby', 'class Own; end; Own.new(1)', ''],
  ['php', 'echo strtoupper("x"), json_encode([1]);', ''],
  ['php', 'function own($x) { return $x; } echo own(2);', ''],
  ['php', 'imap_open(1, 2, 3);', 'imap_open'],
  ['lua', 'print(string.rep("x", 3), os.time())', ''],
  ['lua', 'require("plant").go()', 'plant'],
  ['other', 'println(sum([1, 2]))', ''],
  ['other', 'f(x) = x + 1; println(f(2))', ''],
  ['other', 'Plant.valve(1)', 'Plant.valve'],
  ['other', '(display (+ 1 2))', ''],
  ['other', '(plant-valve "x")', 'plant-valve'],
]

t.test('code tells what it uses that nobody knows to be harmless', (t) => {
  for (const [language, text, expected] of USES) t.equal(unknown(text, language), expected, text)
  t.end()
})

t.test('of sources that are built, only commands and paths are judged', (t) => {
  t.equal(unknown('Plant.valve(1)', 'other', PROJECT), '')
  t.end()
})
