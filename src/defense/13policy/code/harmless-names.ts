/**
 * Functions and words that code may use without being asked about in languages whose functions stand in no module of
 * their own: PHP, Tcl, and those that are not told apart. And of the others, the few functions of the language itself
 * that do more than compute and that no other table knows.
 * From the references of PHP, Tcl, Expect, R, Julia, Octave, Java, Groovy, Scala, Elixir, Haskell, Scheme and Lisp.
 * @module
 */
import type { Language } from '../unwrap/inner.ts'

function set(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/))
}

/** Functions of PHP by the beginning of their names: on texts, lists, numbers, times, and files that are judged by path. */
export const PHP_FAMILIES =
  /^(?:array|str|mb|preg|json|date|is|ctype|var|print|iconv|hash|md5|sha1|crc32|base64|bin2hex|html|url|raw|http_build|random|mt|log|utf8|simplexml|gmp|bc|extension|iterator|spl|class|method|property|func|memory|gc|gz|zlib|bz|number|similar|levenshtein|ob|error|trigger|zip|yaml|filter|sodium_bin|intl|grapheme|password|serialize|unserialize|k?sort|[aku]*r?sort|get_(?:class|object|parent|debug|defined|loaded|included|include|extension)|f(?:gets|getc|getcsv|putcsv|close|eof|flush|seek|tell|stat|read|write|puts|lock|mod|div|scanf)|file|dir|path|real|glob|scan|sys_get|php|microtime|hrtime|gm|mk|check|cal|time|ini_(?:get|set)|ldap_esc|imagecreate|imagepng|getimagesize|mysqli_get)(?:_?\w{0,32})$/

/** Names behind which a bracket opens that are no function of a module: words of the language, and what only computes. */
export const PHP_NAMES: ReadonlySet<string> = set(
  `if elseif else for foreach while switch match case function fn use array list isset unset empty echo print return
exit die catch throw new and or xor not include include_once require require_once declare static self parent this
count sizeof in_array range compact extract max min sum abs ceil floor round sqrt pow exp sin cos tan pi intdiv fdiv
rand srand lcg_value implode explode join trim ltrim rtrim chop nl2br lcfirst ucfirst ucwords ucword wordwrap chunk_split
substr substr_count substr_replace sprintf vsprintf printf vprintf fprintf number_format addslashes stripslashes chr ord
dechex hexdec bindec decbin octdec decoct base_convert uniqid levenshtein soundex metaphone nl_langinfo money_format
intval floatval doubleval boolval strval settype gettype current key next prev reset end each usleep sleep call_user_func
call_user_func_array function_exists define defined constant debug_zval_refcount highlight_string version_compare
phpversion phpinfo php_uname php_sapi_name zend_version getenv getmypid getcwd gethostname get_current_user opendir
readdir closedir touch mkdir rename unlink copy rmdir tempnam tmpfile stat lstat disk_free_space disk_total_space basename
dirname fnmatch parse_url parse_str parse_ini_file parse_ini_string pathinfo ctype natsort natcasesort shuffle usort uasort
uksort arsort asort krsort ksort rsort sort array_map cli_set_process_title set_error_handler set_exception_handler
spl_autoload_register assert chdir lcg quotemeta strtotime checkdate idate getdate localtime strftime
DateTime DateTimeImmutable DateTimeZone DateInterval DatePeriod Exception RuntimeException InvalidArgumentException
ArrayObject ArrayIterator SplStack SplQueue SplObjectStorage SplPriorityQueue stdClass SimpleXMLElement DOMDocument
DOMXPath NumberFormatter IntlDateFormatter Generator Closure WeakMap RecursiveIteratorIterator
RecursiveDirectoryIterator DirectoryIterator FilesystemIterator SplFileObject SplFileInfo ZipArchive JsonException
ReflectionClass ReflectionExtension PDO SQLite3`,
)

/** Packages of Tcl; its own commands are few. */
export const TCL_PACKAGES: ReadonlySet<string> = set(
  'Tcl Tk Expect json csv struct math tcltest base64 md5 sha1 sha256 cmdline textutil fileutil yaml tdom sqlite3 http tls uri htmlparse report',
)

