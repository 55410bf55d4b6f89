"""Runs the upstream suites of scipy, scikit-learn, statsmodels and others in the sandbox and natively, and compares test by test.

    python3 tests/compat/science/run_suites.py target/release/brumate [suite or module ...] --native .venv/bin/python

The native Python has the versions of the bundle, and pytest. The bundle's wheels have no tests: these come from the source
archives that `runtime/recipes/sources.sha256` pins, with the patches of `runtime/recipes/patches/tests`. They are mounted beside
the packages; the native Python gets them where its package has none. Prints the table of docs/science.md and every test whose outcome
differs. With `--resume` a log in `--keep` that is whole is read instead of running the suite again.
"""

import argparse
import base64
import collections
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
RECIPES = REPOSITORY / "runtime/recipes"
SDISTS = {
    "scipy": "scipy-1.18.0.tar.gz",
    "scikit_learn": "scikit_learn-1.8.0.tar.gz",
    "statsmodels": "statsmodels-0.14.6.tar.gz",
    "zstandard": "zstandard-0.25.0.tar.gz",
    "pywavelets": "pywavelets-1.9.0.tar.gz",
    "lxml": "lxml-6.1.3.tar.gz",
    "shapely": "shapely-2.2.0.tar.gz",
    "h5py": "h5py-3.16.0.tar.gz",
}
# Where a source archive has the tests, and where they go; without an entry they are in the package itself.
TESTS = {
    "scikit_learn": ("sklearn/", "sklearn/"),
    "zstandard": ("tests/", "zstandard/tests/"),
    "pywavelets": ("pywt/", "pywt/"),
    "lxml": ("src/lxml/", "lxml/"),
    "shapely": ("src/shapely/", "shapely/"),
}
SUITES = {
    "scipy.linalg": ["scipy.linalg.tests"],
    "scipy.optimize": ["scipy.optimize.tests"],
    "scipy.integrate": ["scipy.integrate.tests"],
    "scipy.interpolate": ["scipy.interpolate.tests"],
    "scipy.signal": ["scipy.signal.tests"],
    "scipy.spatial": ["scipy.spatial.tests"],
    "scipy.stats": ["scipy.stats.tests"],
    "scipy.sparse": ["scipy.sparse.tests"],
    "scipy.sparse.linalg": ["scipy.sparse.linalg"],
    "scipy.sparse.csgraph": ["scipy.sparse.csgraph.tests"],
    "scipy.special": ["scipy.special.tests"],
    "scipy.ndimage": ["scipy.ndimage.tests"],
    "scipy.fft": ["scipy.fft"],
    "scipy.io": ["scipy.io"],
    "scipy, small packages": [
        "scipy.cluster",
        "scipy.constants",
        "scipy.datasets",
        "scipy.differentiate",
        "scipy.fftpack",
        "scipy.integrate._ivp",
        "scipy.optimize._trustregion_constr",
        "scipy.spatial.transform",
        "scipy._lib",
    ],
    "sklearn, linear models": ["sklearn.linear_model.tests"],
    "sklearn, GLM": ["sklearn.linear_model._glm"],
    "sklearn, trees": ["sklearn.tree"],
    "sklearn, forests": ["sklearn.ensemble.tests.test_forest"],
    "sklearn, boosting": [
        "sklearn.ensemble._hist_gradient_boosting",
        "sklearn.ensemble.tests.test_gradient_boosting",
        "sklearn.ensemble.tests.test_weight_boosting",
    ],
    "sklearn, other ensembles": [
        "sklearn.ensemble.tests.test_bagging",
        "sklearn.ensemble.tests.test_base",
        "sklearn.ensemble.tests.test_common",
        "sklearn.ensemble.tests.test_iforest",
        "sklearn.ensemble.tests.test_stacking",
        "sklearn.ensemble.tests.test_voting",
    ],
    "sklearn, clusters": ["sklearn.cluster"],
    "sklearn, decompositions": ["sklearn.decomposition", "sklearn.cross_decomposition"],
    "sklearn, pipelines": ["sklearn.tests.test_pipeline", "sklearn.compose"],
    "sklearn, model selection": ["sklearn.model_selection"],
    "sklearn, preprocessing": ["sklearn.preprocessing"],
    "sklearn, metrics": ["sklearn.metrics"],
    "sklearn, neighbors and svm": ["sklearn.neighbors", "sklearn.svm"],
    "sklearn, features": ["sklearn.feature_extraction", "sklearn.feature_selection", "sklearn.impute"],
    "sklearn, other models": [
        "sklearn.covariance",
        "sklearn.gaussian_process",
        "sklearn.manifold",
        "sklearn.mixture",
        "sklearn.neural_network",
        "sklearn.semi_supervised",
        "sklearn.inspection",
    ],
    "sklearn, datasets and utilities": [
        "sklearn.datasets",
        "sklearn.utils",
        "sklearn._loss",
        "sklearn.frozen",
        "sklearn.experimental",
    ],
    "sklearn, common tests": ["sklearn.tests"],
    "statsmodels, regression": ["statsmodels.regression"],
    "statsmodels, GLM": ["statsmodels.genmod"],
    "statsmodels, ARIMA": ["statsmodels.tsa.arima"],
    "statsmodels, time series": [
        "statsmodels.tsa.tests",
        "statsmodels.tsa.ardl",
        "statsmodels.tsa.base",
        "statsmodels.tsa.filters",
        "statsmodels.tsa.forecasting",
        "statsmodels.tsa.holtwinters",
        "statsmodels.tsa.innovations",
        "statsmodels.tsa.interp",
        "statsmodels.tsa.regime_switching",
        "statsmodels.tsa.stl",
        "statsmodels.tsa.vector_ar",
    ],
    "statsmodels, state space": ["statsmodels.tsa.statespace"],
    "statsmodels, discrete": ["statsmodels.discrete"],
    "statsmodels, stats": ["statsmodels.stats"],
    "statsmodels, base": [
        "statsmodels.base",
        "statsmodels.tools",
        "statsmodels.iolib",
        "statsmodels.formula",
        "statsmodels.compat",
    ],
    "statsmodels, other models": [
        "statsmodels.distributions",
        "statsmodels.duration",
        "statsmodels.emplike",
        "statsmodels.gam",
        "statsmodels.imputation",
        "statsmodels.miscmodels",
        "statsmodels.multivariate",
        "statsmodels.nonparametric",
        "statsmodels.othermod",
        "statsmodels.robust",
        "statsmodels.treatment",
    ],
    "zstandard": ["zstandard.tests"],
    "pywavelets": ["pywt.tests"],
    "lxml": ["lxml.tests", "lxml.html.tests"],
    "shapely": ["shapely.tests"],
    "h5py": ["h5py.tests"],
}
PACKAGES = sorted({modules[0].partition(".")[0] for modules in SUITES.values()})
# The project of a package of another name; what its tests want beside pytest and hypothesis.
PROJECTS = {"sklearn": "scikit_learn", "pywt": "pywavelets"}
MORE = {"statsmodels": ["scikit-learn"], "lxml": ["cssselect", "html5lib", "beautifulsoup4", "lxml-html-clean"]}
HOSTS = ("sandbox", "native")
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


