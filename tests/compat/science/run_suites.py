"""Runs the upstream suites of the packages of `runtime/optional` in the sandbox and natively, and compares test by test.

    python3 tests/compat/science/run_suites.py target/release/brumate [suite or module ...] --native .venv/bin/python

The native Python has the versions of `runtime/optional`, and pytest. The wheels there have no tests: these come from the
source archives that `runtime/recipes/optional.sha256` pins, and a copy of each wheel gets them; so does the native Python where
its package has none. Prints the table of docs/science.md and every test whose outcome differs.
"""

import argparse
import base64
import collections
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
OPTIONAL = REPOSITORY / "runtime/optional"
RECIPES = REPOSITORY / "runtime/recipes"
SDISTS = {
    "scipy": "scipy-1.18.0.tar.gz",
    "scikit_learn": "scikit_learn-1.8.0.tar.gz",
    "statsmodels": "statsmodels-0.14.6.tar.gz",
    "zstandard": "zstandard-0.25.0.tar.gz",
    "pywavelets": "pywavelets-1.9.0.tar.gz",
    "lxml": "lxml-6.1.3.tar.gz",
}
# Where a source archive has the tests, and where they go; without an entry they are in the package itself.
TESTS = {
    "scikit_learn": ("sklearn/", "sklearn/"),
    "zstandard": ("tests/", "zstandard/tests/"),
    "pywavelets": ("pywt/", "pywt/"),
    "lxml": ("src/lxml/", "lxml/"),
}
SUITES = {
    "scipy.linalg": ["scipy.linalg.tests"],
    "scipy.integrate": ["scipy.integrate.tests"],
    "scipy.interpolate": ["scipy.interpolate.tests"],
    "scipy.optimize": ["scipy.optimize.tests"],
    "scipy.sparse": ["scipy.sparse.tests", "scipy.sparse.linalg", "scipy.sparse.csgraph.tests"],
    "scipy.spatial": ["scipy.spatial.tests", "scipy.cluster.tests"],
    "scipy.signal": ["scipy.signal.tests"],
    "scipy.stats": ["scipy.stats.tests"],
    "scipy.special": ["scipy.special.tests"],
    "scipy.ndimage, fft, io": ["scipy.ndimage.tests", "scipy.fft.tests", "scipy.io.tests"],
    "sklearn, linear models": ["sklearn.linear_model.tests"],
    "sklearn, trees and ensembles": ["sklearn.tree.tests", "sklearn.ensemble.tests"],
    "sklearn, clusters and decompositions": ["sklearn.cluster.tests", "sklearn.decomposition.tests"],
    "sklearn, pipelines and models": ["sklearn.tests.test_pipeline", "sklearn.model_selection.tests", "sklearn.preprocessing.tests"],
    "statsmodels, regression and GLM": ["statsmodels.regression.tests", "statsmodels.genmod.tests"],
    "statsmodels, time series": ["statsmodels.tsa.tests", "statsmodels.tsa.arima.tests"],
    "zstandard": ["zstandard.tests"],
    "pywavelets": ["pywt.tests"],
    "lxml": ["lxml.tests", "lxml.html.tests"],
}
# The project of a package of another name; what its tests want beside pytest and hypothesis.
PROJECTS = {"sklearn": "scikit_learn", "pywt": "pywavelets"}
MORE = {"statsmodels": ["scikit-learn"], "lxml": ["cssselect", "html5lib", "beautifulsoup4", "lxml-html-clean"]}
OUTCOMES = ("passed", "failed", "error", "crashed", "skipped", "xfailed", "xpassed")
LIMITS = ["--memory", "3GiB", "--files", "1GiB", "--output-limit", "64MiB"]


def tests_of(project, sdist):
    """The tests in a source archive, by where they belong in site-packages."""
    root, place = TESTS.get(project, (f"{project}/", f"{project}/"))
    found = {}
    with tarfile.open(sdist) as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            if member.isfile() and name.startswith(root) and "tests/" in name:
                found[place + name.removeprefix(root)] = archive.extractfile(member).read()
    return found


