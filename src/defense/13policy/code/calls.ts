/**
 * The calls of interpreters that run a command, evaluate text, decode it, or use files: by their full names.
 * From the references of Python, Node.js, Deno, Bun, Perl, Ruby, PHP, Lua, awk, R, Guile and Emacs Lisp.
 * @module
 */
import type { PathUse } from '../effective.ts'
import type { Language } from '../unwrap/inner.ts'

function set(text: string): ReadonlySet<string> {
  return new Set(text.split(' '))
}

/** Methods of one module. */
function of(module: string, methods: string): readonly string[] {
  return methods.split(' ').map((method) => `${module}.${method}`)
}

/** A string is given to a shell; a list, or a string with others behind it, is an argv. */
export const SHELL_CALLS: ReadonlySet<string> = new Set([
  ...of('os', 'system popen popen2 popen3 execute cmd'),
  ...of('posix', 'system popen'),
  ...of('subprocess', 'run call Popen check_call check_output getoutput getstatusoutput'),
  ...of('commands', 'getoutput getstatusoutput'),
  ...of('asyncio', 'create_subprocess_shell subprocess.create_subprocess_shell'),
  ...of('pexpect', 'spawn run runu'),
  ...of('pty', 'spawn'),
  'platform.popen',
  ...of('child_process', 'exec execSync'),
  ...of('Kernel', 'system exec spawn open'),
  ...of('Process', 'spawn exec'),
  ...of('IO', 'popen'),
  ...of('Open3', 'popen3 popen2 popen2e capture2 capture2e capture3 pipeline pipeline_r'),
  'PTY.spawn',
  'io.popen',
  ...of('vim', 'system'),
  ...of('vim.fn', 'system systemlist jobstart termopen'),
  ...of('Bun', 'spawn spawnSync'),
  ...of('Sys', 'command'),
  ...of('ffi.C', 'system popen'),
  ...of('C', 'system popen'),
  ...of('libc', 'system popen'),
  ...of('deno', 'system'),
  ...of('std', 'popen'),
  ...of('System', 'cmd shell'),
  'Runtime.getRuntime',
  'webbrowser.get',
  'Execute',
])
/** The program first, then its arguments, apart or as a list. */
export const ARGV_CALLS: ReadonlySet<string> = new Set([
  ...of('child_process', 'spawn spawnSync execFile execFileSync fork'),
  ...of('os', 'execl execle execlp execlpe execv execve execvp execvpe posix_spawn posix_spawnp'),
  ...of('posix', 'execv execve'),
  'asyncio.create_subprocess_exec',
  'asyncio.subprocess.create_subprocess_exec',
  'pcntl_exec',
  ...of('Deno', 'Command run'),
  ...of('vim.loop', 'spawn'),
  ...of('tjs', 'spawn exec'),
  ...of('vim.uv', 'spawn'),
  ...of('Process', 'Start start run runSync'),
  ...of('ffi.C', 'execl execlp execv execvp'),
  ...of('os', 'exec'),
  ...of('syscall', 'Exec ForkExec StartProcess'),
])

/** Last parts of names that run a program, whatever stands before them, where the language is not told apart. */
const OTHER_ARGV: ReadonlySet<string> = set(
  'system* run-program Start process-lines system-process/args subprocess call-process start-process run-process/wait exec_cmd startProcess execl execlp execv execvp execve spawn_executable process_create ProcessBuilder Command',
)
const OTHER_SHELL: ReadonlySet<string> = set(
  'open_process open_process_in open_process_out open_process_full callCommand callProcess readProcess rawSystem spawnCommand system shell sh spawn_command_line_sync spawn_command_line_async execShellCmd execCmd execCmdEx executeShell run-shell-command shell-command shell-command-to-string os_cmd cmd popen',
)
/** What the last part of a name says there, whatever the case: `EXECUTE_COMMAND_LINE`, `fpSystem`, `RunCommand`. */
const SAYS_RUN =
  /^(?:fp|libc_?|gnat_?|sys_?)?(?:system|shell|popen|shell_?exec\w{0,8}|exec(?:ute)?_?(?:cmd|command|process|program|shell|file)(?:_?line)?|(?:run|spawn|start|create)_?(?:cmd|command|process|program|shell))$/i
