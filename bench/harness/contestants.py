"""Who is compared, and how each is started."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
MEASURE = BENCH / "inside" / "measure.py"
WHEELS = BENCH.parent / "runtime" / "wheels"
PYCACHE = BENCH.parent / "runtime" / "pycache-site.zip"


def archives(which):
    """What the Node contestant unpacks so that the modules of `which` can be imported: `plain`, `numpy` or `all`."""
    wheels = sorted(WHEELS.glob("*.whl"))
    if which == "plain":
        return []
    if which == "numpy":
        return [str(wheel) for wheel in wheels if wheel.name.startswith("numpy-")]
    return [str(path) for path in [*wheels, PYCACHE]]


@dataclass(frozen=True)
class Brumate:
    """The release build of this repository, with a cache directory that is warm."""

    binary: str
    cache: str
    name: str = "Brumate"

    def command(self, *arguments):
        # The programs together run longer than one call may by default.
        limits = ["--timeout", "1h", "--cpu-timeout", "1h"]
        return [self.binary, "--cache-dir", self.cache, *limits, *arguments]

    def execute(self, script, which="plain"):
        """Runs a script in a process of its own. Wheels come by import, so `which` does not matter."""
        return self.command("exec", str(script))

    def serve(self):
        """Answers requests of `measure.py`."""
        return self.command("exec", str(MEASURE))

    def stdio(self):
        """The MCP server."""
        return self.command("stdio")

    def warm_up(self):
        """Fills the cache, so that no measurement compiles."""
        subprocess.run(self.command("warmup"), check=True, stdout=subprocess.DEVNULL)

    def describe(self):
        return output([self.binary, "--version"])


@dataclass(frozen=True)
class Pyodide:
    """The npm package in Node."""

    package: str
    node: str = "node"
    name: str = "Pyodide in Node"

    def execute(self, script, which="plain"):
        return [self.node, str(BENCH / "node/exec.mjs"), self.package, str(script), *archives(which)]

    def serve(self):
        return [self.node, str(BENCH / "node/serve.mjs"), self.package, str(MEASURE)]

    def fresh(self):
        """A living process that makes an interpreter for each request."""
        return [self.node, str(BENCH / "node/fresh.mjs"), self.package]

    def describe(self):
        version = json.loads((Path(self.package) / "package.json").read_text())["version"]
        v8 = output([self.node, "-p", "process.versions.v8"])
        return f"Pyodide {version} in Node {output([self.node, '--version'])} (V8 {v8})"


@dataclass(frozen=True)
class Native:
    """A CPython of this host. Its own executable: a version manager's launcher would be measured with it."""

    executable: str
    name: str = "native CPython"

    @classmethod
    def find(cls, python):
        return cls(output([python, "-c", "import sys; print(sys.executable)"]))

    def execute(self, script, which="plain"):
        return [self.executable, str(script)]

    def serve(self):
        return [self.executable, str(MEASURE)]

    def describe(self):
        code = "import platform; print('CPython', platform.python_version(), 'by', platform.python_compiler())"
        return output([self.executable, "-c", code])


@dataclass(frozen=True)
class Contestants:
    """All of them, in the order in which they take turns."""

    brumate: Brumate
    pyodide: Pyodide
    native: Native

    def __iter__(self):
        return iter((self.brumate, self.pyodide, self.native))


def output(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
