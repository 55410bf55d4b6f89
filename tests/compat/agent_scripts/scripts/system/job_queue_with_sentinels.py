"""Workers that take jobs from a queue until a sentinel comes; what goes wrong in them is collected."""

import queue
import threading
import traceback

STOP = object()


class Worker(threading.Thread):
    def __init__(self, number: int, jobs: queue.Queue, results: queue.Queue):
        super().__init__(name=f'worker-{number}', daemon=number == 0)
        self.jobs, self.results = jobs, results

    def run(self) -> None:
        while (job := self.jobs.get()) is not STOP:
            try:
                self.results.put((job, 100 // job, None))
            except Exception as error:
                self.results.put((job, None, error))
            finally:
                self.jobs.task_done()
        self.jobs.task_done()


jobs: queue.Queue = queue.Queue(maxsize=4)
results: queue.Queue = queue.Queue()
workers = [Worker(n, jobs, results) for n in range(3)]
print([repr(w) for w in workers], workers[0].ident, workers[0].native_id)
for w in workers:
    w.start()
for job in (5, 0, 20, 7, 'x', 50):
    jobs.put(job)
for _ in workers:
    jobs.put(STOP)
jobs.join()
for w in workers:
    w.join()
print([repr(w).replace(str(w.ident), 'IDENT') for w in workers])
got = sorted((results.get_nowait() for _ in range(results.qsize())), key=lambda r: str(r[0]))
for job, value, error in got:
    frames = traceback.extract_tb(error.__traceback__) if error else []
    print(job, value, repr(error), [(f.name, f.line) for f in frames])

# How queues end, and what they say.
ended: queue.Queue = queue.Queue(2)
ended.put('left')
waiting = threading.Thread(target=lambda: [print('got', ended.get()), print('second'), ended.get()], name='waiting')
died = []
threading.excepthook = lambda args: died.append((args.thread.name, args.exc_type.__name__, str(args.exc_value)))
waiting.start()
while not ended.empty():
    pass
ended.shutdown()
waiting.join(5)
print(died, waiting.is_alive(), ended.is_shutdown)
for name, action in {
    'put': lambda: ended.put(1),
    'get': lambda: ended.get_nowait(),
    'task_done twice': lambda: [ended.task_done(), ended.task_done()],
    'full': lambda: [queue.LifoQueue(1).put(1), (q := queue.LifoQueue(1)).put(1), q.put(2, block=False)],
    'negative': lambda: queue.Queue().get(timeout=-1),
    'simple': lambda: queue.SimpleQueue().get(timeout=0.01),
    'unordered': lambda: [(p := queue.PriorityQueue()).put((1, {})), p.put((1, {}))],
    'keyword': lambda: queue.Queue().get(wait=1),
}.items():
    try:
        print(name, action())
    except Exception as e:
        print(f'{name}: {type(e).__module__}.{type(e).__name__}: {e}')

# A bounded buffer by hand, with two producers and one consumer.
items: list[int] = []
condition = threading.Condition()
taken: list[int] = []


def produce(start: int) -> None:
    for n in range(start, start + 20):
        with condition:
            assert condition.wait_for(lambda: len(items) < 3, timeout=10)
            items.append(n)
            condition.notify_all()


def consume() -> None:
    while len(taken) < 40:
        with condition:
            condition.wait_for(lambda: items)
            taken.append(items.pop(0))
            condition.notify_all()


group = [threading.Thread(target=produce, args=[0]), threading.Thread(target=produce, kwargs={'start': 100})]
group.append(threading.Thread(target=consume))
for t in group:
    t.start()
for t in group:
    t.join()
print(len(taken), sum(taken), [n for n in taken if n < 100] == list(range(20)), [n for n in taken if n > 99][-1])
print([t.name for t in threading.enumerate()], threading.active_count())

# What a thread does with its end.
for name, target in {
    'returns': lambda: 5,
    'raises SystemExit': lambda: exit(3),
    'raises an interrupt': lambda: (_ for _ in ()).throw(KeyboardInterrupt),
    'fails': lambda: {}['k'],
}.items():
    t = threading.Thread(target=target, name=name)
    died.clear()
    t.start()
    t.join()
    print(name, died, t.is_alive(), t.daemon)
for action in (
    lambda: workers[1].start(),
    lambda: threading.Thread().join(),
    lambda: threading.current_thread().join(),
    lambda: setattr(workers[1], 'daemon', 'x') or workers[1].daemon,
    lambda: setattr(threading.current_thread(), 'daemon', True),
    lambda: threading.Thread(group=1),
    lambda: threading.Thread(name=5).name,
    lambda: threading.Thread(target=len).name,
    lambda: threading.Thread(target=5).run(),
    lambda: threading.Thread(target=print, args=5).start(),
    lambda: threading.Thread(daemon=None).daemon,
    lambda: threading.main_thread().join(timeout='soon'),
    lambda: [threading.stack_size(), threading.stack_size(2**20), threading.stack_size(0)],
    lambda: threading.Lock().acquire(False, 5),
    lambda: threading.Lock().acquire(timeout=-5),
    lambda: threading.RLock().release(),
    lambda: threading.Semaphore(-1),
):
    try:
        print(action())
    except Exception as e:
        print(type(e).__name__, e)