/** Methods that run a program on whatever object they are called. */
const METHODS: ReadonlySet<string> = set(
  '.system .popen .execSync .spawnSync .execFileSync .check_output .check_call .getoutput .getstatusoutput .passthru .shell_exec .posix_spawn .execve .execvp',
)
/** Text before these is text for a shell: `"cmd".execute()`. */
const TEXT_METHODS: ReadonlySet<string> = set('.execute .exec .shell .system .run_cmd .lines_cmd')
/** Names by which every object leads to the whole of the interpreter. */
const INTROSPECTION: ReadonlySet<string> = set(
  'f_builtins __self__ __subclasses__ __globals__ __mro__ __code__ __getattribute__ f_globals gi_frame __reduce__ __loader__ __import_module__ mainModule const_get',
)
/** A function that PHP is given by its name. */
const PHP_CALLBACKS: ReadonlySet<string> = set(
  'call_user_func call_user_func_array array_map array_filter array_walk usort uasort uksort register_shutdown_function iterator_apply ob_start ReflectionFunction Closure.fromCallable Closure::fromCallable forward_static_call forward_static_call_array preg_replace_callback',
)
/** The same in R and Octave. */
const OTHER_CALLBACKS: ReadonlySet<string> = set('do.call match.fun get getFunction mget feval')
const SENDERS: ReadonlySet<string> = set('send __send__ public_send method instance_method')

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1)
}

export function isArgvCall(name: string, language: Language): boolean {
  return (
    ARGV_CALLS.has(name) ||
    (language === 'other' && (OTHER_ARGV.has(lastPart(name)) || name.endsWith('Command.new')))
  )
}

/** Whether a full name is that of a call which starts a program. */
export function isStarter(name: string): boolean {
  return name.includes('.') && (SHELL_CALLS.has(name) || ARGV_CALLS.has(name) || SPAWN_CALLS.has(name))
}

export function runsOnAnything(name: string): boolean {
  return METHODS.has(name)
}

export function runsItsText(name: string): boolean {
  return TEXT_METHODS.has(name)
}

/** Whether a name leads from any object to everything. */
export function isIntrospection(name: string): boolean {
  return name.includes('_') && name.split('.', 32).some((part) => INTROSPECTION.has(part))
}

export function isCallback(name: string, language: Language): boolean {
  if (language === 'other') return OTHER_CALLBACKS.has(name)
  return language === 'php' && PHP_CALLBACKS.has(name)
}

/** `x.send(:name, ...)` of Ruby, and its kin. */
export function isSender(name: string, language: Language): boolean {
  // `File::Path->can("rmtree")` of Perl gives the function.
  return (
    (language === 'ruby' && SENDERS.has(lastPart(name))) || (language === 'perl' && lastPart(name) === 'can')
  )
}
/** Here the mode stands before the program. */
export const SPAWN_CALLS: ReadonlySet<string> = set(
  'os.spawnl os.spawnle os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp os.spawnvpe',
)

const BARE_SHELL: Readonly<Record<Language, ReadonlySet<string>>> = Object.freeze({
  python: set(''),
  javascript: set(''),
  perl: set('system exec readpipe shell run qqx'),
  ruby: set('system exec spawn sh'),
  php: set('system exec passthru shell_exec popen proc_open'),
  lua: set(''),
  awk: set('system'),
  tcl: set('system'),
  sed: set(''),
  other: set(
    'system system2 shell shell-command call-process start-process async-shell-command shell-command-to-string script system* unix callCommand readProcess exec',
  ),
})

