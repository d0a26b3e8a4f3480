/**
 * Programs that an interpreter is given as what they are to it: a module of Python (`python3 -m pip install x`), or a
 * script where programs are installed (`python3 /usr/bin/x`, `node node_modules/.bin/x`, `ruby -S x`). They are judged
 * as if they had been called by their own names.
 * From the manual pages of the interpreters, and the documentation of the tools named.
 * @module
 */
import type { ShellWord } from '../shell/shell.ts'
import { argv, type Call, type Inner, tail } from './inner.ts'

/** MODULE=PROGRAM, or one name for both. */
const MODULES: ReadonlyMap<string, string> = new Map(
  [
    'pip pipx poetry uv twine hatch flit pdm pipenv tox nox invoke sqlite3 SCons=scons mesonbuild.mesonmain=meson meson west conan',
    'esptool espefuse espsecure pyocd platformio mpremote nrfutil can.player=canplayer can.logger=candump awscli=aws s3cmd',
    'youtube_dl=youtube-dl yt_dlp=yt-dlp mitmproxy gunicorn uvicorn hypercorn flask celery daphne waitress=waitress-serve',
    'supervisor.supervisorctl=supervisorctl supervisor.supervisord=supervisord keyring mkdocs sphinx=sphinx-build pelican',
    'black isort yapf autopep8 autoflake pyupgrade docformatter ruff pylint mypy flake8 bandit pre_commit=pre-commit gzip',
    'snakemake dvc locust robot behave alembic scrapy cookiecutter copier httpie=http magic_wormhole=wormhole wormhole xonsh',
    'jupyter notebook=jupyter-notebook jupyterlab=jupyter-lab telnetlib3.client=telnet PyInstaller=pyinstaller django=django-admin',
    'pytest coverage ansible ansible.cli.playbook=ansible-playbook fabric=fab speedtest certbot binwalk markdown pygments=pygmentize',
  ]
    .flatMap((line) => line.split(' '))
    .map((entry) => {
      const [module = '', program = module] = entry.split('=')
      return [module, program] as const
    }),
)

/** The program that `python -m MODULE` is. */
export function programOfModule(call: Call): readonly Inner[] {
  const at = call.words.findIndex(({ text }) => text.startsWith('-m'))
  const own = call.words[at]
  if (own === undefined) return []
  const module = own.text === '-m' ? call.words[at + 1] : tail(own, 2)
  const name = MODULES.get(module?.text ?? '')
  if (module === undefined || name === undefined) return []
  // What `venv/bin/python -m pip` installs lies where it does with `venv/bin/pip`.
  const [python] = call.words
  const directory =
    python?.opaque === undefined ? (python?.text.slice(0, python.text.lastIndexOf('/') + 1) ?? '') : ''
  const program = { ...module, text: `${directory}${name}` }
  return argv([program, ...call.words.slice(own.text === '-m' ? at + 2 : at + 1)], `${call.name} -m`)
}

/** A directory of programs, and one of them. */
const INSTALLED = /^(?:\/|~\/)(?:[^/]+\/){0,8}s?bin\/[^/]+$|(?:^|\/)node_modules\/\.bin\/[^/]+$/

/** The program that the script `words[0]` is, with its arguments, where it lies among programs. */
export function installedProgram(words: readonly ShellWord[], via: string): readonly Inner[] {
  const [script] = words
  return script !== undefined && script.opaque === undefined && INSTALLED.test(script.text)
    ? argv(words, via)
    : []
}

/** `ruby -S NAME`, `perl -S NAME`: a program that is looked for where programs are. */
export function searchedProgram({ name, parsed }: Call): readonly Inner[] {
  const isSearched = (name === 'ruby' || name === 'perl') && parsed.options.includes('-S')
  return isSearched ? argv(parsed.operands, `${name} -S`) : []
}
