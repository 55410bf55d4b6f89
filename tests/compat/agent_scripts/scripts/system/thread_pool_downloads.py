import threading
import time
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Future,
    ThreadPoolExecutor,
    TimeoutError,
    as_completed,
    wait,
)

lock = threading.Lock()
seen: list[str] = []


def fetch(url: str, delay: float) -> int:
    time.sleep(delay)
    if 'bad' in url:
        raise ConnectionError(f'cannot reach {url}')
    with lock:
        seen.append(url)
    return len(url)


urls = {'https://a.example': 0.01, 'https://bbb.example': 0.02, 'https://bad.example': 0.0, 'https://c.example': 0.01}
with ThreadPoolExecutor(max_workers=3, thread_name_prefix='dl') as pool:
    futures = {pool.submit(fetch, u, d): u for u, d in urls.items()}
    results = {}
    for future in as_completed(futures):
        try:
            results[futures[future]] = future.result()
        except ConnectionError as e:
            results[futures[future]] = str(e)
for url in sorted(results):
    print(f'{url:22} {results[url]}')
print(sorted(seen))
with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(lambda x: x**2, range(5), timeout=10)))
    slow = pool.submit(time.sleep, 0.4)
    try:
        slow.result(timeout=0.05)
    except TimeoutError as e:
        print('timeout', repr(e), slow.done())
    done, pending = wait([slow, pool.submit(int, '5')], return_when=FIRST_COMPLETED)
    print(len(done), len(pending), [f.result() for f in done])
    names = set(pool.map(lambda _: threading.current_thread().name.split('_')[0], range(4)))
    print(names)
future: Future = Future()
future.add_done_callback(lambda f: print('callback', f.cancelled()))
future.cancel()
try:
    future.result()
except CancelledError as e:
    print('cancelled', repr(e))
print(next(ThreadPoolExecutor(1).map(int, ['x'])))
