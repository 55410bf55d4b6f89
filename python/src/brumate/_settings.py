"""Settings of a sandbox: arguments of the constructors, and the options of the binary for them."""

from __future__ import annotations

import functools
import numbers
import os
import re
import subprocess
import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ._binary import environment, find_binary, without_usage

#: Seconds of a time limit: least and most, as the binary takes them.
TIME = (0.05, 86_400.0)
#: Seconds without use after which a session is removed.
IDLE = (1.0, 316_224_000.0)
#: Bytes of memory of a run.
MEMORY = (64 << 20, 4 << 30)
#: Bytes of output of a run.
OUTPUT = (1 << 10, 64 << 20)

_SIZE = re.compile(r"([0-9]{1,30})(?:\.([0-9]{1,12})[0-9]*)?\s*([kmgt]i?b|b|)", re.IGNORECASE)
#: Bytes of a decimal and of a binary unit, by its first letter.
_FACTORS = {
    "": (1, 1),
    "b": (1, 1),
    "k": (10**3, 1 << 10),
    "m": (10**6, 1 << 20),
    "g": (10**9, 1 << 30),
    "t": (10**12, 1 << 40),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a sandbox is set up. Sandboxes with equal settings share one process."""

    packages: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    timeout: float | None = None
    cpu_timeout: float | None = None
    memory: str | int | None = None
    output_limit: str | int | None = None
    offline: bool = False
    index: str | None = None
    find_links: tuple[str, ...] = ()
    session_timeout: float | None = None
    data_dir: str | None = None
    cache_dir: str | None = None
    arguments: tuple[str, ...] = ()

    def command_line(self) -> tuple[str, ...]:
        """Returns the arguments that say the same to the binary."""
        return tuple(option for options in self.options().values() for option in options)

    def options(self) -> dict[str, list[str]]:
        """Returns the arguments for each setting."""

        def seconds(flag: str, value: float | None) -> list[str]:
            return [] if value is None else [f"--{flag}={round(value * 1000)}ms"]

        def text(flag: str, value: object) -> list[str]:
            return [] if value is None else [f"--{flag}={value}"]

        return {
            "packages": text("deps", ",".join(self.packages) or None),
            "mounts": [f"--mount={mount}" for mount in self.mounts],
            "network": [f"--allow-net={host}" for host in self.network],
            "timeout": seconds("timeout", self.timeout),
            "cpu_timeout": seconds("cpu-timeout", self.cpu_timeout),
            "session_timeout": seconds("session-timeout", self.session_timeout),
            "memory": text("memory", self.memory),
            "output_limit": text("output-limit", self.output_limit),
            "index": text("index", self.index),
            "find_links": [f"--find-links={place}" for place in self.find_links],
            "data_dir": text("data-dir", self.data_dir),
            "cache_dir": text("cache-dir", self.cache_dir),
            "offline": ["--offline"] if self.offline else [],
            "arguments": list(self.arguments),
        }


class Configured:
    """The constructor of sandboxes. `Sandbox` describes its arguments."""

    def __init__(
        self,
        *,
        packages: Sequence[str] = (),
        mounts: Sequence[str] = (),
        network: Sequence[str] = (),
        timeout: float | None = None,
        cpu_timeout: float | None = None,
        memory: str | int | None = None,
        output_limit: str | int | None = None,
        offline: bool = False,
        index: str | None = None,
        find_links: Sequence[str | os.PathLike[str]] = (),
        session_timeout: float | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        if not isinstance(offline, bool):
            raise TypeError(f"`offline` is True or False, not {offline!r}")
        self._settings = Settings(
            packages=_texts("packages", packages),
            mounts=tuple(_mount(mount) for mount in _texts("mounts", mounts)),
            network=_texts("network", network),
            timeout=check_seconds("timeout", timeout, TIME),
            cpu_timeout=check_seconds("cpu_timeout", cpu_timeout, TIME),
            memory=_bytes("memory", memory, MEMORY),
            output_limit=_bytes("output_limit", output_limit, OUTPUT),
            offline=offline,
            index=None if index is None else _text("index", index),
            find_links=tuple(_place(link) for link in _texts("find_links", find_links)),
            session_timeout=check_seconds("session_timeout", session_timeout, IDLE),
            data_dir=None if data_dir is None else _directory("data_dir", data_dir),
            cache_dir=None if cache_dir is None else _directory("cache_dir", cache_dir),
            arguments=_texts("arguments", arguments),
        )
        _check_with_binary(self._settings)

    def __init_subclass__(cls) -> None:
        """Gives the constructor the name of the class, which Python's message about a wrong argument has."""
        if Configured in cls.__bases__ and "__init__" not in vars(cls):
            shared = Configured.__init__
            own = types.FunctionType(shared.__code__, shared.__globals__, "__init__", None, shared.__closure__)
            own.__kwdefaults__, own.__annotations__ = shared.__kwdefaults__, shared.__annotations__
            own.__qualname__ = f"{cls.__qualname__}.__init__"
            setattr(cls, "__init__", own)  # noqa: B010


def check_seconds(name: str, value: object, allowed: tuple[float, float]) -> float | None:
    """Returns a time as a number; None stays None.

    Raises:
        TypeError: it is no number.
        ValueError: it is out of its range.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"`{name}` is a number of seconds, not {value!r}")
    least, most = allowed
    # An integer may be too large for a float.
    number = float(value) if not isinstance(value, int) else value
    if not least <= number <= most:
        raise ValueError(f"`{name}` must be from {least:g} to {most:.0f} seconds, not {_shown(value)}")
    return float(number)


def milliseconds(timeout: float | None) -> int | None:
    """Returns the time limit of one run, as the binary takes it.

    Raises:
        TypeError: it is no number.
        ValueError: it is out of its range.
    """
    seconds = check_seconds("timeout", timeout, TIME)
    return None if seconds is None else round(seconds * 1000)


def _bytes(name: str, value: object, allowed: tuple[int, int]) -> str | int | None:
    if value is None:
        return None
    if isinstance(value, str):
        found = size(value)
        if found is None:
            raise ValueError(f'`{name}` is a number of bytes, or a text such as "512MiB", not {value!r}')
    elif isinstance(value, numbers.Integral) and not isinstance(value, bool):
        found = value = int(value)
    else:
        raise TypeError(f'`{name}` is a number of bytes, or a text such as "512MiB", not {value!r}')
    least, most = allowed
    if not least <= found <= most:
        raise ValueError(f"`{name}` must be from {_size_text(least)} to {_size_text(most)}, not {_shown(value)}")
    return value


def size(text: str) -> int | None:
    """Returns the bytes that a text such as `1.5GiB` stands for; None if it is no size."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    unit = found[3].lower()
    factor = _FACTORS[unit[:1]][1 if "i" in unit else 0]
    fraction = (found[2] or "").ljust(12, "0")
    return int(found[1]) * factor + int(fraction) * factor // 10**12


def _shown(value: object) -> str:
    """Returns a value for a message. Python refuses to write integers of thousands of digits."""
    is_long = isinstance(value, int) and value.bit_length() > 64
    return "a number of more than 64 bits" if is_long else str(value)


def _size_text(number: int) -> str:
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if number >= 1024**power:
            return f"{number // 1024**power} {unit}"
    return f"{number} bytes"


def _texts(name: str, values: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    if isinstance(values, (str, bytes, os.PathLike)):
        raise TypeError(f"`{name}` is a list of texts, such as [{values!r}]")
    try:
        listed = list(values)
    except TypeError:
        raise TypeError(f"`{name}` is a list of texts, not {values!r}") from None
    return tuple(_text(name, value) for value in listed)


def _text(name: str, value: object) -> str:
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise TypeError(f"`{name}` has {value!r}, which is no text")
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError(f"`{name}` has a character that no program can be given: {text!r}") from None
    if b"\0" in encoded:
        raise ValueError(f"`{name}` has a NUL character: {text!r}")
    return text


def _place(link: str) -> str:
    """Returns a place of wheels: a URL, or an absolute path."""
    return link if "://" in link else os.path.abspath(link)


def _mount(mount: str) -> str:
    """Returns `HOST:GUEST[:ro]` with an absolute path of the host."""
    host, _, guest = mount.removesuffix(":ro").removesuffix(":rw").rpartition(":")
    return os.path.abspath(host) + mount[len(host) :] if host and guest else mount


def _directory(name: str, value: str | os.PathLike[str]) -> str:
    path = os.path.abspath(_text(name, value))
    if os.path.exists(path) and not os.path.isdir(path):
        raise ValueError(f"`{name}`: {path} is not a directory")
    return path


def _check_with_binary(settings: Settings) -> None:
    """Lets the binary check the texts that it alone understands."""
    options_of = settings.options()
    given = {
        name: tuple(options_of[name]) for name in ("packages", "mounts", "network", "index", "find_links", "arguments")
    }
    together = tuple(option for options in given.values() for option in options)
    refusal = _refusal(together) if together else None
    if refusal is None:
        return
    # Each alone, to name the wrong one.
    for name, options in given.items():
        reason = _refusal(options) if options else None
        if reason is not None:
            raise ValueError(f"`{name}`: {reason}")
    raise ValueError(refusal)


def _refusal(options: tuple[str, ...]) -> str | None:
    """Returns the binary's message about wrong options; None if they are right."""
    try:
        _check_options(options)
    except ValueError as error:
        return str(error)
    return None


@functools.lru_cache(maxsize=256)
def _check_options(options: tuple[str, ...]) -> None:
    """Lets the binary check options. Only right ones are remembered: a file that others name may exist later.

    Raises:
        ValueError: the options are wrong; the binary's message says why.
    """
    done = subprocess.run(
        [find_binary(), "pipe", "--check", *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env=environment(),
    )
    if done.returncode != 0:
        raise ValueError(without_usage(done.stderr) or f"exit status {done.returncode}")