def patched(sdist, tests):
    """These tests, changed as the patch of the archive wants it, if there is one."""
    patch = RECIPES / "patches/tests" / sdist.replace(".tar.gz", ".patch")
    if not patch.exists():
        return tests
    with tempfile.TemporaryDirectory() as directory:
        places = {name: pathlib.Path(directory, name) for name in re.findall(r"(?m)^\+\+\+ b/(.*)", patch.read_text())}
        for name, place in places.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(tests[name])
        subprocess.run(["git", "apply", patch], cwd=directory, env=os.environ | {"GIT_DIR": "none"}, check=True)
        return tests | {name: place.read_bytes() for name, place in places.items()}


def tables(sdist, python, directory):
    """The tables of `scipy.special`'s tests, which its build makes of text files, made natively as the build does it."""
    root = "scipy/special/"
    with tarfile.open(sdist) as archive:
        wanted = [member for member in archive if re.match(rf"[^/]+/{root}(utils/makenpz.py|tests/data/)", member.name)]
        archive.extractall(directory, wanted, filter="data")
    (special,) = directory.glob(f"*/{root}")
    found = {}
    for folder in ("boost", "gsl", "local"):
        subprocess.run([python, str(special / "utils/makenpz.py"), folder, "-o", str(directory)], check=True)
        found[f"{root}tests/data/{folder}.npz"] = (directory / f"{folder}.npz").read_bytes()
    return found


def mounts(project, tests, directory):
    """Writes these tests below a directory; returns the options that mount them where `suite.py` looks for them."""
    for name, data in tests.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    # pytest takes the directories above the tests for packages, and looks there for what the tests are given.
    (wheel,) = (REPOSITORY / "runtime/wheels").glob(f"{project}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        there = set(archive.namelist())
        for place in {name[: name.index("tests/")] for name in tests}:
            for above in pathlib.PurePath(place, "tests").parents:
                if above.name:
                    (directory / above / "__init__.py").touch()
                if f"{above}/conftest.py" in there:
                    archive.extract(f"{above}/conftest.py", directory)
    return ["--mount", f"{directory}:/upstream:ro"]


def install(python, tests):
    """Puts what is missing of these tests into the native site-packages."""
    answer = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    for name, data in tests.items():
        path = pathlib.Path(answer.stdout.strip()) / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def record(command, log, seconds):
    """Writes what a suite prints."""
    with log.open("wb") as output:
        try:
            subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False, timeout=seconds)
        except subprocess.TimeoutExpired:
            output.write(f"not done after {seconds} s\n".encode())


