"""Echo servers of every kind: socketserver over TCP, UDP and Unix sockets, and one loop of selectors."""

import os
import selectors
import socket
import socketserver
import sys
import tempfile
import threading

lines: list[str] = []


class Upper(socketserver.StreamRequestHandler):
    timeout = 2
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        lines.append('setup')

    def handle(self):
        for line in self.rfile:
            if line == b'stop\n':
                raise InterruptedError('told to stop')
            self.wfile.write(line.upper())
        lines.append(f'end of input, {type(self.wfile).__name__}, {self.connection is self.request}')

    def finish(self):
        super().finish()
        lines.append('finish')


class UpperByPath(Upper):
    disable_nagle_algorithm = False


class Datagrams(socketserver.DatagramRequestHandler):
    def handle(self):
        data, sock = self.request
        self.wfile.write(data[::-1])
        lines.append(f'datagram of {len(data)} at {type(sock).__name__}')


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 2

    def verify_request(self, request, client_address):
        lines.append(f'from {client_address[0]}')
        return not refuse

    def handle_error(self, request, client_address):
        lines.append(f'error {sys.exception()!r}')

    def service_actions(self):
        ticks.append(1)


refuse, ticks = False, []
with Server(('127.0.0.1', 0), Upper) as server:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    clients = [socket.create_connection(server.server_address, timeout=5) for _ in range(5)]
    for n, client in enumerate(clients):
        client.sendall(f'hello {n}\nfrom client {n}\n'.encode())
    for client in clients:
        with client, client.makefile('r') as file:
            print([file.readline(), file.readline()])
            client.shutdown(socket.SHUT_WR)
            print(repr(file.read()))
    with socket.create_connection(server.server_address) as client:
        client.sendall(b'a\nstop\nb\n')
        try:
            print(client.makefile('rb').read())
        except ConnectionResetError as e:
            print(type(e).__name__)
    refuse = True
    with socket.create_connection(server.server_address) as client:
        print(client.recv(10))
    server.shutdown()
    thread.join()
    print(len(ticks) > 0, repr(server.socket)[:14], server.fileno() > 0, server.request_queue_size)
print(sorted(lines), server.fileno())
lines.clear()

# Without threads, one request at a time, with a timeout
with socketserver.TCPServer(('127.0.0.1', 0), Upper, bind_and_activate=False) as server:
    server.timeout = 0.01
    server.handle_timeout = lambda: print('nobody came')
    server.server_bind()
    server.server_activate()
    server.handle_request()
    client = socket.create_connection(server.server_address)
    client.sendall(b'one\n')
    client.shutdown(socket.SHUT_WR)
    server.handle_request()
    print(client.recv(10), client.recv(10))
    client.close()
for kind in (socketserver.UDPServer, socketserver.ThreadingUDPServer):
    with kind(('127.0.0.1', 0), Datagrams) as server, socket.socket(type=socket.SOCK_DGRAM) as client:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        client.settimeout(5)
        for data in (b'abc', b'', b'x' * 8000):
            client.sendto(data, server.server_address)
            answer, address = client.recvfrom(10_000)
            print(kind.__name__, len(answer), answer[:5], address == server.server_address)
        client.connect(server.server_address)
        client.send(b'cut here')
        print(client.recv(3), client.getpeername() == address)
        try:
            client.send(b'x' * 70_000)
        except OSError as e:
            print(type(e).__name__, e.strerror)
        server.shutdown()
print(sorted(set(lines)))
with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    with socketserver.ThreadingUnixStreamServer('echo.sock', UpperByPath) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect('echo.sock')
            client.sendall(b'by path\n')
            print(client.recv(20), repr(client.getsockname()), client.getpeername(), server.server_address)
        server.shutdown()
    try:
        socketserver.UnixStreamServer('echo.sock', Upper)
    except OSError as e:
        print(type(e).__name__, e.strerror, os.listdir())
    try:
        socket.socket(socket.AF_UNIX).connect('echo.sock')
    except OSError as e:
        print(type(e).__name__, e.strerror)
    os.chdir('/')

# One thread, a selector, and several clients that speak at once
selector = selectors.DefaultSelector()
listener = socket.create_server(('127.0.0.1', 0))
listener.setblocking(False)
key = selector.register(listener, selectors.EVENT_READ, 'listener')
print(key.events, key.data, key.fileobj is listener, len(selector.get_map()))
waiting: dict[socket.socket, bytes] = {}
answers: dict[int, bytes] = {}


def talk(n: int) -> None:
    with socket.create_connection(listener.getsockname(), timeout=5) as sock:
        for part in range(3):
            sock.sendall(b'%d:%d;' % (n, part) * 1000)
        sock.shutdown(socket.SHUT_WR)
        answers[n] = b''.join(iter(lambda: sock.recv(4096), b''))


talkers = [threading.Thread(target=talk, args=[n]) for n in range(4)]
for t in talkers:
    t.start()
ended = 0
while ended < len(talkers):
    for key, mask in selector.select(timeout=5):
        if key.data == 'listener':
            sock, _ = listener.accept()
            sock.setblocking(False)
            waiting[sock] = b''
            selector.register(sock, selectors.EVENT_READ)
            continue
        sock = key.fileobj
        if mask & selectors.EVENT_READ:
            if data := sock.recv(1000):
                waiting[sock] += data
                selector.modify(sock, selectors.EVENT_READ | selectors.EVENT_WRITE)
            else:
                selector.modify(sock, selectors.EVENT_WRITE, 'last')
        if mask & selectors.EVENT_WRITE:
            waiting[sock] = waiting[sock][sock.send(waiting[sock][:1500]) :]
            if not waiting[sock]:
                if selector.get_key(sock).data == 'last':
                    selector.unregister(sock)
                    sock.close()
                    del waiting[sock]
                    ended += 1
                else:
                    selector.modify(sock, selectors.EVENT_READ)
for t in talkers:
    t.join()
print({n: (len(a), a == b''.join(b'%d:%d;' % (n, p) * 1000 for p in range(3))) for n, a in sorted(answers.items())})
for action in (
    lambda: selector.register(listener, 1),
    lambda: selector.register(listener, 0),
    lambda: selector.unregister(clients[0]),
    lambda: selector.modify(sock, 1),
    lambda: selector.register('text', 1),
    lambda: selector.get_key(5000),
    lambda: selector.select(0),
    lambda: [listener.close(), selector.unregister(listener).data],
    lambda: [selector.close(), selector.get_map()],
    lambda: selector.get_key(listener),
):
    try:
        print(action())
    except Exception as e:
        print(type(e).__name__, str(e).split('<')[0])
