"""Usage: loops.py DIRECTORY: rewrites loops of LAPACK's C there that take long and that no compiler makes quick.

Sums over poles (?laed4, ?lasd4) go to `secular.h`. ?lasd3 goes through its matrices by column instead of by row, with the
same operations for each number in the same order.
"""

import re
import sys
from pathlib import Path

FROM_FIRST, FROM_LAST = r"j = 1; j <= i__1; \+\+j", r"j = \*n; j >= i__1; --j"
POLE = r"(?:delta\[j\]|\(\s*(?:work\[j\] \* delta\[j\]|delta\[j\] \* work\[j\])\s*\))"
SUMS = re.compile(
    rf"for \(({FROM_FIRST}|{FROM_LAST})\) \{{\s+temp = z__\[j\] / ({POLE});\s+(psi|phi) \+= z__\[j\] \* temp;"
    r"\s+(dpsi|dphi) \+= temp \* temp;\s+erretm \+= (psi|phi);\s+\}"
)
PLAIN = re.compile(rf"for \(({FROM_FIRST}|{FROM_LAST})\) \{{\s+(psi|phi) \+= z__\[j\] \* z__\[j\] / ({POLE});\s+\}}")
BY_ROW = re.compile(
    r"(?P<start>z__\[i__\] = u\[i__ \+ \*k \* u_dim1\] \* vt\[i__ \+ \*k \* vt_dim1\];)\s+"
    r"i__2 = i__ - 1;\s+for \(j = 1; j <= i__2; \+\+j\) \{(?P<below>[^}]*)\}\s+"
    r"i__2 = \*k - 1;\s+for \(j = i__; j <= i__2; \+\+j\) \{(?P<above>[^}]*)\}"
)


def call(kind, order, pole, totals):
    first, count = ("1", "i__1") if order.startswith("j = 1") else ("i__1", "*n - i__1 + 1")
    work = f"&work[{first}]" if "work" in pole else "0"
    return f"secular_{kind}({count}, &z__[{first}], &delta[{first}], {work}, {int(first != '1')}, {totals});"


def poles(kind, text):
    text, sums = SUMS.subn(lambda m: call(kind, m[1], m[2], f"&{m[3]}, &{m[4]}, &erretm"), text)
    unused = f"{'double' if kind == 'd' else 'float'} unused[2] = {{0, 0}};"
    text, plain = PLAIN.subn(lambda m: f"{{ {unused} {call(kind, m[1], m[3], f'&{m[2]}, unused, unused + 1')} }}", text)
    return '#include "secular.h"\n' + text, (sums, plain) == (9, 3)


def by_column(kind, text):
    def turned(match):
        return (
            f"{match['start']}\n    }}\n    i__2 = *k - 1;\n    for (j = 1; j <= i__2; ++j) {{\n"
            f"\tfor (i__ = 1; i__ <= j; ++i__) {{{match['above']}}}\n"
            f"\tfor (i__ = j + 1; i__ <= i__1; ++i__) {{{match['below']}}}\n    }}\n"
            "    for (i__ = 1; i__ <= i__1; ++i__) {"
        )

    text, count = BY_ROW.subn(turned, text)
    return text, count == 1


directory = Path(sys.argv[1])
for kind in "sd":
    for name, rewrite in {"laed4": poles, "lasd4": poles, "lasd3": by_column}.items():
        path = directory / f"{kind}{name}.c"
        text, expected = rewrite(kind, path.read_text())
        if not expected:
            sys.exit(f"{path}: its loops are not those expected")
        path.write_text(text)
