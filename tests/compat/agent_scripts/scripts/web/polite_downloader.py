"""A downloader with retries and a rate limit against a flaky server of its own, with requests, httpx and joblib."""

import asyncio
import functools
import io
import json
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import joblib
import requests
from requests.adapters import HTTPAdapter
from starlette.applications import Starlette
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route
from tqdm import tqdm
from urllib3.util.retry import Retry

hits: Counter[str] = Counter()
lock = threading.Lock()
slow_ends = threading.Event()


class Flaky(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def do_GET(self):
        with lock:
            hits[self.path] += 1
            times = hits[self.path]
        kind, _, name = self.path[1:].partition('/')
        headers = {'X-Times': str(times)}
        status, body = 200, f'{kind} {name}'.encode() * 10
        if kind == 'flaky' and times < 3:
            status, headers['Retry-After'] = 503, '0'
        elif kind == 'missing':
            status = 404
        elif kind == 'drops' and times < 2:
            self.close_connection = True
            return
        elif kind == 'slow':
            slow_ends.wait(10)
            self.close_connection = True
            return
        elif kind == 'cookie':
            headers['Set-Cookie'] = 'session=abc; Path=/'
            body = json.dumps({'cookie': self.headers['Cookie']}).encode()
        elif kind == 'moved':
            status, headers['Location'] = 307, '/ok/moved'
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class RateLimiter:
    def __init__(self, calls: int, period: float):
        self.calls, self.period, self.lock, self.slots = calls, period, threading.Lock(), []

    def __enter__(self):
        while True:
            with self.lock:
                now = time.monotonic()
                self.slots = [t for t in self.slots if now - t < self.period]
                if len(self.slots) < self.calls:
                    self.slots.append(now)
                    return self
                wait = self.period - (now - self.slots[0])
            time.sleep(wait)

    def __exit__(self, *_):
        return False


def retry(times: int, *errors: type[Exception]):
    def decorate(function):
        @functools.wraps(function)
        def call(*args):
            for n in range(times):
                try:
                    return function(*args)
                except errors:
                    if n == times - 1:
                        raise
                    time.sleep(random.uniform(0, 0.002) * 2**n)

        return call

    return decorate


server = ThreadingHTTPServer(('127.0.0.1', 0), Flaky)
threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
base = f'http://127.0.0.1:{server.server_port}'
limiter = RateLimiter(20, 0.05)


@retry(3, requests.ConnectionError, requests.HTTPError)
def download(path: str) -> tuple[int, str]:
    with limiter:
        response = requests.get(base + path, timeout=2)
    response.raise_for_status()
    return len(response.content), response.headers['X-Times']


paths = [f'/ok/{n}' for n in range(6)] + ['/flaky/a', '/missing/b', '/drops/c', '/moved/d']
bar = io.StringIO()
with ThreadPoolExecutor(4) as pool:
    futures = {pool.submit(download, path): path for path in paths}
    outcome = {}
    for future in tqdm(as_completed(futures), total=len(futures), file=bar, ncols=40, mininterval=0, miniters=1):
        e = future.exception()
        outcome[futures[future]] = f'{type(e).__name__} {str(e).replace(base, "BASE")}' if e else future.result()
for path in paths:
    print(path, outcome[path], hits[path])
last = bar.getvalue().split('\r')[-1]
print(last.split('|')[0], '| 10/10 [' in last, bar.getvalue().count('\r') > 9)

# A session with retries of its own, cookies and streams
session = requests.Session()
session.mount('http://', HTTPAdapter(max_retries=Retry(4, status_forcelist=[503], backoff_factor=0), pool_maxsize=2))
print(session.get(base + '/flaky/session').headers['X-Times'], session.get(base + '/drops/session').status_code)
print([session.get(base + f'/cookie/{n}').json() for n in range(2)], dict(session.cookies))
with session.get(base + '/ok/stream', stream=True) as response:
    print([len(part) for part in response.iter_content(32)], response.raw.closed, response.encoding)
for name, action in {
    'slow': lambda: session.get(base + '/slow/x', timeout=0.02),
    'refused': lambda: requests.get('http://127.0.0.1:9/', timeout=1),
    'loop of one': lambda: requests.get(base + '/moved/x', allow_redirects=False).next.path_url,
    'scheme': lambda: requests.get('no-scheme'),
    'json': lambda: requests.get(base + '/ok/1').json(),
    'address': lambda: requests.get('http://[::1'),
}.items():
    try:
        print(name, action())
    except Exception as e:
        print(name, type(e).__name__, [c.__name__ for c in type(e).__mro__[1:4]])

# httpx, and an application of ASGI without a port
with httpx.Client(base_url=base, timeout=5, follow_redirects=True) as client:
    for path in ('/ok/httpx', '/missing/httpx', '/moved/httpx', '/slow/httpx', '/drops/httpx'):
        try:
            response = client.get(path, timeout=0.02 if 'slow' in path else 5)
            print(path, response.status_code, response.http_version, len(response.text), len(response.history))
            response.raise_for_status()
        except httpx.HTTPError as e:
            print(path, type(e).__name__, str(e).replace(base, 'BASE').splitlines()[0])


def in_a_thread(request):
    is_main = threading.current_thread() is threading.main_thread()
    return JSONResponse({'main': is_main, 'q': request.query_params['q']})


async def stream(request):
    async def parts():
        for n in range(3):
            yield f'{n};'

    return StreamingResponse(parts(), media_type='text/plain')


application = Starlette(routes=[Route('/thread', in_a_thread), Route('/stream', stream)])


async def call() -> None:
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url='http://app') as client:
        print((await client.get('/thread', params={'q': 'ä b'})).json())
        response = await client.get('/stream')
        print(response.text, response.headers['content-type'], (await client.post('/stream')).status_code)


asyncio.run(call())

# joblib with threads
names = joblib.Parallel(n_jobs=3, prefer='threads')(joblib.delayed(download)(f'/ok/joblib{n}') for n in range(5))
print(names)
with joblib.parallel_config('threading', n_jobs=2):
    print(sorted(joblib.Parallel(return_as='generator_unordered')(joblib.delayed(pow)(n, 2) for n in range(3))))
    try:
        joblib.Parallel()(joblib.delayed(download)(path) for path in ('/ok/1', '/missing/x'))
    except requests.HTTPError as e:
        print(e.response.status_code, str(e).split(' for')[0])
slow_ends.set()
server.shutdown()
server.server_close()
try:
    download('/ok/late')
except requests.ConnectionError as e:
    print(type(e.args[0]).__name__, type(e.args[0].reason).__name__)
