import ast
import dis
import inspect
import io
import symtable
import sys
import tokenize
import traceback
from types import FunctionType, SimpleNamespace

SOURCE = '''
def area(width: float, height: float = 1.0, *, unit="cm") -> str:
    """Area of a rectangle."""
    squares = [w * height for w in (width,)]
    return f"{squares[0]:.1f} {unit}2"
'''
tree = ast.parse(SOURCE)
print(ast.dump(tree.body[0].args, indent=1))
print(ast.unparse(tree), [type(n).__name__ for n in ast.walk(tree.body[0].body[1])])
namespace: dict = {}
exec(compile(tree, '<generated>', 'exec'), namespace)
area: FunctionType = namespace['area']
print(inspect.signature(area), area(2), area.__doc__, area.__code__.co_varnames, inspect.getdoc(area))
print([p.kind.description for p in inspect.signature(area).parameters.values()])
out = io.StringIO()
dis.dis(lambda x: x + 1, file=out)
print([line.split()[-2 if '(' in line else -1] for line in out.getvalue().splitlines() if line.strip()])
print([t.string for t in tokenize.generate_tokens(io.StringIO('x = 1 # note\n').readline)][:5])
print(
    symtable.symtable('def f(a): return a + b', 's', 'exec').get_children()[-1].get_identifiers(),
    ast.literal_eval("{'a': (1, -2.5, None)}"),
)


def deep(n: int):
    if n == 0:
        raise LookupError('bottom')
    return deep(n - 1)


try:
    deep(2)
except LookupError as e:
    frames = traceback.extract_tb(e.__traceback__)
    print([(f.name, f.lineno, f.line) for f in frames][-2:])
    print(''.join(traceback.format_exception_only(e)), end='')
    print(traceback.format_exc().splitlines()[-2].strip(), inspect.trace()[-1].function)
print(
    inspect.getsource(deep).splitlines()[0],
    inspect.currentframe().f_lineno,
    inspect.isgeneratorfunction(deep),
    SimpleNamespace(a=1),
)
for bad in ('x = = 1', 'print "hi"', 'def f(:\n pass', "f'{a'", 'if True:\nx', 'x = (1,\n', 'retrun 5', 'a b'):
    try:
        compile(bad, 'bad.py', 'exec')
    except SyntaxError as e:
        print(f'{type(e).__name__}: {e.msg} (line {e.lineno}, col {e.offset})')
ast.literal_eval('__import__("os")')
