import logging
import os
import sys
import threading
import traceback

logging.basicConfig(format='%(levelname)s:%(threadName)s:%(message)s', stream=sys.stdout, level=logging.INFO)
log = logging.getLogger()


def job(n: int) -> None:
    log.info('job %d', n)
    if n == 2:
        raise LookupError(f'job {n} has no data')


for n in range(3):
    t = threading.Thread(target=job, args=(n,), name=f'job-{n}')
    t.start()
    t.join()
print(
    os.path.basename(threading.__file__),
    threading.get_native_id() > 0,
    threading.get_ident() == threading.main_thread().ident,
)


def outer():
    try:
        {}['config']
    except KeyError as e:
        e.add_note('hint: create config.toml first')
        raise ValueError('cannot start') from e


try:
    outer()
except ValueError as e:
    print([line.strip() for line in traceback.format_exception(e) if not line.startswith('  File')])
    lines = traceback.TracebackException.from_exception(e, capture_locals=True)
    print([(f.name, f.locals) for f in lines.stack if f.name == 'outer'])
try:
    assert 1 + 1 == 3, 'math is broken'
except AssertionError as e:
    print(repr(e))
for source in (
    'undefined_name',
    '"a" + 1',
    'None.x',
    '[1, 2][5]',
    '{}["k"]',
    'int("z")',
    'open("/no/such/file")',
    'len(5)',
    '1()',
    'import_module',
    'max([])',
    '"%d" % "x"',
    'next(iter([]))',
    '(1).foo',
    'print(1, foo=2)',
    'sum(["a"])',
    'sorted([1, "a"])',
    '[].remove(3)',
    'b"a".decode("nope")',
    '__import__("nope")',
):
    try:
        eval(source)
    except Exception as e:
        print(f'{source:24} {type(e).__name__}: {e}')
outer()
