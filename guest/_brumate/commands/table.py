"""Which commands there are."""

from ..pristine import __builtins__

from . import archives, files, packages, system, texts

_NO_NETWORK = "this sandbox has no network"
_NO_PROGRAMS = "this sandbox runs Python only, no other programs"

# Commands that people try, and why they are not there.
_REASONS = {
    **dict.fromkeys("curl wget ping ssh scp git nc rsync ftp nslookup dig".split(), _NO_NETWORK),
    **dict.fromkeys(
        "apt apt-get yum dnf apk brew sudo npm conda mamba uv poetry".split(),
        "nothing can be installed; the bundled packages are in %pip list",
    ),
}

_COMMANDS = {
    name.rstrip("_"): function
    for module, names in (
        (
            files,
            ("basename", "cd", "cp", "df", "dirname", "du", "find", "ls", "mkdir", "mv", "pwd", "rm", "rmdir", "touch"),
        ),
        (texts, ("cat", "cut", "echo", "grep", "head", "printf", "sort", "tail", "tee", "uniq", "wc")),
        (
            system,
            (
                "date",
                "env",
                "export",
                "false",
                "hostname",
                "nproc",
                "python",
                "seq",
                "sleep",
                "true",
                "uname",
                "unset",
                "which",
                "whoami",
            ),
        ),
        (archives, ("tar", "unzip", "zip_")),
        (packages, ("pip",)),
    )
    for name in names
    for function in (getattr(module, name),)
}
NAMES = tuple(sorted(_COMMANDS))

_OTHER_NAMES = {
    "python3": "python", "pip3": "pip", "egrep": "grep", "fgrep": "grep", "dir": "ls", "ll": "ls", "type": "which",
    "less": "cat", "more": "cat", ":": "true", "set": "true", "clear": "true",
}  # fmt: skip
_FIRST_ARGUMENTS = {"egrep": ["-E"], "fgrep": ["-F"], "ll": ["-l"]}


def find(name):
    """The function of a command, or None. Paths to programs are looked up by their last part."""
    if "/" in name:
        directory, _, name = name.rpartition("/")
        if directory not in ("/bin", "/usr/bin", "/usr/local/bin"):
            return None
    if name == "[" or name == "test":
        return None
    if name in ("printenv",):
        return _printenv
    if name.startswith("python3."):
        name = "python"
    function = _COMMANDS.get(_OTHER_NAMES.get(name, name))
    extra = _FIRST_ARGUMENTS.get(name)
    if function is not None and extra:
        return lambda arguments, streams: function([*extra, *arguments], streams)
    return function


def _printenv(arguments, streams):
    import os

    if not arguments:
        return system.env([], streams)
    values = [os.environ[name] for name in arguments if name in os.environ]
    streams.out.write("".join([value + "\n" for value in values]))
    return 0 if len(values) == len(arguments) else 1


def refusal(name):
    """What to say of a command that is not there."""
    reason = _REASONS.get(name.rpartition("/")[2], _NO_PROGRAMS)
    return f"command not available: {reason}. There are: {', '.join(NAMES)}; use Python for anything else"
