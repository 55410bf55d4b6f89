"""Evaluates cases, natively and in the sandbox alike: reads a JSON list of sources, writes a JSON list of what each gave.

A case is an expression, or statements with one at the end. What counts of it: its value as text with its types, what it prints, its
warnings, its exception. Each case begins in an empty directory and with numpy as it is after the import.
"""

import array
import ast
import base64
import collections
import contextlib
import copy
import csv
import datetime
import decimal
import fractions
import hashlib
import io
import json
import math
import operator
import os
import pickle
import pprint
import random
import re
import sqlite3
import statistics
import struct
import sys
import tempfile
import warnings
import zlib

import numpy as np
import numpy.lib.recfunctions
import pandas as pd

# What cases find by name.
MODULES = (
    (array, base64, collections, copy, csv, datetime, decimal, fractions, hashlib, io, json, math, operator, pickle)
    + (pprint, random, sqlite3, statistics, struct, sys, warnings, zlib)
)  # fmt: skip
# Digits of a float that are shown: libraries of mathematical functions may differ in the last ones.
DIGITS = {np.dtype(np.float32): 6, np.dtype(np.float16): 3}
ADDRESS = re.compile(r'\b0x[0-9a-f]{6,}')


def show(value):
    """A value as text."""
    if isinstance(value, (bool, np.bool_)):
        return f'{type(value).__name__} {value}'
    if isinstance(value, (float, np.floating)):
        digits = DIGITS.get(getattr(value, 'dtype', None), 12)
        return f'{type(value).__name__} {value:.{digits}g}'
    if isinstance(value, (complex, np.complexfloating)):
        return f'{type(value).__name__} {show(value.real)} {show(value.imag)}'
    if isinstance(value, np.dtype):
        return f'dtype {value}'
    if isinstance(value, np.generic):
        return f'{type(value).__name__} {value!r}'
    if isinstance(value, np.ndarray):
        if value.dtype in (np.float32, np.complex64):
            text = np.array2string(value, formatter={'float_kind': '{:.5g}'.format, 'complex_kind': '{:.5g}'.format})
            return f'array {value.dtype.str} {value.dtype} {value.shape} {text}'
        return f'array {value.dtype.str} {value.dtype} {value.shape} {value!r}'
    if isinstance(value, pd.DataFrame):
        return f'frame {list(map(str, value.dtypes))} index {value.index.dtype} columns {value.columns.dtype}\n{value.to_string()}'
    if isinstance(value, pd.Series):
        return f'series index {value.index.dtype}\n{value!r}'
    if isinstance(value, dict):
        return '{' + ', '.join(f'{show(key)}: {show(item)}' for key, item in value.items()) + '}'
    if isinstance(value, tuple) or type(value) is list:
        return f'{type(value).__name__}({", ".join(map(show, value))})'
    return f'{type(value).__name__} {ADDRESS.sub("0x", repr(value))}'


def run(source):
    """Runs a case; the value of the expression at its end as text, or nothing."""
    names = {module.__name__: module for module in MODULES} | {'np': np, 'pd': pd, 'show': show}
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, '<case>', 'exec'), names)
    if last is None:
        return []
    value = eval(compile(ast.Expression(last.value), '<case>', 'eval'), names)
    return [] if value is None else [show(value)]


def outcome(source):
    """What a case gives."""
    printed, lines = io.StringIO(), []
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter('always')
        # Takes back what the case sets.
        with np.printoptions(), np.errstate(call=None):
            try:
                lines += run(source)
            except Exception as error:
                lines.append(f'{type(error).__name__}: {ADDRESS.sub("0x", str(error))}')
    if printed.getvalue():
        lines.append(printed.getvalue())
    # Whether something was not closed is not known at once.
    told = [warning for warning in caught if warning.category is not ResourceWarning]
    lines += sorted({f'{warning.category.__name__}: {warning.message}' for warning in told})
    return '\n'.join(lines)


def main():
    with open(sys.argv[1]) as file:
        cases = json.load(file)
    outcomes = []
    for case in cases:
        with tempfile.TemporaryDirectory() as directory:
            os.chdir(directory)
            outcomes.append(outcome(case))
    json.dump(outcomes, sys.stdout)


if __name__ == '__main__':
    main()
