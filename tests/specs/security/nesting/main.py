"""Deep nesting of data, source text, exceptions and objects.

What CPython bounds ends as an exception; what it does not bound may end the machine.
"""

import sys

DEEP = 200_000


def nest(kind, levels=DEEP):
    """A container in a container in a container …"""
    value = kind()
    for _ in range(levels):
        value = kind((value,))
    return value


def represent():
    repr(nest(list))


def represent_dict():
    value = {}
    for _ in range(DEEP):
        value = {1: value}
    str(value)


def compare():
    nest(list) == nest(list)


def hashing():
    hash(nest(tuple))
    print("ok")


def json_dumps():
    import json

    json.dumps(nest(list))


def json_loads():
    import json

    json.loads("[" * DEEP)


def pickled():
    import pickle

    pickle.dumps(nest(list))


def unpickled():
    # Nested by the data alone; loading and dropping it needs no recursion.
    import pickle

    value = pickle.loads(b"]" * DEEP + b"a" * (DEEP - 1) + b".")
    assert isinstance(value, list)
    print("ok")


def marshalled():
    import marshal

    marshal.loads(b"(\x01\x00\x00\x00" * DEEP + b"N")


def copied():
    import copy

    copy.deepcopy(nest(list))


def compiled_brackets():
    compile("(" * DEEP + ")" * DEEP, "deep", "exec")


def compiled_operators():
    compile("-" * DEEP + "1", "deep", "eval")


def compiled_sum():
    compile("+".join(["1"] * DEEP), "deep", "eval")


def compiled_attributes():
    compile("a" + ".a" * DEEP, "deep", "eval")


def compiled_lambdas():
    compile("lambda: " * 100_000 + "1", "deep", "eval")


def compiled_blocks():
    compile("".join(" " * level + "if 1:\n" for level in range(3000)) + " " * 3000 + "pass", "deep", "exec")


def compiled_elif():
    compile("if a: pass\n" + "elif a: pass\n" * 200_000, "deep", "exec")


def literal():
    import ast

    ast.literal_eval("[" * DEEP + "]" * DEEP)


def tree():
    import ast

    place = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 1}
    node = ast.Constant(1, **place)
    for _ in range(DEEP):
        node = ast.UnaryOp(ast.USub(), node, **place)
    compile(ast.Expression(node), "deep", "eval")


def regex():
    import re

    re.compile("(" * 100_000 + ")" * 100_000)


def regex_match():
    # The matcher's own stack is on the heap.
    import re

    assert re.match("(?:(a)|b)*c", "ab" * DEEP) is None
    print("ok")


def exceptions():
    error = None
    for _ in range(DEEP):
        following = ValueError()
        following.__cause__ = error
        error = following
    raise error


def exception_cycle():
    a, b = ValueError("a"), ValueError("b")
    a.__context__, b.__context__ = b, a
    a.__cause__, b.__cause__ = b, a
    raise a


def exception_groups():
    error = ValueError("innermost")
    for _ in range(10_000):
        error = ExceptionGroup("group", [error])
    raise error


def deallocate():
    for kind in (list, tuple, frozenset):
        nest(kind)

    class Node:
        __slots__ = ("next",)

    chain = None
    for _ in range(DEEP):
        node = Node()
        node.next = chain
        chain = node
    del chain, node
    print("ok")


def deallocate_objects():
    class Node:
        pass

    chain = None
    for _ in range(DEEP):
        node = Node()
        node.next = chain
        chain = node
    del chain, node
    print("ok")


def deallocate_functions():
    import functools

    value = None
    for _ in range(DEEP // 2):
        value = functools.partial(print, value)
    value = None
    for _ in range(DEEP // 2):
        value = (lambda inner: lambda: inner)(value)
    value = None
    print("ok")


def deallocate_generators():
    def chain(inner):
        yield from inner

    value = iter(())
    for _ in range(100_000):
        value = chain(value)
    del value
    print("ok")


def generators():
    def chain(inner):
        yield from inner

    value = iter([1])
    for _ in range(DEEP):
        value = chain(value)
    next(value)


def iterators():
    import itertools

    value = iter([1])
    for _ in range(DEEP // 2):
        value = itertools.chain(value)
    assert next(value) == 1
    print("ok")


def classes():
    kind = object
    for _ in range(1500):
        kind = type("Derived", (kind,), {})
    assert not hasattr(kind(), "missing")
    print("ok")


def numpy_objects():
    import numpy

    value = numpy.array(0, dtype=object)
    for _ in range(100_000):
        outer = numpy.empty((), dtype=object)
        outer[()] = value
        value = outer
    repr(value)


def xml():
    import xml.etree.ElementTree as tree

    element = tree.fromstring("<a>" * 200_000 + "</a>" * 200_000)
    tree.tostring(element)


globals()[sys.argv[1]]()
