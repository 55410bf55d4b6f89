import signal
import sys
import time
from contextlib import contextmanager


@contextmanager
def time_limit(seconds: float):
    def handler(signum, frame):
        raise TimeoutError(f'took longer than {seconds} s ({signal.Signals(signum).name})')

    previous = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def busy() -> int:
    total = 0
    while True:
        total += 1


for name, action in (('sleep', lambda: time.sleep(10)), ('loop', busy), ('quick', lambda: sum(range(10)))):
    try:
        with time_limit(0.3):
            print(name, action())
    except TimeoutError as e:
        print(name, 'timed out:', e)
sys.stdout.reconfigure(line_buffering=True)
print(signal.alarm(30), signal.alarm(0), signal.getitimer(signal.ITIMER_REAL))
print(
    signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    signal.getsignal(signal.SIGTERM),
    signal.SIGKILL.value,
)
signal.alarm(1)
time.sleep(5)
print('never printed')
