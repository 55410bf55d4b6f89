"""What became of a module of tests, and `outcomes.toml`, which stores it."""

import dataclasses
import fnmatch
import json
import pathlib
import re
import tomllib

CAUSES = tomllib.loads(pathlib.Path(__file__).with_name("causes.toml").read_text())["cause"]
UNEXPLAINED = "unexplained"
# A test that fails may end the interpreter the next time: memory errors do.
RANK = {"passed": 0, "skipped": 1, "failed": 2, "crashed": 2}


def cause_of(module, test, why):
    """The name of the first cause that fits."""
    for cause in CAUSES:
        patterns = [*cause.get("tests", {}).get(module, ()), *cause.get("left_out", {}).get(module, ())]
        if is_named(test, patterns) or re.search(cause.get("text", "(?!)"), f"{module} {why}"):
            return cause["name"]
    return UNEXPLAINED


def is_named(test, patterns):
    """Whether a test has one of the names: its last part, or a pattern of the whole."""
    last = test.rpartition(".")[2]
    return any(pattern in (last, test) or fnmatch.fnmatchcase(test, pattern) for pattern in patterns)


def left_out(module):
    """Patterns of the tests that do not run."""
    return [pattern for cause in CAUSES for pattern in cause.get("left_out", {}).get(module, ())]


@dataclasses.dataclass
class Outcome:
    """Tests that passed and were skipped, by number; those that failed, by cause; those that ended the interpreter."""

    passed: int = 0
    skipped: int = 0
    failed: dict = dataclasses.field(default_factory=dict)
    crashed: list = dataclasses.field(default_factory=list)
    #: Why the whole module is skipped, or how its crashes ended.
    why: str = ""

    @property
    def result(self):
        if self.crashed:
            return "crashed"
        if self.failed:
            return "failed"
        return "passed" if self.passed else "skipped"

    def note(self, module, tests):
        """Takes the outcomes of a run's tests."""
        results = [what for what, _ in tests.values()]
        self.passed, self.skipped = results.count("passed"), results.count("skipped")
        self.failed = {} if tests else self.failed
        for name, (what, why) in sorted(tests.items()):
            if what == "failed" and name not in self.crashed:
                self.failed.setdefault(cause_of(module, name, why), []).append(name)
        self.failed = dict(sorted(self.failed.items()))

    def note_module(self, module, what, why):
        """Takes what became of a module that cannot be imported."""
        if what == "failed":
            self.failed = {cause_of(module, "(import)", why): ["(import)"]}
        self.why = why.partition(" [")[0]

    def note_crash(self, test, last):
        """Takes the test that ran when the interpreter ended."""
        self.crashed.append(test)
        self.why = last[:200]

    def failures(self):
        """The tests that do not do what they should."""
        return {test for tests in self.failed.values() for test in tests} | set(self.crashed)

    def __str__(self):
        parts = [f"{self.passed} passed", f"{self.skipped} skipped"]
        parts += [f"{len(tests)} failed ({cause})" for cause, tests in self.failed.items()]
        parts += [f"{len(self.crashed)} crashed"] if self.crashed else []
        return f"{self.result}: {', '.join(parts)}"


def worse(module, before, now):
    """What is worse than it was, as lines. Tests that a cause names may end in other ways than last time."""
    if before is None:
        return
    new = now.failures() - before.failures()
    named = [pattern for cause in CAUSES for pattern in cause.get("tests", {}).get(module, ())]
    yield from sorted(test for test in new if not is_named(test, named))
    if not new and RANK[now.result] > RANK[before.result]:
        yield f"{now.result}, and it was {before.result}"
    elif now.passed < before.passed - len(new):
        yield f"{now.passed} tests pass, and {before.passed} did"


def load(path):
    """The stored outcomes by module."""
    if not path.exists():
        return {}
    modules = tomllib.loads(path.read_text()).get("module", {})
    for stored in modules.values():
        stored.pop("result")
    return {name: Outcome(**stored) for name, stored in modules.items()}


def dump(outcomes, version):
    """The text of `outcomes.toml`."""
    lines = [
        f"# What became of the modules of CPython {version}'s own tests in the sandbox. `run.py --record` writes this file.",
        "# `failed` has the tests by cause (causes.toml), `crashed` those that end the interpreter.",
    ]
    for name, outcome in sorted(outcomes.items()):
        lines += ["", f"[module.{name}]", f"result = {quoted(outcome.result)}"]
        lines += [f"passed = {outcome.passed}", f"skipped = {outcome.skipped}"]
        if outcome.why:
            lines.append(f"why = {quoted(outcome.why)}")
        if outcome.crashed:
            lines.append(f"crashed = {array(outcome.crashed)}")
        lines += [f"failed.{quoted(cause)} = {array(tests)}" for cause, tests in outcome.failed.items()]
    return "\n".join(lines) + "\n"


def array(names):
    text = ", ".join(quoted(name) for name in names)
    return f"[{text}]" if len(text) < 90 else "[\n" + "".join(f"    {quoted(name)},\n" for name in names) + "]"


def quoted(text):
    # A string of JSON without surrogates is one of TOML.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
