"""What a shell remembers: variables, functions, arguments, options, and where it is."""

import os
import time

from _brumate.programs import Surroundings, directory
from brumate_shell.streams import Refused

_NAMES_OF_OPTIONS = {
    "e": "errexit", "u": "nounset", "x": "xtrace", "f": "noglob", "v": "verbose", "C": "noclobber", "a": "allexport",
    "E": "errtrace", "T": "functrace", "h": "hashall", "B": "braceexpand", "m": "monitor", "n": "noexec",
}  # fmt: skip
# Options that change nothing here.
_WITHOUT_EFFECT = frozenset(
    ("verbose", "errtrace", "functrace", "hashall", "braceexpand", "posix", "history", "vi", "emacs")
)
_KNOWN = frozenset(("errexit", "nounset", "xtrace", "noglob", "noclobber", "allexport", "pipefail"))


class Array(dict):
    """An array's elements by index; an associative one has texts for indexes."""

    associative = False

    def values_in_order(self):
        return [self[key] for key in self.keys_in_order()]

    def keys_in_order(self):
        return list(self) if self.associative else sorted(self)

    def copy(self):
        other = type(self)(self)
        other.associative = self.associative
        return other


class Fatal(Refused):
    """An error that ends the script: a variable that is not set under `set -u`, `${name:?text}`, a sum that fails."""


class State:
    """Variables that are exported are in `os.environ`; the others are here."""

    def __init__(self):
        self.own = {}
        self.readonly = set()
        self.integers = set()
        self.functions = {}
        self.name = "bash"
        self.arguments = []
        self.options = set()
        self.extras = set()  # of `shopt`
        self.status = 0
        self.frames = []  # of functions: what their local names meant outside
        self.started = time.time()
        self.words_of_getopts = None
        self.directories = []

    # Variables.

    def get(self, name):
        """A variable's value: a text, an [`Array`], or None."""
        value = self.own.get(name)
        if value is not None:
            return value
        value = os.environ.get(name)
        return self._special(name) if value is None or name == "PWD" else value

    def _special(self, name):
        if name == "PWD":
            return directory()
        if name == "RANDOM":
            import random

            return str(random.randrange(32768))
        if name == "SECONDS":
            return str(int(time.time() - self.started))
        if name in ("UID", "EUID"):
            return "0"
        if name == "EPOCHSECONDS":
            return str(int(time.time()))
        return "sandbox" if name == "HOSTNAME" else None

    def text(self, name):
        """A variable as one text: the first element of an array; None when it is not set."""
        value = self.get(name)
        return value.get("0" if value.associative else 0) if isinstance(value, Array) else value

    def set(self, name, value):
        if name in self.readonly:
            raise Refused(f"{name}: readonly variable")
        if name in self.integers and type(value) is str:
            from .arithmetic import calculate

            value = str(calculate(value, self))
        present = self.own.get(name)
        if isinstance(present, Array) and type(value) is str:
            present["0" if present.associative else 0] = value
        elif type(value) is str and name not in self.own and (name in os.environ or "allexport" in self.options):
            os.environ[name] = value
        else:
            self.own[name] = value

    def set_element(self, name, index, value):
        """Sets one element; the index is a text, which is calculated unless the array is associative."""
        if name in self.readonly:
            raise Refused(f"{name}: readonly variable")
        array = self.own.get(name)
        if not isinstance(array, Array):
            before = self.get(name)
            array = Array({} if before is None else {0: before})
            self.own[name] = array
            os.environ.pop(name, None)
        array[self.key(array, index)] = value

    def key(self, array, index):
        if array.associative:
            return index
        from .arithmetic import calculate

        number = calculate(index, self)
        if number < 0:
            number += max(array, default=-1) + 1
            if number < 0:
                raise Refused(f"[{index}]: bad array subscript")
        return number

    def unset(self, name):
        if name in self.readonly:
            raise Refused(f"{name}: cannot unset: readonly variable")
        self.own.pop(name, None)
        self.integers.discard(name)
        os.environ.pop(name, None)

    def export(self, name):
        value = self.own.get(name)
        if type(value) is str:
            del self.own[name]
            os.environ[name] = value

    def make_local(self, name):
        """Gives a name back what it means now when the function ends."""
        frame = self.frames[-1]
        if name not in frame:
            frame[name] = (self.own.get(name), os.environ.get(name), name in self.integers)
        self.own.pop(name, None)
        os.environ.pop(name, None)

    def leave_function(self):
        for name, (own, exported, integer) in self.frames.pop().items():
            self.own.pop(name, None)
            os.environ.pop(name, None)
            (self.integers.add if integer else self.integers.discard)(name)
            if own is not None:
                self.own[name] = own
            if exported is not None:
                os.environ[name] = exported

    # Options.

    def set_option(self, letter, on):
        if letter not in _NAMES_OF_OPTIONS:
            raise Refused(f"set: the option {letter} is not supported here", 2)
        self.set_long_option(_NAMES_OF_OPTIONS[letter], on)

    def set_long_option(self, name, on):
        if name in _KNOWN:
            (self.options.add if on else self.options.discard)(name)
        elif name not in _WITHOUT_EFFECT and on:
            raise Refused(f"set: the option {name} is not supported here", 2)

    # Subshells.

    def saved(self):
        """All of it, for [`restore`]."""
        own = {name: value.copy() if isinstance(value, Array) else value for name, value in self.own.items()}
        return (
            own, set(self.readonly), set(self.integers), dict(self.functions), list(self.arguments),
            set(self.options), set(self.extras), list(self.directories), Surroundings(),
        )  # fmt: skip

    def restore(self, saved):
        (
            self.own, self.readonly, self.integers, self.functions, self.arguments,
            self.options, self.extras, self.directories, surroundings,
        ) = saved  # fmt: skip
        surroundings.give_back()
