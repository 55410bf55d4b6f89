"""Every primitive of threading at work: timers, events, barriers, semaphores, locks, and how each one fails."""

import re
import threading
import time

lines: list[str] = []
lock = threading.Lock()


def shown(value: object) -> str:
    return re.sub(r'0x[0-9a-f]+', '0x…', repr(value)).replace(str(threading.get_ident()), 'MAIN')


def say(text: str) -> None:
    with lock:
        lines.append(text)


def flush() -> None:
    print(*sorted(lines), sep='\n')
    lines.clear()


# Timers
fired = threading.Event()
timers = [threading.Timer(n / 50, say, args=[f'timer {n}']) for n in range(3)]
cancelled = threading.Timer(0.01, say, kwargs={'text': 'never'})
for t in (*timers, cancelled):
    t.start()
cancelled.cancel()
late = threading.Timer(60, fired.set)
late.start()
print('alive', late.is_alive(), late.daemon, late.interval)
late.cancel()
for t in (*timers, cancelled, late):
    t.join()
print(lines, fired.is_set(), late.finished.is_set(), shown(late).split(',')[0])
lines.clear()

# An event for many
start, passed = threading.Event(), []
print(shown(start), start.wait(0.01))
racers = [threading.Thread(target=lambda n=n: passed.append((start.wait(), n))) for n in range(5)]
for r in racers:
    r.start()
print(passed, threading.active_count())
start.set()
for r in racers:
    r.join()
print(sorted(passed), shown(start))
start.clear()
print(start.is_set(), start.wait(timeout=0), start.wait(-1))

# Rounds behind a barrier
rounds: list[str] = []
barrier = threading.Barrier(3, action=lambda: rounds.append('together'))


def player() -> None:
    for _ in range(2):
        say(f'place {barrier.wait(timeout=5)}')


players = [threading.Thread(target=player) for _ in range(3)]
for p in players:
    p.start()
for p in players:
    p.join()
flush()
print(rounds, shown(barrier), barrier.parties, barrier.n_waiting, barrier.broken)


def broken_by(action) -> None:
    def wait() -> None:
        try:
            say(f'passed {barrier.wait(5)}')
        except Exception as e:
            say(f'{type(e).__name__} {e}')

    waiting = threading.Thread(target=wait)
    waiting.start()
    while barrier.n_waiting == 0 and not barrier.broken:
        time.sleep(0.001)
    try:
        action()
    except Exception as e:
        say(f'here: {type(e).__name__} {e}')
    waiting.join()
    flush()
    print(shown(barrier))
    barrier.reset()


broken_by(barrier.abort)
broken_by(barrier.reset)
broken_by(lambda: barrier.wait(0.01))


# A pool of three permits
permits, most, now = threading.BoundedSemaphore(3), 0, 0


def use(n: int) -> None:
    global most, now
    with permits:
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.005)
        with lock:
            now -= 1


users = [threading.Thread(target=use, args=(n,)) for n in range(9)]
for u in users:
    u.start()
for u in users:
    u.join()
print('at once', most, shown(permits), shown(threading.Semaphore(2)))
print([permits.acquire(blocking=False) for _ in range(4)], permits.acquire(timeout=0.01))
permits.release(2)
for action in (
    lambda: permits.release(2),
    lambda: permits.release(0),
    lambda: permits.acquire(blocking=False, timeout=1),
    lambda: threading.BoundedSemaphore(-2),
    lambda: threading.Barrier(0).wait(),
):
    try:
        print(action())
    except Exception as e:
        print(type(e).__name__, e)

# Locks and their owners
reentrant = threading.RLock()
with reentrant:
    reentrant.acquire()
    print(shown(reentrant), reentrant.locked())

    def other() -> None:
        say(f'other thread: {reentrant.acquire(blocking=False)} {reentrant.acquire(timeout=0.01)}')
        try:
            reentrant.release()
        except RuntimeError as e:
            say(f'release {e}')

    t = threading.Thread(target=other)
    t.start()
    t.join()
    flush()
    reentrant.release()
print(shown(reentrant), shown(lock), lock.locked(), type(lock), threading.Lock)
handed = threading.Lock()
handed.acquire()
t = threading.Timer(0.01, handed.release)
t.start()
print('handed over', handed.acquire(timeout=5))

# Conditions
ready = threading.Condition()
print(shown(ready), ready.wait_for.__name__)
order: list[int] = []


def waiter(n: int) -> None:
    with ready:
        ready.wait()
        order.append(n)


waiters = []
for n in range(4):
    waiters.append(threading.Thread(target=waiter, args=[n]))
    waiters[-1].start()
    while True:
        with ready:
            if shown(ready).endswith(f', {n + 1})>'):
                break
        time.sleep(0.001)
for count in (1, 2, 5):
    before = len(order)
    with ready:
        ready.notify(count)
    while len(order) < min(4, before + count):
        time.sleep(0.001)
    print(sorted(order))
for w in waiters:
    w.join()
for action in (ready.wait, ready.notify_all, ready.release, lambda: ready.wait_for(lambda: False, 0.01)):
    try:
        print(action())
    except Exception as e:
        print(type(e).__name__, e)
with ready:
    print(ready.wait_for(lambda: [], timeout=0.01), ready.wait_for(lambda: 'yes'))

# Timed joins
napping = threading.Thread(target=fired.wait, args=(5,), name='napping', daemon=True)
napping.start()
for limit in (0, 0.01, -1):
    napping.join(limit)
    print(napping.is_alive(), end=' ')
fired.set()
napping.join()
print(napping.is_alive(), [t.name for t in threading.enumerate()])
