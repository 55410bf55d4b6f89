"""A small HTTP API in a thread, and clients of the standard library against it."""

import http.client
import json
import socket
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer

notes: dict[int, dict] = {}
seen: list[str] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    server_version, sys_version = 'Notes/1.0', ''

    def log_message(self, text, *args):
        seen.append(text % args)

    def date_time_string(self, timestamp=None):
        return 'Thu, 01 Jan 2026 00:00:00 GMT'

    def reply(self, status, value, **headers):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json; charset=utf-8')
        self.send_header('Content-Length', str(len(body)))
        for name, text in headers.items():
            self.send_header(name.replace('_', '-'), text)
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path == '/notes':
            self.reply(200, list(notes.values()), X_Query=url.query or 'none')
        elif url.path == '/old':
            self.reply(301, None, Location='/notes?moved=1')
        elif url.path == '/loop':
            self.reply(302, None, Location='/loop')
        elif url.path == '/away':
            self.reply(302, None, Location='file:///etc/hosts')
        elif url.path == '/chunks':
            self.send_response(200)
            self.send_header('Transfer-Encoding', 'chunked')
            self.end_headers()
            for n in range(5):
                part = f'part {n};'.encode() * (n + 1)
                self.wfile.write(f'{len(part):x}\r\n'.encode() + part + b'\r\n')
            self.wfile.write(b'0\r\n\r\n')
        elif url.path == '/short':
            self.send_response(200)
            self.send_header('Content-Length', '1000')
            self.end_headers()
            self.wfile.write(b'too little')
            self.close_connection = True
        elif url.path == '/nothing':
            self.close_connection = True
        elif url.path == '/garbage':
            self.wfile.write(b'certainly not HTTP\r\n')
            self.close_connection = True
        elif url.path == '/slow':
            release.wait(5)
            self.close_connection = True
        elif url.path == '/big':
            self.send_response(200)
            self.send_header('Content-Length', '3000000')
            self.end_headers()
            self.wfile.write(b'0123456789' * 300_000)
        elif url.path == '/bug':
            raise ZeroDivisionError('a bug of the handler')
        elif url.path == '/login':
            if self.headers['Authorization'] == 'Basic YW5uOnNlY3JldA==':
                self.reply(200, 'welcome')
            else:
                self.reply(401, None, WWW_Authenticate='Basic realm="notes"')
        else:
            self.send_error(404, 'No such note')

    do_HEAD = do_GET

    def do_POST(self):
        try:
            note = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        except ValueError as e:
            self.reply(400, {'error': str(e)})
        else:
            notes[len(notes)] = note
            self.reply(201, note, Location=f'/notes/{len(notes) - 1}')


class Server(ThreadingHTTPServer):
    errors: list[str] = []

    def handle_error(self, request, client_address):
        self.errors.append(f'{type(sys.exception()).__name__} {sys.exception()}')


release = threading.Event()
server = Server(('127.0.0.1', 0), Handler)
host, port = server.server_address
thread = threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.05}, name='server', daemon=True)
thread.start()
base = f'http://{host}:{port}'
print(host, port > 1023, server.server_port == port, server.daemon_threads, server.allow_reuse_address)


def fetch(path, data=None, **headers):
    request = urllib.request.Request(base + path, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            text = response.read().decode()
            print(request.get_method(), path, response.status, response.reason, text[:60], response.url[len(base) :])
            return response
    except urllib.error.HTTPError as e:
        print(request.get_method(), path, repr(e), e.headers.get_content_type(), e.read()[:40])
    except Exception as e:
        print(request.get_method(), path, type(e).__name__, str(e).replace(str(port), 'PORT'))


fetch('/notes')
fetch('/notes', json.dumps({'title': 'Milk', 'n': 2}).encode(), Content_Type='application/json')
fetch('/notes', '{"title": "Ärger"}'.encode())
fetch('/notes', b'{"title": ')
print(dict(fetch('/notes?a=1&b=%20').headers))
for path in ('/missing', '/old', '/loop', '/away', '/chunks', '/short', '/nothing', '/garbage', '/login', '/bug'):
    fetch(path)
fetch('/login', Authorization='Basic YW5uOnNlY3JldA==')
passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
passwords.add_password(None, base, 'ann', 'secret')
opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(passwords))
print(opener.open(base + '/login').read())
try:
    urllib.request.urlopen(base + '/slow', timeout=0.05)
except Exception as e:
    print(repr(e))
release.set()

# One connection for several requests
connection = http.client.HTTPConnection(host, port, timeout=5)
for method, path in (('GET', '/notes'), ('HEAD', '/notes'), ('PUT', '/notes'), ('GET', '/chunks')):
    connection.request(method, path)
    first = connection.sock.getsockname() if connection.sock else None
    response = connection.getresponse()
    body = response.read()
    length = response.getheader('Content-Length')
    print(method, response.status, response.version, length, len(body), response.isclosed())
    print(connection.sock is not None and connection.sock.getsockname() == first)
connection.request('GET', '/big')
try:
    connection.request('GET', '/notes')
except Exception as e:
    print(repr(e))
response = connection.getresponse()
room = bytearray(70_000)
print(response.readinto(room), bytes(room[:12]), len(response.read()))
connection.putrequest('POST', '/notes', skip_accept_encoding=True)
connection.putheader('Content-Length', '8')
connection.endheaders(b'["late')
connection.send(b'"]')
print(connection.getresponse().read())
for action in (
    connection.getresponse,
    lambda: connection.putheader('a', 'b'),
    lambda: connection.request('GET', '/a b'),
):
    try:
        action()
    except Exception as e:
        print(type(e).__name__, e)
connection.close()

# By hand
for text in (b'GET /notes HTTP/1.0', b'BREW /pot HTTP/1.1\r\nConnection: close', b'GET  /notes HTTP/1.0'):
    with socket.create_connection((host, port)) as plain:
        plain.sendall(text + b'\r\n\r\n')
        plain.shutdown(socket.SHUT_WR)
        answer = plain.makefile('rb').read()
        print(answer.split(b'\r\n')[0], answer.count(b'\r\n'), len(answer) > 30)
for address in ((host, port), ('', port)):
    try:
        HTTPServer(address, Handler)
    except OSError as e:
        print(type(e).__name__, e.strerror)
server.shutdown()
server.server_close()
thread.join(5)
print(thread.is_alive(), server.errors, len(seen))
print(*seen, sep='\n')
fetch('/notes')
