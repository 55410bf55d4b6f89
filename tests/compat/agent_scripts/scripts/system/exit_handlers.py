import atexit
import contextlib
import sys
import threading
import time


def goodbye(name: str, *, mark: str = '.') -> None:
    print(f'goodbye {name}{mark}')


atexit.register(goodbye, 'first')
atexit.register(goodbye, 'second', mark='!')


@atexit.register
def failing():
    print('in failing handler')
    raise RuntimeError('handler failed')


atexit.register(print, 'to be removed')
atexit.unregister(print)


def background():
    time.sleep(0.05)
    print('non-daemon thread finished')


threading.Thread(target=background).start()
for code in (None, 0, 3, 'text', 256, True, [1]):
    try:
        sys.exit(code)
    except SystemExit as e:
        print(repr(e), e.code)
with contextlib.suppress(SystemExit):
    exit()
try:
    quit(5)
except SystemExit as e:
    print('quit', e.code, sys.stdin.closed)
try:
    raise KeyboardInterrupt
except BaseException as e:
    print(type(e).__mro__[1].__name__)


class Cleanup:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        print('cleaning', exc[0].__name__)


with Cleanup():
    print('exiting')
    raise SystemExit(42)
