"""Evaluates cases, natively and in the sandbox alike: reads a JSON list of sources, writes a JSON list of what each gave.

A case is an expression or a program. What counts of it: its value as text with its types, what it prints, its warnings, its exception.
"""

import contextlib
import io
import json
import sys
import warnings

import numpy as np
import pandas as pd


def show(value):
    """A value as text. Floats have 12 digits: libraries of mathematical functions may differ in the last ones."""
    if isinstance(value, (bool, np.bool_)):
        return f'{type(value).__name__} {value}'
    if isinstance(value, (float, np.floating)):
        return f'{type(value).__name__} {value:.12g}' if np.isfinite(value) else f'{type(value).__name__} {value}'
    if isinstance(value, (complex, np.complexfloating)):
        return f'{type(value).__name__} {show(value.real)} {show(value.imag)}'
    if isinstance(value, np.dtype):
        return f'dtype {value}'
    if isinstance(value, np.generic):
        return f'{type(value).__name__} {value!r}'
    if isinstance(value, np.ndarray):
        if value.dtype in (np.float32, np.complex64):
            with np.printoptions(precision=6):
                return f'array {value.dtype.str} {value.dtype} {value.shape} {value!r}'
        return f'array {value.dtype.str} {value.dtype} {value.shape} {value!r}'
    if isinstance(value, pd.DataFrame):
        return f'frame {list(map(str, value.dtypes))} index {value.index.dtype} columns {value.columns.dtype}\n{value.to_string()}'
    if isinstance(value, pd.Series):
        return f'series index {value.index.dtype}\n{value!r}'
    if isinstance(value, dict):
        return '{' + ', '.join(f'{show(key)}: {show(item)}' for key, item in value.items()) + '}'
    if isinstance(value, tuple) or type(value) is list:
        return f'{type(value).__name__}({", ".join(map(show, value))})'
    return f'{type(value).__name__} {value!r}'


def outcome(source):
    """What a case gives."""
    printed = io.StringIO()
    names = {'np': np, 'pd': pd, 'json': json, 'io': io, 'show': show}
    lines = []
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter('always')
        try:
            try:
                code = compile(source, '<case>', 'eval')
            except SyntaxError:
                exec(compile(source, '<case>', 'exec'), names)
            else:
                lines.append(show(eval(code, names)))
        except Exception as error:
            lines.append(f'{type(error).__name__}: {error}')
    if printed.getvalue():
        lines.append(printed.getvalue())
    lines += sorted({f'{warning.category.__name__}: {warning.message}' for warning in caught})
    return '\n'.join(lines)


if __name__ == '__main__':
    with open(sys.argv[1]) as file:
        cases = json.load(file)
    json.dump([outcome(case) for case in cases], sys.stdout)