def is_whole(log):
    return log.exists() and b'@["done"]\n' in log.read_bytes()


def outcomes(command, log):
    """The outcome of each test, and reasons."""
    lines = log.read_text(errors="replace").splitlines() or ["no output"]
    found, reasons, module, test, whole = {}, {}, command[-1], None, False
    for line in lines:
        event = json.loads(line[1:]) if line.startswith("@[") else [""]
        if event[0] == "file":
            module, test = event[1], None
        elif event[0] == "test":
            test = event[1]
        elif event[0] == "outcome":
            found[name(module, event[1])], reasons[name(module, event[1])] = event[2:]
        elif event[0] == "done":
            whole = True
    if not whole:
        found[name(module, test or "")] = "crashed"
        reasons[name(module, test or "")] = lines[-1]
    return found, reasons


def name(module, test):
    """A test's name, which pytest gives below the module or the place that the package is at."""
    test = re.sub(rf"^.*?(?=({'|'.join(PACKAGES)})/)", "", test)
    return test if test.startswith(module.replace(".", "/")) else f"{module} {test}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("brumate")
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--native", required=True, help="a Python with the same packages, and pytest")
    parser.add_argument("--downloads", type=pathlib.Path, default=REPOSITORY / "target/recipes/dl")
    parser.add_argument("--minutes", type=int, default=180, help="longest time of one suite on one side")
    parser.add_argument("--only", choices=HOSTS, help="run there; of the other place, read the log that there is")
    parser.add_argument("--resume", action="store_true", help="read whole logs in --keep, run what has none")
    parser.add_argument(
        "--keep", type=pathlib.Path, default=REPOSITORY / "target/science-suites", help="directory for logs and wheels"
    )
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        for suite in arguments.suites or SUITES:
            modules = SUITES.get(suite, [suite])
            package = modules[0].partition(".")[0]
            project = PROJECTS.get(package, package)
            downloads, sdist = arguments.downloads, SDISTS[project]
            fetch = [sys.executable, RECIPES / "fetch.py", RECIPES / "sources.sha256", downloads, sdist]
            subprocess.run(fetch, check=True, stdout=subprocess.DEVNULL)
            tests = patched(sdist, tests_of(project, downloads / sdist))
            if project == "scipy":
                with tempfile.TemporaryDirectory() as scratch:
                    tests |= tables(downloads / sdist, arguments.native, pathlib.Path(scratch))
            mounted = mounts(project, tests, pathlib.Path(directory, suite))
            install(arguments.native, tests)
            deps = [
                "--deps",
                ",".join([project.replace("_", "-"), "pytest", "hypothesis", "pytest-timeout", *MORE.get(project, [])]),
            ]
            mount = ["--mount", f"{HERE.parent}:/compat:ro"]
            times = ["--timeout", f"{arguments.minutes}m", "--cpu-timeout", f"{arguments.minutes}m"]
            sandbox = [
                arguments.brumate,
                "exec",
                *times,
                *LIMITS,
                *deps,
                *mount,
                *mounted,
            ]
            results = {}
            for host, start in {"sandbox": sandbox, "native": [arguments.native]}.items():
                log = arguments.keep / f"{suite}-{host}.log"
                command = [*start, str(HERE / "run_modules.py"), *modules]
                if arguments.only in (None, host) and not (arguments.resume and is_whole(log)):
                    record(command, log, arguments.minutes * 60 + 600)
                if not log.exists():
                    continue
                results[host] = outcomes(command, log)
                counts = collections.Counter(results[host][0].values())
                print(f"| {suite} | {host} | {' | '.join(str(counts[outcome]) for outcome in OUTCOMES)} |", flush=True)
            if len(results) < len(HOSTS):
                continue
            (ours, our_reasons), (theirs, their_reasons) = results["sandbox"], results["native"]
            for test in sorted(ours.keys() | theirs.keys()):
                if ours.get(test) != theirs.get(test):
                    print(
                        f"    {test}\n        sandbox: {ours.get(test)} {our_reasons.get(test, '')}"
                        f"\n        native: {theirs.get(test)} {their_reasons.get(test, '')}"
                    )


if __name__ == "__main__":
    main()
