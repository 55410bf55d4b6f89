import queue
import sys
import threading
import time

log: list[str] = []


def worker(name: str, jobs: queue.Queue, done: threading.Event) -> None:
    while not done.is_set() or not jobs.empty():
        try:
            job = jobs.get(timeout=0.05)
        except queue.Empty:
            continue
        log.append(f'{name}:{job}')
        jobs.task_done()


jobs: queue.Queue[int] = queue.Queue(maxsize=100)
done = threading.Event()
threads = [
    threading.Thread(target=worker, args=(f'w{i}', jobs, done), daemon=True, name=f'worker-{i}') for i in range(2)
]
for t in threads:
    t.start()
for n in range(10):
    jobs.put(n)
jobs.join()
done.set()
for t in threads:
    t.join(timeout=5)
print(sorted(int(entry.split(':')[1]) for entry in log), [t.is_alive() for t in threads], threading.active_count())
counter, lock = 0, threading.RLock()


def add():
    global counter
    for _ in range(1000):
        with lock, lock:
            counter += 1


group = [threading.Thread(target=add) for _ in range(4)]
[t.start() for t in group]
[t.join() for t in group]
print(counter, threading.main_thread().name, threading.Lock().acquire(timeout=0.1))
barrier, local = threading.Barrier(2, timeout=5), threading.local()
local.x = 1
threading.Thread(target=lambda: print('local in thread:', hasattr(local, 'x'), barrier.wait() in (0, 1))).start()
barrier.wait()
time.sleep(0.05)
condition, semaphore = threading.Condition(), threading.BoundedSemaphore(1)
with condition:
    print('waited', condition.wait(timeout=0.05), condition.wait_for(lambda: True))
timer = threading.Timer(0.02, print, ['timer fired'])
timer.start()
timer.join()
small: queue.Queue = queue.Queue(1)
small.put(1)
for action in (
    lambda: small.put(2, timeout=0.05),
    lambda: queue.Queue().get_nowait(),
    semaphore.release,
    lambda: threading.Lock().release(),
    lambda: group[0].start(),
    lambda: threading.current_thread().join(),
    lambda: condition.notify(),
):
    try:
        action()
    except Exception as e:
        print(type(e).__name__, e)
small.shutdown()
threading.excepthook = lambda args: print('thread died:', args.exc_type.__name__, args.exc_value)
broken = threading.Thread(target=lambda: 1 / 0)
broken.start()
broken.join()
sys.exit('stopping with a message')
