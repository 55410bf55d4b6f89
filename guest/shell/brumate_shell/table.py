"""Which commands there are. Their modules are imported when one is called."""

from importlib import import_module

from brumate_shell.tools import console_scripts

_NO_NETWORK = "this sandbox has no network"
_NO_PROGRAMS = (
    "this sandbox runs Python only, no other programs; a program of a Python package is there once the package is "
    "installed (%pip install)"
)
_NO_JOBS = "there are no processes and no jobs; commands run one after the other"

# Commands that people try, and why they are not there.
_REASONS = {
    **dict.fromkeys("curl wget ping ssh scp git nc rsync ftp nslookup dig".split(), _NO_NETWORK),
    **dict.fromkeys(
        "apt apt-get yum dnf apk brew sudo npm conda mamba uv poetry".split(),
        "only packages of Python can be installed, with %pip install; %pip list shows the packages that are there",
    ),
    **dict.fromkeys("jobs fg bg wait disown nohup kill killall pkill ps top pgrep".split(), _NO_JOBS),
    "trap": "there are no signals and no EXIT handlers; put what has to be done at the end behind the commands",
    "alias": "write a function: name() { ...; }",
    "select": "nobody types here",
}

# Module → names of commands. The function has the same name, with `_` at its end where Python has one of it, and `_`
# for what a name of Python cannot have.
_MODULES = {
    "tools.archives": "tar",
    "awk.command": "awk",
    "tools.bc": "bc",
    "tools.calculators": "expr seq",
    "tools.columns": "column comm cut join paste tr",
    "tools.compression": "bunzip2 bzip2 gunzip gzip unxz xz zcat",
    "bash.conditions": "test",
    "tools.dates": "date",
    "tools.diff": "diff",
    "tools.digests": "base64 hexdump md5sum od sha1sum sha256sum sha512sum xxd",
    "bash.echoes": "echo printf yes",
    "tools.facts": "chmod file ln mktemp readlink realpath stat tree",
    "tools.files": "basename cp dirname ls mkdir mv pwd rm rmdir touch",
    "find.command": "find",
    "tools.grep": "grep",
    "jq.command": "jq",
    "tools.pip.command": "pip",
    "tools.room": "df du",
    "bash.runners": "bash builtin command env timeout time type which xargs",
    "sed.command": "sed",
    "tools.shapes": "cmp expand fmt fold nl rev shuf split strings tac",
    "bash.shell_commands": "break cd continue eval exec exit getopts popd pushd return set shift shopt source umask",
    "tools.sorting": "sort uniq",
    "tools.python": "python",
    "tools.system": "false hostname id nproc printenv sleep true uname whoami",
    "tools.texts": "cat head tail tee wc",
    "bash.variables": "declare export let local mapfile read readonly unset",
    "tools.zips": "unzip zip",
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names.split()}
_FUNCTIONS = {"[": ("bash.conditions", "bracket")}
_RESERVED = frozenset("break continue return exit exec eval set zip type time command".split())
_FUNCTIONS |= {name: (module, name + "_" if name in _RESERVED else name) for name, module in _PLACES.items()}
NAMES = tuple(sorted(name for name in _FUNCTIONS if name[0].isalpha()))

_OTHER_NAMES = {
    "python3": "python", "pip3": "pip", "egrep": "grep", "fgrep": "grep", "dir": "ls", "ll": "ls", "less": "cat",
    "more": "cat", ":": "true", "clear": "true", "gawk": "awk", "mawk": "awk", "typeset": "declare", ".": "source",
    "readarray": "mapfile", "bash": "bash", "sh": "bash", "dash": "bash", "gsed": "sed", "hd": "hexdump",
    "sync": "true", "hash": "true",
}  # fmt: skip
_FIRST_ARGUMENTS = {"egrep": ["-E"], "fgrep": ["-F"], "ll": ["-l"], "hd": ["-C"]}
_DIRECTORIES = ("/bin", "/usr/bin", "/usr/local/bin")
# Commands of the shell that are beside programs of the same kind.
_OTHERS_OF_THE_SHELL = frozenset(("echo", "printf", "true", "false", ":", "pwd", "type", "command", "builtin"))
_found = {}


def find(name):
    """The function of a command, or None. Paths to programs are looked up by their last part.

    Commands of installed packages come last. They may be gone the next time.
    """
    if name in _found:
        return _found[name]
    plain = name
    if "/" in name:
        directory, _, plain = name.rpartition("/")
        if directory not in _DIRECTORIES:
            return None
    if plain.startswith("python3.") and plain[8:].isdigit():
        plain = "python"
    place = _FUNCTIONS.get(_OTHER_NAMES.get(plain, plain))
    if place is None:
        return console_scripts.find(plain)
    function = getattr(import_module("." + place[0], __package__), place[1])
    extra = _FIRST_ARGUMENTS.get(plain)
    if extra:
        function = _with(function, extra)
    _found[name] = function
    return function


def _with(function, extra):
    def run(arguments, streams):
        return function([*extra, *arguments], streams)

    run.__doc__ = function.__doc__
    return run


def exists(name):
    """Whether there is such a command; imports none."""
    directory, slash, plain = name.rpartition("/")
    if slash and directory not in _DIRECTORIES:
        return False
    known = _OTHER_NAMES.get(plain, plain) in _FUNCTIONS or plain.startswith("python3.")
    return known or console_scripts.find(plain) is not None


def is_of_the_shell(name):
    """Whether a command is the shell's own, not a program in another system."""
    module = _FUNCTIONS.get(_OTHER_NAMES.get(name, name), ("",))[0]
    return module in ("bash.shell_commands", "bash.variables", "bash.conditions") or name in _OTHERS_OF_THE_SHELL


def refusal(name):
    """What to say of a command that is not there."""
    reason = _REASONS.get(name.rpartition("/")[2], _NO_PROGRAMS)
    return f"command not available: {reason}. There are: {', '.join(NAMES)}; use Python for anything else"
