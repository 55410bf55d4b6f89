"""crate_licences.py <target> <Cargo.toml> <features, comma list> <directory of crates> <standard library> <output file>

The licences of all crates that are linked into an extension module, the standard library's among them: each text once, after
the crates that it is for. Where a crate offers MIT or another licence, MIT is taken.
"""

import os
import re
import subprocess
import sys

target, manifest, features, vendor, library, output = sys.argv[1:]


def linked(directory: str, *options: str) -> set[tuple[str, str, str]]:
    """Name, version and licence of each crate, without macros and build scripts."""
    command = [
        "cargo", "tree", "--locked", "--offline", "--target", target, "--edges", "normal,no-proc-macro",
        "--prefix", "none", "--no-dedupe", "--format", "{p}|{l}", *options,
    ]  # fmt: skip
    lines = subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout.splitlines()
    found = set()
    for line in lines:
        crate, _, licence = line.partition("|")
        name, version = crate.split()[:2]
        found.add((name, version.removeprefix("v"), licence))
    return found


def texts(directory: str, licence: str) -> list[str]:
    """The files of the licence that was chosen."""
    names = sorted(
        name for name in os.listdir(directory)
        if re.match(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)", name, re.IGNORECASE)
        and os.path.isfile(f"{directory}/{name}")
    )  # fmt: skip
    mit = [name for name in names if "MIT" in name.upper()]
    if mit and re.search(r"MIT( OR |/)|( OR |/)MIT", licence):
        names = mit + [name for name in names if "UNICODE" in name.upper()]
    return [open(f"{directory}/{name}", encoding="utf-8").read().strip() for name in names]


own = linked(".", "--manifest-path", manifest, *(["--features", features] if features else []))
standard = linked(library, "--package", "std", "--no-default-features", "--features", "panic-unwind")
by_text: dict[str, set[str]] = {}
for name, version, licence in sorted(own | standard):
    place = f"{vendor}/{name}-{version}"
    if os.path.isdir(place):
        found = texts(place, licence)
    elif (name, version, licence) in standard:
        found = texts(f"{library}/..", "MIT OR Apache-2.0")
    else:
        continue  # the package's own: the wheel has its licence
    # Some crates state their licence and have no file of it.
    for text in found or [f"(no file; the crate states: {licence})"]:
        by_text.setdefault(text, set()).add(f"{name} {version}")
os.makedirs(os.path.dirname(output), exist_ok=True)
with open(output, "w", encoding="utf-8") as file:
    for text, crates in sorted(by_text.items(), key=lambda item: sorted(item[1])):
        file.write(f"{', '.join(sorted(crates))}\n\n{text}\n\n{'-' * 72}\n\n")
print(f"{output}: {len(by_text)} texts")
