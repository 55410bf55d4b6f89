"""Makes `compact.txt`: the modules whose bytecode a compact bundle keeps, one path in site-packages a line.

    for modules in "IPython" "sklearn.linear_model …" …; do brumate exec loaded.py $modules; done | sort -u > compact.txt

Prints the files of the modules that importing the arguments loads, also of wheels that bring their own bytecode, as numpy's.
"""

import importlib
import sys

SITE = "/site-packages/"

for name in sys.argv[1:]:
    importlib.import_module(name)
for module in list(sys.modules.values()):
    path = getattr(module, "__file__", None) or ""
    if SITE in path and path.endswith(".py"):
        print(path.split(SITE)[1])
