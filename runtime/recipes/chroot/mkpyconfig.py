"""mkpyconfig.py <native pyconfig.h> <_sysconfigdata of the target>: the target's pyconfig.h on stdout.

The published interpreter comes without headers, but its sysconfigdata holds every #define of its
pyconfig.h (merged with the Makefile's variables). The native file of the same CPython minor
version tells which names are #defines.
"""

import re
import runpy
import sys

template, sysconfigdata = sys.argv[1:]
values = runpy.run_path(sysconfigdata)["build_time_vars"]
unknown = []
with open(template) as lines:
    for line in lines:
        define = re.match(r"#define ([A-Z]\w+)( .*)?$", line)
        undef = re.match(r"/\* #undef ([A-Z]\w+) \*/$", line)
        if not (define or undef):
            print(line, end="")
            continue
        name = (define or undef)[1]
        value = values.get(name)
        if name not in values:
            unknown.append(name)
        # HAVE_DECL_* are tested by value; of the others, 0 stands for "not defined".
        if value is None or (value == 0 and not name.startswith("HAVE_DECL_")):
            print(f"/* #undef {name} */")
        else:
            print(f"#define {name} {value}")
print("left undefined, not in sysconfigdata:", *unknown, file=sys.stderr)