/** What only computes, prints, or is a word of the language, by the last part of its name and in small letters. */
export const OTHER_NAMES: ReadonlySet<string> = set(
  `if else elif elseif elsif for foreach while until do repeat switch case cond when unless match with let let* letrec
lambda fn fun func function def define defun defn defvar defparameter setq set set! setf begin progn end return and or
not in is new try catch throw finally raise loop recur quote list cons car cdr cadr cddr caar null? pair? eq? equal?
display displayln newline write-line print println printn printf printfn println! eprintln eprintf echo puts putstrln
putstr say show write writeln write-string format princ prin1 terpri message message-box disp fprintf sprintf cat paste
paste0 noquote tostring to-string str string stringify repr inspect io.puts output.writeline writeline
sum prod product mean median average mode var sd std stdev variance quantile min max minimum maximum abs sqrt cbrt exp
log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh floor ceil ceiling round trunc truncate div mod rem
quot modulo remainder quotient gcd lcm pow power expt factorial binomial choose gamma beta sign signif int integer float
double long byte short char bool boolean number numeric int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64
bigint bigdecimal biginteger complex rational real imag conj even? odd? zero? even odd iszero isodd iseven isprime isnan
isinf isempty isnull isna is.na is.null is.numeric is.character is.function identical all any all.equal isapprox
length len size count nrow ncol nchar dim ndims numel rows columns c vector matrix array seq seq_len seq_along rep rev
reverse reversed sort sorted order unique distinct uniq table head tail first last rest nth get at take drop slice
subset which which.max which.min diff cumsum cumprod outer crossprod inv det rank trace transpose t dot cross norm eig
eigen svd qr lu chol solve zeros ones eye fill rand randn randi randint sample runif rnorm rbinom set.seed seed srand
seed! shuffle random nextint nextdouble linspace logspace colon range ranges collect map map! mapcar mapconcat mapm_
mapv lapply sapply vapply apply tapply mapply filter remove-if remove-if-not reduce fold foldl foldr foldleft foldright
inject scan accumulate zip unzip enumerate each each_with_index foreach dolist dotimes forall exists find findfirst
findall contains contains? has haskey hasnext next containskey include includes member index indexof position push!
append append! pushfirst! pop! add addall put putall union intersect setdiff difference merge concat flatten flatmap
vcat hcat cat! reshape group groupby group_by grouping aggregate split strsplit join concat joinpath string-append
string-join string-split string-length string-upcase string-downcase string->number number->string symbol->string
list->string string->list list-ref list-tail vector-ref make-vector hash-ref hash-set! make-hash hash uppercase
lowercase touppercase tolowercase toupper tolower upcase downcase upper lower capitalize titlecase trim strip chomp
trimws lstrip rstrip lpad rpad pad padleft padright substr substring substitute sub gsub replace replaceall regmatches
regexpr gregexpr grepl grep match occursin startswith endswith starts_with? ends_with? charat chars codepoint
codepointat words unwords lines unlines read parse! parseint parsedouble parsefloat valueof tointeger tofloat todouble
tolist toset tomap toarray tovector tostring toint tochararray todo! data.frame dataframe as.numeric as.integer
as.character as.factor as.date as.data.frame as.vector as.list as.matrix factor levels names colnames rownames
row.names str summary glimpse view describe structure attributes attr class typeof type typename getclass eltype
nameof supertype subtypes methods fieldnames sizeof objectid lm glm predict coef residuals anova t.test cor cov fitted
density hist plot lines points legend barplot boxplot png pdf svg dev.off par abline mutate summarise summarize arrange select transmute pivot_longer pivot_wider left_join inner_join bind_rows tally n
slice trapz cumtrapz interp1 polyfit polyval meshgrid fzero fminsearch ode45 fft ifft conv ggplot aes ggsave geom_point geom_line geom_bar geom_histogram facet_wrap theme labs
with within by cut rowsums colsums rowmeans colmeans do.call invisible suppresswarnings suppressmessages stop stopifnot
warning trycatch on.exit options getoption nargs missing identity function. seq_along vapply rapply regexec sprintf
library require requirenamespace loadnamespace using packageversion sessioninfo r.version versioninfo version
installed.packages library.dynam sys.time sys.date sys.getenv sys.info sys.sleep system.time proc.time gc date now today
time timeit @time @show clock tic toc elapsed elapsedtime sleep currenttimemillis nanotime localdate localdatetime
instant duration ofdays of ofpattern plusdays getproperty getproperties gettime availableprocessors freememory
totalmemory maxmemory getenv getruntime pi e true false nil null none some just nothing maybe ok err unwrap either
stream intstream rangeclosed boxed maptoint maptoobj mapton joining collectors tolist counting groupingby iterator
arrays aslist deeptostring stringbuilder stringbuffer hashmap treemap linkedhashmap arraylist linkedlist hashset treeset
treeset optional orelse ispresent ifpresent scanner nextline out.println out.print out.printf math
system.out.println isinstance instanceof hashcode equals compare compareto comparable comparator naturalorder
main module import using open! export from package pkg status test pkg.status pkg.test instantiate precompile
read.csv read.csv2 read.table read.delim readrds readlines readline read_csv fread readxl scan file file.exists
file.path basename dirname normalizepath list.files file.info file.size exists list.dirs getwd pwd nothing isfile isdir
filesize eachline readdir readtext readstring load csvread dlmread importdata textscan fgetl fgets fclose close eof
writelines write.csv write.table saverds save json tojson fromjson jsonparse parsejson prettyprint jsonslurper
parsetext tojsonstring readtree yaml emit rationalize number-sequence string-to-number number-to-string concatname
format-time-string current-time-string float-time buffer-string point-min point-max goto-char insert kill-emacs
emacs-version batch-byte-compile byte-compile-file package-version org-version include source exit quit halt q bye
erlang:display io:format io:fwrite lists:seq lists:sum lists:map lists:reverse lists:sort lists:foldl system_info
enum.map enum.sum enum.reduce enum.filter enum.each enum.sort to_string to_charlist to_integer to_atom integer
kernel application started_applications spec build_info pipe pi2 succ pred fst snd compose const id flip curry uncurry
replicate repeat cycle iterate takewhile dropwhile span break elem notelem lookup zipwith zip3 concatmap concatmapm
mapm sequence when void interact getline getcontents show reads odd subtract negate fromintegral tointeger
member append nb_getval findall bagof setof between succ_or nl writef is format_atom assert forall atom_length
atom_codes number_codes nth0 nth1 msort sumlist sum_list max_list min_list`,
)

