"""Logs of several threads through one queue, with fields of the context, filters, levels and a failing handler."""

import contextvars
import copy
import io
import logging
import logging.config
import logging.handlers
import queue
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

order_id: contextvars.ContextVar[str] = contextvars.ContextVar('order_id')


class AddOrder(logging.Filter):
    def filter(self, record):
        record.order = order_id.get('-')
        return 'secret' not in record.getMessage()


class Collect(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record):
        self.lines.append(self.format(record))


def steps(n: int) -> None:
    order_id.set(f'order {n}')
    log = logging.getLogger(f'shop.step{n % 2}')
    log.debug('begin %d', n)
    log.info('the secret of %d', n)
    try:
        log.info('result %.2f', 10 / n)
    except ZeroDivisionError:
        log.exception('failed', extra={'n': n})


collect = Collect()
collect.setFormatter(logging.Formatter('{levelname:<7}|{name}|{threadName}|{order}|{message}', style='{'))
errors = Collect()
errors.setLevel('ERROR')
records: queue.Queue = queue.Queue()
handler = logging.handlers.QueueHandler(records)
handler.addFilter(AddOrder())
root = logging.getLogger()
root.addHandler(handler)
root.setLevel(logging.INFO)
logging.getLogger('shop.step1').setLevel(logging.DEBUG)
listener = logging.handlers.QueueListener(records, collect, errors, respect_handler_level=True)
listener.start()
print(listener._thread.daemon, handler.listener, root.getEffectiveLevel(), logging.getLogger('shop').level)
try:
    listener.start()
except RuntimeError as e:
    print(e)
threads = [threading.Thread(target=steps, args=[n], name=f'thread-{n}') for n in range(6)]
for t in threads:
    t.start()
for t in threads:
    t.join()
listener.stop()
print(*sorted(line.splitlines()[0] for line in collect.lines), sep='\n')
print(len(errors.lines), [line.strip() for line in errors.lines[0].splitlines() if '  File' not in line])
print(records.qsize(), order_id.get('none here'))
listener.stop()

# The order of one thread is kept; a pool reuses its names
collect.lines.clear()
with logging.handlers.QueueListener(records, collect) as listener, ThreadPoolExecutor(1, 'pool') as pool:
    for n in range(3):
        pool.submit(root.warning, 'call %s of %s', n, 3)
print(*collect.lines, sep='\n')

# What goes wrong in a call or in a handler
logging.raiseExceptions = True
stream = io.StringIO()
root.removeHandler(handler)
plain = logging.StreamHandler(stream)
plain.setFormatter(logging.Formatter('%(levelname)s %(message)s %(funcName)s %(module)s'))
root.addHandler(plain)


def bad() -> None:
    logging.info('%d items', 'three')


sys.stderr, saved = io.StringIO(), sys.stderr
t = threading.Thread(target=bad)
t.start()
t.join()
said, sys.stderr = sys.stderr.getvalue(), saved
print([line for line in said.splitlines() if not re.match(r'\s|Call stack', line)], repr(stream.getvalue()))


class Closing(io.StringIO):
    def write(self, text):
        raise ValueError('the disk is full')


plain.setStream(Closing())
plain.handleError = lambda record: print('handler failed:', sys.exception(), record.msg)
logging.warning('lost')
plain.setStream(stream)

# Handlers that keep back, rotate and count
target = Collect()
memory = logging.handlers.MemoryHandler(3, flushLevel=logging.ERROR, target=target)
keeper = logging.getLogger('keeper')
keeper.propagate = False
keeper.addHandler(memory)
for n in range(4):
    keeper.warning('kept %d', n)
    print(target.lines)
keeper.error('now')
print(target.lines, memory.buffer)
once, lock = [], threading.Lock()


class Counting(logging.LoggerAdapter):
    def process(self, message, options):
        with lock:
            once.append(message)
        return f'[{self.extra["who"]}] {message}', options


adapter = Counting(keeper, {'who': 'adapter'})
group = [threading.Thread(target=lambda: [adapter.critical('c %d', n) for n in range(50)]) for _ in range(4)]
for t in group:
    t.start()
for t in group:
    t.join()
print(len(once), len(target.lines), target.lines[-1], repr(adapter), repr(memory), repr(keeper))

# Configuration as a dict, with a queue
logging.config.dictConfig(
    {
        'version': 1,
        'disable_existing_loggers': False,
        'formatters': {'short': {'format': '%(name)s:%(levelname).1s:%(message)s'}},
        'handlers': {
            'out': {'class': 'logging.StreamHandler', 'stream': 'ext://sys.stdout', 'formatter': 'short'},
            'queue': {'class': 'logging.handlers.QueueHandler', 'handlers': ['out'], 'respect_handler_level': True},
        },
        'root': {'level': 'DEBUG', 'handlers': ['queue']},
    }
)
queued = logging.getHandlerByName('queue')
print(type(queued.listener).__name__, sorted(logging.getHandlerNames()), queued.listener._thread)
queued.listener.start()
worker = threading.Thread(target=lambda: [logging.getLogger('app').debug('n=%(n)d', {'n': n}) for n in range(3)])
worker.start()
worker.join()
queued.listener.stop()
record = logging.LogRecord('a', 20, 'path', 1, '%s', (object(),), None)
print(queued.prepare(record).args, copy.copy(record).threadName, record.taskName, record.processName)
for config in ({'version': 2}, {'root': {'handlers': ['none']}}, {'root': {'level': 'LOUD'}}):
    try:
        logging.config.dictConfig({'version': 1, **config})
    except ValueError as e:
        print(e, '<-', e.__cause__)
logging.shutdown()
