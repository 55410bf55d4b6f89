"""Source text to code objects."""

from .pristine import __builtins__

import __future__
import ast
import inspect
import linecache

from . import source_encoding

_TOP_LEVEL_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_ONLY_AST = ast.PyCF_ONLY_AST
_COROUTINE = inspect.CO_COROUTINE
_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag
del _name

_Expr = ast.Expr
_Expression = ast.Expression
_compile = compile
_cache = linecache.cache


class Program:
    """One compiled source text.

    `body` are all statements but a final expression, `last` is that expression (either may be None). `wanted` tells
    whether its value is the result: a trailing semicolon says no, as in IPython.
    """

    __slots__ = ("file_name", "text", "body", "last", "wanted", "needs_loop", "futures", "data")

    def __init__(self, file_name, text):
        """`text` may be bytes of a file; what they are encoded in is found out when they are compiled."""
        self.file_name = file_name
        self.data = None
        if type(text) is bytes:
            self.data, text = text, text.decode("utf-8", "replace")
        self.text = text[1:] if text[:1] == "\ufeff" else text
        self.body = self.last = None
        self.wanted = True
        self.needs_loop = False
        self.futures = 0

    def compile(self, script, futures=0):
        """Compiles the text, with the `__future__` features `futures`; raises what `compile` raises."""
        if self.data is not None:
            self.text = source_encoding.decode(self.data, self.file_name)
            self.register()
        try:
            self._compile(script, futures)
        except SyntaxError as error:
            # Found after parsing: the compiler would read the line from the file, and there is none.
            if error.text is None and error.filename == self.file_name and error.lineno:
                error.text = "".join(lines_of(self.text)[error.lineno - 1 : error.lineno])
            raise

    def _compile(self, script, futures):
        flags = _TOP_LEVEL_AWAIT | futures
        name = self.file_name
        if script:
            self.body = _compile(self.text, name, "exec", flags, True)
        else:
            tree = _compile(self.text, name, "exec", flags | _ONLY_AST, True)
            statements = tree.body
            if statements and type(statements[-1]) is _Expr:
                final = statements.pop()
                self.wanted = not self._ends_in_semicolon(final)
                if statements:
                    self.body = _compile(tree, name, "exec", flags, True)
                    flags |= self.body.co_flags & _FUTURES
                self.last = _compile(_Expression(final.value), name, "eval", flags, True)
            else:
                self.body = _compile(tree, name, "exec", flags, True)
        code_flags = (self.body.co_flags if self.body else 0) | (self.last.co_flags if self.last else 0)
        self.needs_loop = code_flags & _COROUTINE != 0
        self.futures = code_flags & _FUTURES

    def _ends_in_semicolon(self, final):
        if ";" not in self.text:
            return False
        lines = lines_of(self.text)[final.end_lineno - 1 :]
        lines[0] = lines[0].encode("utf-8", "surrogatepass")[final.end_col_offset :].decode("utf-8", "surrogatepass")
        return "".join(lines).lstrip(" \t\f\\\n")[:1] == ";"

    def content(self):
        """Returns the content of a file with the text."""
        return self.text.encode("utf-8", "surrogatepass") if self.data is None else self.data

    def register(self):
        """Lets linecache (hence tracebacks, warnings, `inspect.getsource`) find the text."""
        _cache[self.file_name] = (len(self.text), None, lines_of(self.text), self.file_name)


def lines_of(text):
    """The lines of `text` as the compiler counts them (`str.splitlines` also splits at form feeds and more)."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = [line + "\n" for line in text.split("\n")]
    if lines[-1] == "\n":
        lines.pop()
    return lines


def is_coroutine(code):
    """Whether evaluating `code` gives a coroutine to await."""
    return code.co_flags & _COROUTINE != 0
