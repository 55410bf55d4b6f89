"""compare.py DIRECTORY: compares what the probes give in the sandbox with what they gave in native Python.

DIRECTORY is this one. Ends with status 1 when a probe differs that `differences.toml` does not list, when one that it lists does
not differ, and when `native.json` has other probes.
"""

import json
import os
import sys
import tomllib


def main(directory):
    sys.path.insert(0, directory)
    from evaluate import evaluate, lines

    with open(os.path.join(directory, "native.json"), encoding="ascii") as file:
        native = json.load(file)
    with open(os.path.join(directory, "differences.toml"), "rb") as file:
        listed = {probe for difference in tomllib.load(file)["difference"] for probe in difference["probes"]}
    probes = os.path.join(directory, "probes")
    sources = list(lines(os.path.join(probes, name) for name in sorted(os.listdir(probes))))
    wrong = 0
    if set(sources) != set(native):
        wrong += 1
        print("native.json is of other probes:", *set(sources) ^ set(native), sep="\n  ")
    for source in sources:
        here = evaluate(source)
        if (here != native.get(source)) != (source in listed):
            wrong += 1
            state = "does not differ, but is listed" if source in listed else "differs"
            print(f"{source} {state}:\n  natively {native.get(source)}\n  here     {here}")
    print(f"{len(sources)} probes, {len(listed)} listed, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    sys.set_int_max_str_digits(0)
    main(sys.argv[1])
