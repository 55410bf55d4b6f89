"""run.py <file>: runs every `test_*` function of a file, each alone, and says how many passed.

`crates/brumate/tests/all/compat.rs` runs it in the sandbox with this directory at /compat. The files ask nothing of the
sandbox but what CPython on Linux has too, so most of them also pass there: `python3 run.py files.py`.
"""

import importlib
import os
import sys
import traceback


def main():
    path = sys.argv[1]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    module = importlib.import_module(os.path.basename(path).removesuffix(".py"))
    tests = {name: value for name, value in vars(module).items() if name.startswith("test_")}
    failed = 0
    for name, test in tests.items():
        # Before it runs, so that a crash has a name.
        print(name, flush=True)
        try:
            test()
        except Exception:
            failed += 1
            print(f"FAILED {name}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
    print(f"{len(tests) - failed} passed")
    sys.exit(1 if failed or not tests else 0)


if __name__ == "__main__":
    main()
