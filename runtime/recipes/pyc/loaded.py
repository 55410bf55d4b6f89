"""Makes `compact.txt`, the modules whose bytecode a compact bundle keeps, and `native.txt`, the native modules that a run waits for.

    for modules in "IPython" "sklearn.linear_model …" …; do brumate exec loaded.py $modules; done | sort -u > compact.txt
    brumate exec loaded.py --native matplotlib.pyplot sklearn.linear_model sklearn.ensemble sklearn.model_selection \\
        sklearn.preprocessing sklearn.metrics sklearn.pipeline | sort > native.txt

Prints the files of the modules that importing the arguments loads, also of wheels that bring their own bytecode, as numpy's: paths in
site-packages, of native modules without their suffix.
"""

import importlib
import sys

SITE = "/site-packages/"

arguments = sys.argv[1:]
native = "--native" in arguments
for name in arguments:
    if name != "--native":
        importlib.import_module(name)
for module in list(sys.modules.values()):
    path = getattr(module, "__file__", None) or ""
    if SITE in path and path.endswith(".so" if native else ".py"):
        path = path.split(SITE)[1]
        print(path.partition(".cpython")[0] if native else path)
