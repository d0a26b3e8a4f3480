/**
 * Words with which a line begins that a program with a prompt of its own is given: to run a command, to write a file, or
 * to read one.
 * From vim(1), less(1), ed(1), gdb(1), sqlite3(1), psql(1), mysql(1), ftp(1) and their kin.
 * @module
 */

/** Words before a command that change nothing of what it is. */
export const MODIFIERS: readonly string[] = Object.freeze([
  ...[
    'silent! ',
    'silent ',
    'sil! ',
    'sil ',
    'exe ',
    'execute ',
    'noautocmd ',
    'keepalt ',
    'verbose ',
    'map ',
  ],
  ...['push-command ', 'spawn ', 'normal ', 'platform '],
])

/** What stands before text for a shell, up to the end of the line. */
export const SHELL_WORDS: readonly string[] = Object.freeze([
  ...[
    'terminal ',
    'term ',
    'ter ',
    'shell ',
    'shell! ',
    'shell -w ',
    'sh ',
    'system ',
    'exec ',
    'execute ',
    'run ',
  ],
  ...['.shell ', '.system ', '\\! ', '\\!', '.once |', '.output |', '\\o |', '\\g |', '\\copy |', 'pipe '],
  ...[
    '.import "|',
    ".import '|",
    '.import |',
    'make ',
    'lcmd ',
    'local ',
    'spawn ',
    'pager ',
    '~!',
    '~|',
    '|',
  ],
  ...['set output "|', "set output '|", 'set print "|', "set print '|", 'plot "<', "plot '<"],
  ...['tee |', 'bang ', 'sh! ', 'cmd ', '\\gx |', '\\w |', '\\P '],
  ...['\\setenv PAGER ', '\\setenv PSQL_PAGER ', '\\setenv EDITOR ', '\\setenv PSQL_EDITOR '],
])

/** A file is written by what begins so; the file is the last word of the line. */
export const WRITE_WORDS: readonly string[] = Object.freeze([
  ...['w ', 'w! ', 'wq ', 'wq! ', 'write ', 'write! ', 'saveas ', 'saveas! ', 'sav ', 'sav! ', 'W '],
  ...[
    '.output ',
    '.once ',
    '.backup ',
    '.save ',
    '.log ',
    '.excel ',
    '.clone ',
    '\\o ',
    '\\w ',
    'tee ',
    'get ',
    'mget ',
    'lcd ',
  ],
  ...[
    'dump memory ',
    'append memory ',
    'append value ',
    'append binary ',
    'dump value ',
    'set logging file ',
    'set output ',
    'set print ',
    'save ',
    'export-filename:',
    'log ',
  ],
  ...['set print-file ', 'export ', 'snapshot ', 'generate-core-file ', 'gcore '],
])
/** And read by these. */
export const READ_WORDS: readonly string[] = Object.freeze([
  ...[
    'e ',
    'e! ',
    'edit ',
    'r ',
    'read ',
    'so ',
    'source ',
    'tabe ',
    'tabnew ',
    'sp ',
    'split ',
    'vs ',
    'vsplit ',
  ],
  ...[
    '.read ',
    '.import ',
    '.load ',
    '.open ',
    '.restore ',
    '\\i ',
    '\\ir ',
    '\\. ',
    'put ',
    'mput ',
    'view ',
    'open ',
  ],
  ...[
    'set auto-load ',
    'load ',
    'include ',
    'Include ',
    'file ',
    'file-read ',
    'restore ',
    'argadd ',
    'luafile ',
    'pyfile ',
    'py3file ',
    'rubyfile ',
    'runtime ',
    'n ',
    'type ',
  ],
])