export function isShellCall(name: string, language: Language): boolean {
  if (SHELL_CALLS.has(name) || BARE_SHELL[language].has(name)) return true
  const last = lastPart(name)
  return (
    last.startsWith('spawn_command_line_') ||
    (language === 'other' && (OTHER_SHELL.has(last) || SAYS_RUN.test(last)))
  )
}

const EVALUATORS: Readonly<Record<Language, ReadonlySet<string>>> = Object.freeze({
  python: set(
    'eval exec compile execfile runpy.run_path code.interact code.InteractiveInterpreter pickle.loads marshal.loads breakpoint pdb.set_trace pdb.run IPython.embed',
  ),
  javascript: set(
    'eval Function vm.runInThisContext vm.runInNewContext vm.runInContext vm.Script vm.compileFunction worker_threads.Worker',
  ),
  perl: set('eval'),
  ruby: set('eval instance_eval class_eval module_eval instance_exec binding.eval Kernel.eval'),
  php: set('eval assert create_function preg_replace_callback'),
  lua: set('load loadstring'),
  awk: set(''),
  tcl: set('eval'),
  sed: set(''),
  other: set('eval parse include_string eval-string'),
})

/** Methods of Ruby that evaluate a text, whatever they are called on. */
const EVALUATING: ReadonlySet<string> = set('instance_eval class_eval module_eval instance_exec class_exec')

export function isEvaluator(name: string, language: Language): boolean {
  return EVALUATORS[language].has(name) || (language === 'ruby' && EVALUATING.has(lastPart(name)))
}

/** A string names a module, and the result is it. */
const LOADERS: ReadonlySet<string> = set(
  'require require_relative __import__ importlib.import_module importlib.__import__ import process.mainModule.require module.require',
)

/**
 * How Node.js gives a module of its own to any code. In two parts: a search of this project for that name is to find
 * what calls it, and this is a table of what others call.
 */
const BUILTIN_LOADER = ['process', 'getBuiltin' + 'Module'].join('.')

/** What is at an address, or in one, is code that nobody has seen. */
export function isAddress(module: string): boolean {
  return /^(?:https?|data|blob):/.test(module)
}

export function isLoader(name: string): boolean {
  return LOADERS.has(name) || name === BUILTIN_LOADER
}

const DECODERS: ReadonlySet<string> = set(
  'base64.b64decode base64.b32decode base64.b16decode base64.b85decode base64.a85decode base64.decodebytes base64.urlsafe_b64decode base64.standard_b64decode binascii.unhexlify binascii.a2b_base64 binascii.a2b_hex codecs.decode bytes.fromhex bytearray.fromhex zlib.decompress gzip.decompress bz2.decompress lzma.decompress marshal.loads pickle.loads Buffer.from atob zlib.inflateSync zlib.gunzipSync String.fromCharCode String.fromCodePoint decode_base64 MIME.Base64.decode MIME.Base64.decode_base64 pack unpack base64_decode gzinflate gzuncompress gzdecode hex2bin str_rot13 convert_uudecode Base64.decode64 Base64.strict_decode64 Base64.urlsafe_decode64 Zlib.inflate string.char decodeURIComponent unescape unhex chr',
)

export function isDecoder(name: string): boolean {
  return (
    DECODERS.has(name) || name.endsWith('.unpack1') || name.endsWith('.unpack') || name.endsWith('.fromhex')
  )
}

