"""evaluate.py FILE…: evaluates each line of the files as an expression, and prints JSON of what each gave.

A line is an expression of the standard library; blank lines and those that begin with `#` are passed over. Names of modules are
imported when they are met. What a line gives is its `repr`, else the exception's kind and text.
"""

import ast
import builtins
import importlib
import json
import sys
import warnings


class Names(dict):
    """Names of an expression: modules under their own names."""

    def __missing__(self, name):
        if hasattr(builtins, name):
            raise KeyError(name)
        self[name] = importlib.import_module(name)
        return self[name]


def lines(paths):
    """The expressions of the files, in their order."""
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if (text := line.strip()) and not text.startswith("#"):
                    yield text


def evaluate(source):
    """What the expression gives, as text."""
    names = Names(__builtins__=builtins)
    try:
        tree = ast.parse(source, mode="eval")
        # Code within a lambda or a comprehension looks names up in the globals without asking `Names`.
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and not hasattr(builtins, node.id):
                try:
                    names[node.id]
                except ImportError:
                    pass
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = eval(compile(tree, "<probe>", "eval"), names)
        return repr(value)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main():
    sys.set_int_max_str_digits(0)
    json.dump({source: evaluate(source) for source in lines(sys.argv[1:])}, sys.stdout, indent=0, ensure_ascii=True)
    print()


if __name__ == "__main__":
    main()
