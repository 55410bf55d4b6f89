import contextlib
import io
import sys
import warnings
from contextlib import ExitStack, closing, contextmanager, nullcontext, redirect_stderr, redirect_stdout, suppress


@contextmanager
def step(name: str, fail: bool = False):
    print(f'-> {name}')
    try:
        yield name.upper()
    except ZeroDivisionError as e:
        print(f'{name} saw {e!r}')
        raise RuntimeError(f'{name} failed') from e
    finally:
        print(f'<- {name}')


with ExitStack() as stack:
    names = [stack.enter_context(step(n)) for n in ('one', 'two')]
    stack.callback(print, 'callback', sep='|')
    print(names)
buffer = io.StringIO()
with redirect_stdout(buffer), suppress(KeyError), nullcontext(5) as five:
    print('hidden', five)
    {}['x']
print(repr(buffer.getvalue()))
with redirect_stderr(io.StringIO()) as err:
    warnings.warn('old stuff', DeprecationWarning, stacklevel=1)
    print('to stderr', file=sys.stderr)
print(err.getvalue().splitlines()[-1])
try:
    with step('outer'), step('inner'):
        1 / 0
except RuntimeError as e:
    print(e, '<-', repr(e.__cause__), e.__suppress_context__)
with contextlib.chdir('/tmp'):
    with open('exit_stack_note.txt', 'w') as f:
        f.write('x')
print(f.closed, f.name)
try:
    raise ExceptionGroup(
        'many', [ValueError('a'), ExceptionGroup('nested', [TypeError('b'), OSError(2, 'No such file')])]
    )
except* TypeError as group:
    print('types:', group.exceptions)
except* (ValueError, OSError) as group:
    print('others:', [type(x).__name__ for x in group.exceptions])
with closing(open('missing.txt')):
    pass