def with_tests(project, tests, directory):
    """A copy of the optional wheel with these tests."""
    (wheel,) = OPTIONAL.glob(f"{project}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist() if not info.is_dir()} | tests
    (record,) = [name for name in members if name.endswith(".dist-info/RECORD")]
    del members[record]
    digests = {name: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() for name, data in members.items()}
    lines = [f"{name},sha256={digests[name]},{len(data)}" for name, data in members.items()]
    members[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with zipfile.ZipFile(directory / wheel.name, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def install(python, tests):
    """Puts what is missing of these tests into the native site-packages."""
    answer = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"], check=True, capture_output=True, text=True)
    for name, data in tests.items():
        path = pathlib.Path(answer.stdout.strip()) / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def outcomes(command, log, seconds):
    """The outcome of each test, and reasons."""
    with log.open("wb") as output:
        try:
            subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False, timeout=seconds)
        except subprocess.TimeoutExpired:
            output.write(f"not done after {seconds} s\n".encode())
    lines = log.read_text(errors="replace").splitlines() or ["no output"]
    found, reasons, test, whole = {}, {}, None, False
    for line in lines:
        event = json.loads(line[1:]) if line.startswith("@[") else [""]
        if event[0] == "test":
            test = event[1]
        elif event[0] == "outcome":
            found[name(event[1])], reasons[name(event[1])] = event[2:]
        elif event[0] == "done":
            whole = True
    if not whole:
        found[name(test or command[-1])] = "crashed"
        reasons[name(test or command[-1])] = lines[-1]
    return found, reasons


def name(test):
    """A test's name without the place that its package is at."""
    return re.sub(r"^.*?(?=(scipy|sklearn|statsmodels|zstandard|pywt|lxml)/)", "", test)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("brumate")
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--native", required=True, help="a Python with the same packages, and pytest")
    parser.add_argument("--downloads", type=pathlib.Path, default=REPOSITORY / "target/recipes/dl-optional")
    parser.add_argument("--minutes", type=int, default=180, help="longest time of one suite on one side")
    parser.add_argument("--keep", type=pathlib.Path, default=REPOSITORY / "target/science-suites", help="directory for logs and wheels")
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        for suite in arguments.suites or SUITES:
            modules = SUITES.get(suite, [suite])
            package = modules[0].partition(".")[0]
            project = PROJECTS.get(package, package)
            fetch = [sys.executable, str(RECIPES / "fetch.py"), str(RECIPES / "optional.sha256"), str(arguments.downloads), SDISTS[project]]
            subprocess.run(fetch, check=True, stdout=subprocess.DEVNULL)
            tests = tests_of(project, arguments.downloads / SDISTS[project])
            with_tests(project, tests, pathlib.Path(directory))
            install(arguments.native, tests)
            deps = ["--deps", ",".join([project.replace("_", "-"), "pytest", "hypothesis", "pytest-timeout", *MORE.get(project, [])])]
            mount = ["--mount", f"{HERE.parent}:/compat:ro"]
            times = ["--timeout", f"{arguments.minutes}m", "--cpu-timeout", f"{arguments.minutes}m"]
            sandbox = [arguments.brumate, "exec", *times, *LIMITS, "--find-links", directory, "--find-links", str(OPTIONAL), *deps, *mount]
            results = {}
            for host, start in {"sandbox": sandbox, "native": [arguments.native]}.items():
                log = arguments.keep / f"{suite}-{host}.log"
                results[host] = outcomes([*start, str(HERE / "run_modules.py"), *modules], log, arguments.minutes * 60 + 600)
                counts = collections.Counter(results[host][0].values())
                print(f"| {suite} | {host} | {' | '.join(str(counts[outcome]) for outcome in OUTCOMES)} |", flush=True)
            (ours, our_reasons), (theirs, their_reasons) = results["sandbox"], results["native"]
            for test in sorted(ours.keys() | theirs.keys()):
                if ours.get(test) != theirs.get(test):
                    print(f"    {test}\n        sandbox: {ours.get(test)} {our_reasons.get(test, '')}"
                          f"\n        native: {theirs.get(test)} {their_reasons.get(test, '')}")


if __name__ == "__main__":
    main()