const WRITES: ReadonlySet<string> = new Set([
  ...of(
    'os',
    'remove unlink rmdir removedirs rename renames replace truncate chmod chown lchown link symlink mkdir makedirs mknod mkfifo tmpname setxattr utime',
  ),
  ...of('shutil', 'rmtree move chown'),
  ...of(
    'fs',
    'rm rmSync rmdir rmdirSync unlink unlinkSync writeFile writeFileSync appendFile appendFileSync createWriteStream mkdir mkdirSync rename renameSync chmod chmodSync chown chownSync truncate truncateSync symlink symlinkSync link linkSync utimes utimesSync promises.rm promises.rmdir promises.unlink promises.writeFile promises.appendFile promises.rename promises.mkdir promises.chmod promises.truncate remove removeSync emptyDirSync outputFileSync',
  ),
  ...of('fs/promises', 'rm rmdir unlink writeFile appendFile rename mkdir chmod truncate symlink cp open'),
  ...of(
    'Deno',
    'remove removeSync writeTextFile writeTextFileSync writeFile writeFileSync rename mkdir chmod truncate',
  ),
  ...of(
    'File',
    'rm rm_rf cp cp_r ln_s touch mkdir_p rm! rm_rf! write! delete unlink write rename chmod chown truncate symlink link binwrite mkfifo',
  ),
  ...of(
    'FileUtils',
    'rm rm_r rm_f rm_rf remove remove_dir remove_entry rmtree mv move mkdir mkdir_p touch chmod chmod_R chown chown_R rmdir ln ln_s ln_sf',
  ),
  ...of('Dir', 'rmdir mkdir delete unlink'),
  ...of('IO', 'write binwrite'),
  ...of('Pathname', 'delete unlink'),
  ...of('File.Path', 'rmtree remove_tree make_path'),
  ...of('pathlib.Path', 'unlink rmdir write_text write_bytes touch mkdir'),
  ...of('lfs', 'rmdir mkdir'),
  ...of('Bun', 'write'),
])
const BARE_WRITES: Readonly<Record<Language, ReadonlySet<string>>> = Object.freeze({
  python: set(''),
  javascript: set(''),
  perl: set(
    'unlink rmdir rename rmtree remove_tree chmod chown mkdir truncate symlink link utime make_path move tie rmove fmove dirmove rcopy fcopy dircopy pathrmdir pathempty',
  ),
  ruby: set('rm_rf rm_r rm rm_f mkdir_p'),
  php: set(
    'unlink rmdir file_put_contents rename chmod chown chgrp mkdir touch symlink link move_uploaded_file ftruncate',
  ),
  lua: set(''),
  awk: set(''),
  tcl: set(''),
  sed: set(''),
  other: set(
    'unlink file.remove file.rename dir.create delete-file delete-directory rename-file write-file rm mv mkdir symlink',
  ),
})
const READS: ReadonlySet<string> = new Set([
  ...of(
    'fs',
    'readFile readFileSync createReadStream readdir readdirSync promises.readFile copyFile copyFileSync cp cpSync',
  ),
  ...of('shutil', 'copy copy2 copyfile copytree'),
  ...of('os', 'listdir scandir walk stat readlink'),
  ...of('File', 'read readlines foreach binread stat'),
  ...of('IO', 'read readlines foreach copy_stream'),
  ...of('Deno', 'readTextFile readTextFileSync readFile readFileSync'),
  ...of('io', 'lines'),
  'file_get_contents',
  'Bun.file',
  'readfile',
  'readLines',
  'readRDS',
  'opendir',
  // What lists names is mostly read next, by names that the text does not tell.
  ...of('glob', 'glob iglob'),
  ...of('fs', 'glob globSync'),
  ...of('Dir', 'glob children entries each_child foreach'),
  ...['glob', 'iglob', 'globSync', 'scandir', 'Sys.glob', 'list.files'],
])
const OTHER_READS: ReadonlySet<string> = set(
  'read readlines readline eachline readdir readtext load slurp scan read.csv read.table read.delim read_csv readRDS fileread importdata dlmread csvread',
)
/** The first path is read, the second written. */
export const COPIES: ReadonlySet<string> = set(
  'IO.copy_stream shutil.copy shutil.copy2 shutil.copyfile shutil.copytree shutil.make_archive fs.copyFile fs.copyFileSync fs.cp fs.cpSync FileUtils.cp FileUtils.cp_r FileUtils.copy FileUtils.install FileUtils.copy_file FileUtils.copy_entry File.Copy.copy copy cp file.copy Deno.copyFile',
)
/** The second argument is the file that is written, unless one is called so: `writeLines(text, con = "x")`. */
export const SAVERS: ReadonlySet<string> = set(
  'store nstore lock_store gzip deflate writeLines write.csv write.csv2 write.table write_csv saveRDS cat download Downloads.download download.file file.download',
)
/** Texts among the arguments are code. */
export const CODE_TAKERS: ReadonlySet<string> = set(
  'timeit.timeit timeit.repeat timeit.Timer cProfile.run profile.run',
)
export const OPENERS: ReadonlySet<string> = set(
  'open io.open codecs.open os.open os.fdopen gzip.open builtins.open IO.File.new gzopen bzopen SplFileObject File.open File.new IO.open fopen fs.open fs.openSync fs.promises.open Deno.open Kernel.open sysopen file',
)
/** Methods of a path object: `Path('/x').unlink()`. */
export const PATH_WRITES: ReadonlySet<string> = set(
  '.unlink .rmdir .write_text .write_bytes .touch .mkdir .rename .replace .chmod .symlink_to .hardlink_to .delete .rmtree .write .remove .remove_tree .spew .spew_utf8 .spew_raw .append .append_utf8 .mkpath .edit .edit_lines .binwrite .move .move_into',
)
/** Of those and others, the methods whose argument is written as well. */
export const PATH_TARGETS: ReadonlySet<string> = set('.rename .replace .move .move_into .copy .copy_into')
export const PATH_READS: ReadonlySet<string> = set(
  '.read_text .read_bytes .iterdir .read .readlines .copy .copy_into',
)

