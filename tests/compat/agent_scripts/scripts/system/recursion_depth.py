import sys
import traceback


def depth() -> int:
    deepest = 0

    def call() -> None:
        nonlocal deepest
        deepest += 1
        call()

    try:
        call()
    except RecursionError as error:
        print(error)
    return deepest


def total(n: int) -> int:
    return 0 if n == 0 else n + total(n - 1)


print(sys.getrecursionlimit(), depth())
for limit in (60, 200, 3000, 1000):
    sys.setrecursionlimit(limit)
    print(sys.getrecursionlimit(), depth())
for count in (996, 997, 998, 999):
    try:
        print(count, total(count))
    except RecursionError:
        print(count, 'too deep', len(traceback.format_exc().splitlines()), traceback.format_exc().splitlines()[-2])
for limit in (1, 2, 0, -5):
    try:
        sys.setrecursionlimit(limit)
        print(limit, 'set')
    except (RecursionError, ValueError) as error:
        print(limit, type(error).__name__, error)
try:
    sys.setrecursionlimit('1000')  # type: ignore[arg-type]
except TypeError as error:
    print(error)