/** Functions of the language itself that reach beyond files and commands, or into the interpreter. */
export const REACHING: Readonly<Record<Language, ReadonlySet<string>>> = Object.freeze({
  python: set('globals locals breakpoint'),
  javascript: set('Reflect.get'),
  perl: set(
    'syscall ioctl fcntl dbmopen chroot socket socketpair bind connect listen accept send recv getpwnam getpwuid getpwent getpwall getspnam setpgrp setpriority kill fork dump',
  ),
  ruby: set('syscall autoload set_trace_func binding fork kill gemfile'),
  php: set(''),
  lua: set('loadfile dofile load loadstring'),
  awk: set('writea writeall reada readall fork waitpid chdir'),
  tcl: set('socket load unload thread::create vfs::mount fork chroot sendmail'),
  sed: set(''),
  other: set('heart.set_cmd'),
})

/** Of these, what reaches as far where it is not called. */
export const REACHING_UNCALLED: ReadonlySet<string> = set('syscall gemfile')

/** Methods that start programs with settings before the command, whatever they are called on. */
export const REACHING_METHODS: ReadonlySet<string> = set('.subprocess_shell .subprocess_exec .ioctl')

/** Calls of the system itself, in sources that are built and run. */
export const SYSTEM_CALLS: ReadonlySet<string> = set(
  `reboot kexec_load mount umount umount2 unmount pivot_root swapon swapoff init_module finit_module delete_module ptrace
iopl ioperm settimeofday clock_settime sethostname setdomainname acct quotactl klogctl chroot unshare setns setuid setgid
setresuid seteuid setreuid capset bpf perf_event_open`,
)