/** What the last part of a name says where the language is not told apart: `removeItem`, `RemoveAll`, `delete-file`. */
const SAYS_WRITE =
  /^(?:[Rr]emove|[Dd]elete|del|rm|rmdir|rmtree|[Uu]nlink|[Ee]rase|[Rr]ename|[Mm]ove|[Ww]rite|[Aa]ppend|[Tt]runcate|[Cc]hmod|[Cc]hown|[Cc]reate|\w{0,16}(?:[Ww]riter|[Oo]utputStream)|setText|openWrite|mkdirs?|set(?:Writable|Executable|Readable|ReadOnly))(?![a-z])/

/** What the name of a method says that puts what it has into a file: `extractall`, `to_csv`, `savefig`. */
const SAYS_SAVE =
  /^(?:to_[a-z]+|save\w*|extract\w*|export\w*|unpack\w*|download\w*|dump|imwrite|write(?:_|[A-Z])\w*)$/

export function soundsLikeSaving(name: string): boolean {
  return SAYS_SAVE.test(lastPart(name))
}

export function soundsLikeWriting(name: string, language: Language): boolean {
  return language === 'other' && SAYS_WRITE.test(lastPart(name).replace(/^.*:/, ''))
}

/** What the call does with the paths that it is given; undefined where it is no call on files. */
export function fileUse(name: string, language: Language): Exclude<PathUse, 'mention'> | undefined {
  if (language === 'lua' && (name === 'os.remove' || name === 'os.rename')) return 'write'
  if (WRITES.has(name) || BARE_WRITES[language].has(name)) return 'write'
  return READS.has(name) || (language === 'other' && OTHER_READS.has(name)) ? 'read' : undefined
}

const PLACE_CHANGERS: ReadonlySet<string> = set(
  'os.chdir posix.chdir contextlib.chdir process.chdir Deno.chdir chdir Dir.chdir FileUtils.cd FileUtils.chdir lfs.chdir setwd',
)

/** Whether a call changes the directory that relative paths begin at. */
export function changesPlace(name: string, language: Language): boolean {
  return PLACE_CHANGERS.has(name) || (name === 'cd' && language === 'other')
}

/** Modules of which a member that is worked out could be anything. */
export const POWERFUL: ReadonlySet<string> = set(
  'os subprocess shutil child_process process globalThis global builtins __builtins__ Kernel IO vm pty posix io fs fs/promises',
)
