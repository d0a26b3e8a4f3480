/**
 * Modules that code may use without being asked about, for each language: those that only compute, or of which other
 * rules judge the paths, commands and addresses that they are given. Whatever is not here is unknown.
 * From the library references of Python, Node.js, Perl, Ruby and Lua, and of packages that are in wide use.
 * @module
 */
import type { Language } from '../unwrap/inner.ts'

/** Of a module, all but some members, or only some. */
export type Members = { readonly isAllBut: boolean; readonly names: ReadonlySet<string> }

export type Modules = ReadonlyMap<string, Members>

const ALL: Members = Object.freeze({ isAllBut: true, names: new Set<string>() })

/** Rows are MODULE: MEMBERS, or with `-` before them all but those. */
function modules(whole: string, rows: Readonly<Record<string, string>>): Modules {
  const table = new Map<string, Members>()
  const keyOf = (name: string) => name.replaceAll(/::|\//g, '.')
  for (const name of whole.split(/\s+/)) table.set(keyOf(name), ALL)
  for (const [name, text] of Object.entries(rows)) {
    const isAllBut = text.startsWith('-')
    const names = new Set(text.slice(isAllBut ? 1 : 0).split(' '))
    table.set(keyOf(name), { isAllBut, names })
  }
  return table
}

const PYTHON = modules(
  `__future__ abc argparse array ast base64 binascii bisect bz2 calendar cmath codecs collections colorsys configparser
contextlib contextvars copy csv dataclasses datetime decimal difflib dis doctest email enum errno filecmp fileinput
fnmatch fractions functools getopt gettext glob graphlib grp gzip hashlib heapq hmac html inspect io ipaddress itertools
json keyword linecache locale lzma mailbox math mimetypes ntpath numbers operator optparse pathlib pickletools pkgutil
posixpath pprint profile pstats pwd py_compile compileall pyclbr queue quopri random re reprlib sched secrets shlex
stat statistics string stringprep struct symtable tarfile tempfile textwrap threading timeit token tokenize
tomllib traceback tracemalloc types typing unicodedata unittest uuid warnings wave weakref xml zipfile zlib zoneinfo
sysconfig venv logging sqlite3 trace cProfile test this turtle concurrent importlib.metadata importlib.resources this
urllib urllib2 urlparse http.client http.cookies StringIO cStringIO cookielib
numpy pandas matplotlib mpl_toolkits scipy sklearn statsmodels seaborn plotly bokeh altair polars pyarrow h5py xarray
dask numba networkx sympy mpmath shapely geopandas skimage PIL cv2 imageio torch torchvision torchaudio tensorflow keras
jax flax onnx onnxruntime tflite_runtime transformers tokenizers datasets sentencepiece tiktoken spacy nltk gensim
xgboost lightgbm catboost joblib
ruamel toml tomli tomli_w tomlkit pytoml orjson ujson simplejson json5 hjson msgpack cbor2 cbor bson avro google
xmltodict lxml bs4 html5lib cssselect soupsieve parsel feedparser markdown mistune markdown_it docutils sphinx jinja2
mako markupsafe bleach requests httpx urllib3 aiohttp httplib2 certifi idna chardet charset_normalizer dateutil pytz
tzlocal tzdata arrow pendulum attr attrs cattrs pydantic pydantic_core pydantic_settings marshmallow jsonschema cerberus
voluptuous schema rich click typer docopt fire colorama termcolor tabulate prettytable tqdm texttable humanize wcwidth
blessed textual openpyxl xlrd xlwt xlsxwriter docx pptx pypdf PyPDF2 pdfplumber fitz reportlab qrcode pygments loguru
structlog flask fastapi starlette uvicorn werkzeug itsdangerous django rest_framework sqlalchemy sqlmodel alembic peewee
pony graphql strawberry pytest hypothesis faker freezegun responses mock coverage mypy black isort flake8 pylint ruff
autopep8 yapf bandit packaging setuptools wheel pkg_resources build six future typing_extensions more_itertools toolz
cytoolz boltons sortedcontainers cachetools diskcache regex parse pyparsing lark ply parsy rapidfuzz jellyfish
unidecode inflect inflection slugify shortuuid nanoid ulid hashids crcmod crc blake3 xxhash zstandard lz4 brotli snappy
deepdiff jsonpath_ng jmespath jq pyjq semver natsort bitarray bitstring construct intelhex elftools crccheck pint
uncertainties cryptography Crypto nacl bcrypt passlib jwt jose rsa ecdsa anyio trio attrdict munch box dotmap addict
environs decouple dynaconf omegaconf hydra wtforms babel geopy haversine astral pyproj rasterio fiona folium filterpy
simpy deap gym gymnasium stable_baselines3 pyinstrument line_profiler memory_profiler objgraph pympler
grpc capstone pycparser cffi_version libcst parso jedi rope radon vulture line_protocol_parser cerealizer
app apps src main config settings conf models model schemas schema utils util helpers helper lib core common tests test
api views server client services service tasks types_ constants package mypackage mypkg module mymodule project
myproject calc calculator example examples scripts tools data_loader parser lexer solution hello foo bar`,
  {
    os: 'path getcwd getcwdb listdir scandir walk fwalk environ getenv cpu_count process_cpu_count sep linesep pathsep name uname getpid getppid getuid geteuid getgid getegid getgroups getlogin get_terminal_size terminal_size stat lstat fstat access extsep curdir pardir devnull altsep defpath urandom fspath fsencode fsdecode getloadavg sched_getaffinity times error PathLike DirEntry readlink chdir fchdir isatty fsync close read write lseek statvfs strerror sysconf umask stat_result fdopen getxattr listxattr mkdir makedirs get_exec_path supports_follow_symlinks ctermid confstr waitstatus_to_exitcode _exit getpgid getsid cpu_percent nice',
    sys: 'argv stdin stdout stderr version version_info exit path platform maxsize maxunicode byteorder executable getsizeof getrecursionlimit setrecursionlimit modules flags float_info int_info hash_info hexversion implementation getdefaultencoding getfilesystemencoding prefix base_prefix exec_prefix exc_info builtin_module_names stdlib_module_names dont_write_bytecode orig_argv api_version copyright set_int_max_str_digits getrefcount intern thread_info __stdout__ __stderr__ __stdin__ ps1 subversion maxint setdefaultencoding exitfunc pycache_prefix displayhook excepthook getswitchinterval getallocatedblocks gettotalrefcount is_finalizing _getframe',
    subprocess:
      'run call check_call check_output Popen getoutput getstatusoutput CalledProcessError TimeoutExpired CompletedProcess SubprocessError list2cmdline',
    shutil:
      'which disk_usage get_terminal_size copyfileobj ignore_patterns make_archive unpack_archive get_archive_formats get_unpack_formats Error SameFileError copymode copystat',
    socket:
      'gethostname gethostbyname gethostbyname_ex gethostbyaddr getaddrinfo getfqdn inet_aton inet_ntoa inet_pton inet_ntop htons htonl ntohs ntohl error timeout gaierror herror has_ipv6 getservbyname getservbyport if_nameindex getprotobyname getdefaulttimeout setdefaulttimeout AddressFamily SocketKind',
    ssl: 'create_default_context SSLContext SSLError CertificateError get_default_verify_paths get_server_certificate DER_cert_to_PEM_cert PEM_cert_to_DER_cert cert_time_to_seconds TLSVersion _create_unverified_context',
    platform: '-popen sys os subprocess',
    asyncio:
      '-create_subprocess_shell create_subprocess_exec open_connection open_unix_connection start_server start_unix_server',
    multiprocessing: '-connection managers shared_memory',
    signal:
      'signal alarm Signals strsignal getsignal default_int_handler pause setitimer sigwait valid_signals',
    getpass: 'getuser getpass',
    site: 'getsitepackages getusersitepackages getuserbase ENABLE_USER_SITE',
    importlib: 'import_module reload metadata resources util invalidate_caches abc',
    'importlib.util': 'find_spec',
    gc: 'collect enable disable get_count get_stats get_threshold isenabled freeze set_threshold',
    resource: 'getrusage getrlimit struct_rusage getpagesize',
    select: 'select poll error',
    selectors: '-sys',
    http: 'HTTPStatus HTTPMethod client cookies',
    psutil: '-Process process_iter Popen pids wait_procs net_connections',
    dotenv: 'load_dotenv find_dotenv',
    pkgutil: '-resolve_name',
    venv: '-EnvBuilder',
    'test.support': 'verbose',
    cProfile: '-sys',
    time: '-clock_settime clock_settime_ns',
    tkinter: '-Tcl',
    yaml: '-unsafe_load unsafe_load_all UnsafeLoader Loader full_load_all',
  },
)

const JAVASCRIPT = modules(
  `path path/posix url querystring util assert assert/strict events stream stream/promises stream/web buffer
string_decoder crypto zlib readline readline/promises timers timers/promises perf_hooks punycode async_hooks
diagnostics_channel constants test dns dns/promises os
lodash lodash-es underscore ramda chalk kleur picocolors ansi-colors colors axios node-fetch undici got superagent ky
semver yaml js-yaml toml @iarna/toml ini json5 moment moment-timezone dayjs date-fns luxon uuid nanoid ulid cuid glob
fast-glob globby minimatch micromatch picomatch minimist yargs yargs-parser commander cac meow arg ora inquirer
enquirer express koa fastify hono next react react-dom vue svelte preact solid-js @angular/core typescript ts-node
@babel/core @babel/parser acorn esprima espree esbuild rollup webpack vite terser postcss sass less eslint prettier
jest vitest mocha chai sinon cheerio jsdom xml2js fast-xml-parser csv csv-parse csv-parser csv-stringify papaparse xlsx
exceljs pdf-lib pdf-parse marked markdown-it remark unified handlebars mustache ejs pug nunjucks zod joi ajv yup
class-validator validator ms debug winston pino bunyan rxjs immer immutable mobx redux graphql iconv-lite he entities
fs-extra sharp jimp jsonwebtoken bcrypt bcryptjs mathjs decimal.js big.js bignumber.js bn.js d3 three pako lz-string
event-stream through2 async bluebird p-limit p-map lru-cache object-hash deepmerge deep-equal fast-deep-equal diff
jsdiff cbor msgpack-lite protobufjs long qs mime mime-types content-type cookie slugify change-case camelcase pluralize
strip-ansi string-width wrap-ansi cli-table3 boxen figlet table tap browserslist caniuse-lite core-js tslib ajv-formats
jsonpath-plus jmespath dotenv`,
  {
    process:
      'argv argv0 env stdin stdout stderr cwd version versions platform arch exit exitCode memoryUsage uptime hrtime nextTick on once off pid ppid title cpuUsage resourceUsage release config features emitWarning execPath execArgv chdir umask getuid geteuid getgid getegid getgroups constrainedMemory availableMemory removeListener addListener removeAllListeners listenerCount emit loadEnvFile setMaxListeners allowedNodeEnvironmentFlags abort getActiveResourcesInfo',
    fs: 'existsSync exists stat statSync lstat lstatSync fstatSync access accessSync constants realpath realpathSync readlink readlinkSync watch opendir opendirSync mkdtemp mkdtempSync statfs statfsSync globSync glob read readSync write writeSync close closeSync fsyncSync ReadStream WriteStream Stats promises readv watchFile unwatchFile copy copySync ensureDir ensureDirSync pathExists readJson readJsonSync readJSON readJSONSync writeJson writeJsonSync outputJson outputJsonSync move moveSync',
    'fs/promises': 'readFile readdir stat lstat access realpath readlink constants glob opendir mkdtemp',
    'fs.promises':
      'readFile readdir stat lstat access realpath readlink constants glob opendir mkdtemp open cp',
    child_process: 'exec execSync spawn spawnSync execFile execFileSync',
    http: 'get STATUS_CODES METHODS Agent request',
    https: 'get Agent request',
    os: '-setPriority',
    crypto: '-setEngine',
    v8: 'getHeapStatistics getHeapSpaceStatistics serialize deserialize cachedDataVersionTag',
    module: 'builtinModules isBuiltin createRequire',
    tty: 'isatty',
    Deno: 'args env cwd version build exit stdin stdout stderr readTextFile readTextFileSync readFile readFileSync readDir readDirSync stat statSync lstat writeTextFile writeTextFileSync writeFile writeFileSync mkdir mkdirSync makeTempDir makeTempFile makeTempFileSync test bench inspect memoryUsage osRelease hostname systemMemoryInfo loadavg pid mainModule noColor errors',
    Bun: 'file write version env argv main sleep sleepSync nanoseconds inspect hash stdin stdout stderr which revision gc color stringWidth escapeHTML deepEquals',
  },
)

const PERL = modules(
  `strict warnings utf8 feature integer bigint bignum bigrat constant vars parent base lib subs overload open locale sort
re charnames diagnostics autodie fields less bytes version mro if experimental filetest sigtrap threads
List::Util List::MoreUtils List::SomeUtils List::UtilsBy Scalar::Util Hash::Util Sub::Util JSON JSON::PP JSON::XS
JSON::MaybeXS Cpanel::JSON::XS Data::Dumper Data::Dump Data::Printer Time::HiRes Time::Local Time::Piece Time::Seconds
Time::gmtime Time::localtime File::Basename File::Spec File::Find File::Path File::Copy File::Temp File::stat
File::Slurp File::Compare File::Glob Cwd FindBin Getopt::Long Getopt::Std Pod::Usage Text::Wrap Text::Tabs
Text::ParseWords Text::CSV Text::CSV_XS Text::Balanced Text::Abbrev Text::Table Text::Template Term::ANSIColor Digest
Digest::MD5 Digest::SHA Digest::SHA1 Digest::CRC MIME::Base64 MIME::QuotedPrint Encode Encode::Guess PerlIO
Storable Math::BigInt Math::BigFloat Math::BigRat Math::Trig Math::Complex Math::Round Benchmark Tie::File Tie::Hash
Tie::Array Carp English Env Config IO::Handle IO::File IO::Zlib IO::Uncompress::Gunzip IO::Compress::Gzip
IO::Uncompress::Unzip Compress::Zlib Fcntl Errno Memoize Symbol Exporter UNIVERSAL Test::More Test::Simple Test::Deep
Unicode::Normalize Unicode::UCD Unicode::Collate I18N::Langinfo Sys::Hostname YAML YAML::XS YAML::Tiny XML::Simple
XML::LibXML XML::Twig XML::Parser HTML::Parser HTML::TreeBuilder HTML::Entities HTML::TokeParser DateTime
DateTime::Format::Strptime Date::Parse Date::Format Date::Calc URI URI::Escape HTTP::Date HTTP::Tiny LWP::Simple
LWP::UserAgent HTTP::Request Try::Tiny Moose Moo Mouse Path::Tiny Spreadsheet::ParseExcel Excel::Writer::XLSX
Devel::Peek B::Deparse Term::ReadLine STDIN STDOUT STDERR ARGV DATA CORE main CORE::GLOBAL SUPER Class::Struct Module::CoreList
Module::Load::Conditional ExtUtils::MakeMaker`,
  {
    POSIX:
      '-dup2 dup fork kill setuid setgid setpgid setsid pause mkfifo nice _exit tcsetpgrp open creat write unlink remove rename rmdir chown lchown chmod',
  },
)

const RUBY = modules(
  `json csv yaml psych date time set erb pp prettyprint ostruct optparse fileutils pathname tempfile tmpdir find digest
digest/md5 digest/sha1 digest/sha2 openssl securerandom base64 zlib bigdecimal bigdecimal/util matrix prime rational
benchmark timeout logger forwardable singleton delegate observer abbrev English shellwords strscan stringio uri open-uri
net/http rexml/document tsort weakref monitor nokogiri activesupport active_support active_support/all rubygems bundler
minitest minitest/autorun test/unit rspec rake sinatra rails toml tomlrb redcarpet kramdown nokogiri httparty faraday
open3 etc io/console ripper unicode_normalize racc colorize rainbow tty-table terminal-table awesome_print un
JSON CSV YAML Psych Date DateTime Time Set ERB OpenStruct Struct Data OptionParser FileUtils Pathname Tempfile Find Digest
OpenSSL SecureRandom Base64 Zlib BigDecimal Matrix Vector Prime Rational Complex Benchmark Timeout Logger Shellwords
StringScanner StringIO URI OpenURI REXML TSort Math Integer Float String Array Hash Range Regexp Symbol Proc Enumerator
Comparable Enumerable NilClass Numeric Random Encoding GC Gem Bundler RUBY_VERSION RUBY_PLATFORM STDIN STDOUT STDERR
ARGV ARGF ENV DATA Exception StandardError ArgumentError RuntimeError TypeError KeyError IndexError NameError
NoMethodError ZeroDivisionError Errno Interrupt SystemExit Nokogiri Minitest Test RSpec SingleForwardable Singleton Mutex Thread
Queue ConditionVariable Monitor Fiber Ractor Class Module BasicObject Method MatchData Warning RbConfig Net HTTParty
Faraday TOML Kramdown Ripper Gem::Specification Net::HTTP Open3 PP Random::DEFAULT SortedSet Open`,
  {
    File: 'exist basename extname dirname join expand_path absolute_path realpath readable writable executable directory file size size zero empty symlink mtime ctime atime stat lstat split fnmatch readlink identical ftype SEPARATOR Stat RDONLY readlines each_line',
    Dir: 'glob pwd getwd entries children each_child exist empty home mktmpdir tmpdir foreach chdir each new open',
    IO: 'SEEK_SET SEEK_END select copy_stream pipe console foreach readlines',
    Process: 'clock_gettime pid ppid uid euid gid times clock_getres wait wait2 waitpid last_status detach',
    ObjectSpace: 'count_objects garbage_collect memsize_of_all',
    RubyVM: 'stat',
    Signal: 'trap list signame',
    Etc: 'nprocessors getlogin uname',
    Kernel:
      'puts print format sprintf printf rand srand sleep Integer Float exit abort raise require require_relative loop p pp caller gets',
    Object: 'new',
    Socket: 'gethostname',
    Gem: '-install uninstall',
  },
)

const LUA = modules(
  `string table math utf8 coroutine bit bit32 arg cjson cjson.safe dkjson json lpeg inspect lfs pl penlight ftcsv lyaml
serpent luaunit busted argparse say term ansicolors date md5 sha1 basexx re tableshape`,
  {
    os: 'time date clock getenv tmpname difftime setlocale exit',
    io: 'read write lines stdin stdout stderr close type flush',
    debug: 'traceback getinfo',
    package: 'path config',
    jit: '-util',
    vim: 'inspect split trim tbl_keys tbl_values tbl_map tbl_filter version json print notify deepcopy startswith endswith log',
  },
)

/** Packages of R and Julia, classes of Java, modules of Elixir, Haskell and OCaml. */
const OTHER = modules(
  `ggplot2 dplyr tidyr tibble readr stringr purrr forcats lubridate data.table jsonlite knitr rmarkdown testthat lintr
styler covr roxygen2 usethis broom caret randomForest zoo xts forecast Matrix MASS stats utils graphics grDevices
base Statistics LinearAlgebra Dates Random Printf DataFrames CSV JSON JSON3 Plots Test BenchmarkTools DelimitedFiles
SparseArrays Unicode UUIDs Base Core Iterators Math Integer Double Long Character String Boolean Arrays List Map Set
Collectors Stream IntStream LongStream Duration Instant LocalDate LocalDateTime Collections Objects Optional Pattern
StringBuilder groovy.json JsonSlurper JsonOutput Enum IO Keyword Float Atom Tuple MapSet Regex Date DateTime NaiveDateTime
Data.List Data.Char Data.Map Array Buffer Printf Hashtbl lists maps string math scala.math scala.util.Random`,
  {
    System: 'out err currentTimeMillis nanoTime getProperty getProperties lineSeparator arraycopy version',
    Pkg: 'status test instantiate precompile activate resolve build',
  },
)

const NONE: Modules = new Map()

/** What may be used of the modules of a language, by their names with `.` for every separator. */
export const HARMLESS_MODULES: Readonly<Record<Language, Modules>> = Object.freeze({
  python: PYTHON,
  javascript: JAVASCRIPT,
  perl: PERL,
  ruby: RUBY,
  lua: LUA,
  php: NONE,
  awk: NONE,
  tcl: NONE,
  sed: NONE,
  other: OTHER,
})
