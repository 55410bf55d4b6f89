"""Runs the upstream suites of the wheels in Rust in the sandbox and natively, and compares test by test.

    python3 tests/compat/rust/run_suites.py target/release/brumate [package ...] --native .venv/bin/python

The native Python has the same versions, and pytest. The tests come from the source archives that
`runtime/recipes/sources.sha256` pins. Prints the table of docs/science.md and every test whose outcome differs.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
RECIPES = REPOSITORY / "runtime/recipes"
#: Package: its source archive, the directory in it that has the tests, the tests, and what they require.
SUITES = {
    "rpds-py": ("rpds_py-2026.9.1", "", "tests", ""),
    "orjson": ("orjson-3.13.0", "", "test", "numpy,pandas,pytz,python-dateutil,faker,pendulum"),
    "tiktoken": ("tiktoken-0.14.0", "", "tests", "hypothesis"),
    "cryptography": (
        "cryptography-50.0.2",
        "",
        "tests",
        "cryptography-vectors==50.0.2,certifi,pretend,pytest-benchmark",
    ),
    "bcrypt": ("bcrypt-5.0.0", "", "tests", ""),
    "safetensors": ("safetensors-0.8.0", "bindings/python", "tests/test_handle.py", "numpy,fsspec"),
}
OUTCOMES = ("passed", "failed", "error", "crashed", "skipped", "xfailed", "xpassed")
LIMITS = ["--memory", "3GiB", "--files", "1GiB", "--output-limit", "64MiB"]


def outcomes(command, log, seconds):
    """The outcome of each test, and reasons."""
    with log.open("wb") as output:
        try:
            subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False, timeout=seconds)
        except subprocess.TimeoutExpired:
            output.write(f"not done after {seconds} s\n".encode())
    found, reasons, test, whole = {}, {}, "", False
    lines = log.read_text(errors="replace").splitlines() or ["no output"]
    for line in lines:
        event = json.loads(line[1:]) if line.startswith("@[") else [""]
        if event[0] == "test":
            test = event[1]
        elif event[0] == "outcome":
            found[event[1]], reasons[event[1]] = event[2:]
        elif event[0] == "done":
            whole = True
    if not whole:
        found[test], reasons[test] = "crashed", lines[-1]
    return found, reasons


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("brumate")
    parser.add_argument("packages", nargs="*")
    parser.add_argument("--native", required=True, help="a Python with the same packages, and pytest")
    parser.add_argument("--cache-dir", help="for brumate")
    parser.add_argument("--tiktoken-cache", help="directory with the vocabularies that tiktoken would download")
    parser.add_argument("--downloads", type=pathlib.Path, default=REPOSITORY / "target/recipes/dl")
    parser.add_argument("--minutes", type=int, default=60, help="longest time of one suite on one side")
    parser.add_argument(
        "--keep", type=pathlib.Path, default=REPOSITORY / "target/rust-suites", help="directory for logs"
    )
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    packages = arguments.packages or list(SUITES)
    archives = [f"{SUITES[package][0]}.tar.gz" for package in packages]
    fetch = [
        sys.executable,
        str(RECIPES / "fetch.py"),
        str(RECIPES / "sources.sha256"),
        str(arguments.downloads),
        *archives,
    ]
    subprocess.run(fetch, check=True, stdout=subprocess.DEVNULL)
    minutes = f"{arguments.minutes}m"
    for package in packages:
        archive, below, tests, requires = SUITES[package]
        with (
            tempfile.TemporaryDirectory() as directory,
            tarfile.open(arguments.downloads / f"{archive}.tar.gz") as source,
        ):
            # A copy without the sources of the package, which would be imported in its place.
            kept = (
                f"{archive}/{below}/".replace("//", "/") + tests,
                f"{archive}/{below}/".replace("//", "/") + "conftest.py",
            )
            source.extractall(directory, [m for m in source if m.name.startswith(kept)], filter="data")
            place = pathlib.Path(directory) / archive / below
            sandbox = [arguments.brumate, "exec", "--timeout", minutes, "--cpu-timeout", minutes, *LIMITS]
            sandbox += ["--cache-dir", arguments.cache_dir] if arguments.cache_dir else []
            sandbox += ["--deps", f"{package},pytest,{requires}".rstrip(",")]
            sandbox += ["--mount", f"{HERE.parent}:/compat:ro", "--mount", f"{place}:/t:ro"]
            if arguments.tiktoken_cache:
                sandbox += ["--mount", f"{arguments.tiktoken_cache}:/vocabularies:ro"]
                os.environ["TIKTOKEN_CACHE_DIR"] = arguments.tiktoken_cache
            runs = {"sandbox": (sandbox, "/t"), "native": ([arguments.native], str(place))}
            results = {}
            for host, (start, at) in runs.items():
                log = arguments.keep / f"{package}-{host}.log"
                command = [*start, str(HERE / "run_directory.py"), at, tests]
                results[host] = outcomes(command, log, arguments.minutes * 60 + 600)
                counts = collections.Counter(results[host][0].values())
                print(
                    f"| {package} | {host} | {' | '.join(str(counts[outcome]) for outcome in OUTCOMES)} |", flush=True
                )
        (ours, our_reasons), (theirs, their_reasons) = results["sandbox"], results["native"]
        for test in sorted(ours.keys() | theirs.keys()):
            if ours.get(test) != theirs.get(test):
                print(
                    f"    {test}\n        sandbox: {ours.get(test)} {our_reasons.get(test, '')}"
                    f"\n        native: {theirs.get(test)} {their_reasons.get(test, '')}"
                )


if __name__ == "__main__":
    main()
