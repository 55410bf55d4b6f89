"""TCP over loopback as a tutorial shows it, and every way in which it fails."""

import errno
import io
import os
import re
import select
import socket
import struct
import threading
import time


def attempt(name: str, action) -> None:
    try:
        print(f'{name}:', action())
    except Exception as e:
        number = errno.errorcode.get(e.errno, e.errno) if isinstance(e, OSError) and e.errno else ''
        print(f'{name}: {type(e).__name__}', number, re.sub(r'\[Errno -?\d+\] |\b\d{4,5}\b', '', str(e)))


def connected(**options) -> tuple[socket.socket, socket.socket]:
    with socket.create_server(('127.0.0.1', 0), **options) as server:
        client = socket.create_connection(server.getsockname(), timeout=5)
        return client, server.accept()[0]


def hidden(text: str) -> str:
    return re.sub(r'fd=\d+', 'fd=N', re.sub(r"', \d+\)", "', PORT)", text))


# A server, its names, and what it says to others who want its port
server = socket.create_server(('127.0.0.1', 0), backlog=5)
host, port = server.getsockname()
print(hidden(repr(server)), server.family, server.type, server.proto, server.gettimeout(), server.getblocking())
print([server.getsockopt(socket.SOL_SOCKET, o) for o in (socket.SO_REUSEADDR, socket.SO_ACCEPTCONN, socket.SO_TYPE)])
attempt('the port again', lambda: socket.create_server((host, port)))
attempt('bind again', lambda: server.bind((host, 0)))
attempt('to all', lambda: socket.create_server(('', port)))
attempt('peer of a listener', server.getpeername)
attempt('send to a listener', lambda: server.send(b'x'))
attempt('recv of a listener', lambda: server.recv(1))
attempt('accept of a client', lambda: socket.socket().accept())
server.settimeout(0.01)
attempt('accept in time', server.accept)
server.setblocking(False)
attempt('accept at once', server.accept)
server.settimeout(None)
client = socket.create_connection((host, port))
end, address = server.accept()
print(address == client.getsockname(), client.getpeername() == (host, port), hidden(repr(client)), end.gettimeout())
attempt('connect again', lambda: client.connect((host, port)))
server.close()
print(repr(server).split(',')[0].split(' fd')[1], server.fileno())
attempt('closed', server.getsockname)
attempt('refused', lambda: socket.create_connection((host, port), timeout=1))
print(socket.socket().connect_ex((host, port)) == errno.ECONNREFUSED)

# Five megabytes one way while a thread reads, with a file of the socket
data = os.urandom(1000) * 5000
got: list[bytes] = []


def read_all() -> None:
    with end.makefile('rb') as file:
        got.extend([file.read(10), file.readline(0), file.read()])


reading = threading.Thread(target=read_all)
reading.start()
print(client.sendall(data), client.shutdown(socket.SHUT_WR))
reading.join()
print(len(b''.join(got)), b''.join(got) == data)
attempt('after the end', lambda: client.send(b'x'))
with end.makefile('w', encoding='utf-8', newline='\n') as file:
    print('Größe', 'zwei', sep='\n', file=file)
    attempt('read what writes', file.read)
    attempt('mode', lambda: end.makefile('a'))
room = bytearray(20)
print(client.recv_into(room, 4), client.recv_into(memoryview(room)[4:]), bytes(room).rstrip(b'\0').decode())
attempt('too much', lambda: client.recv_into(room, 50))
attempt('negative', lambda: client.recv(-1))
attempt('text', lambda: client.sendall('text'))
end.close()
print(client.recv(10), client.recv(10))
client.close()
attempt('closed send', lambda: client.send(b'x'))

# Timeouts, and what is left undone
client, end = connected()
client.settimeout(0.02)
attempt('no data', lambda: client.recv(1))
attempt('full', lambda: client.sendall(b'x' * 30_000_000))
client.setblocking(False)
attempt('full at once', lambda: [client.send(b'x' * 65536) for _ in range(2000)] and 'sent')
print(select.select([client], [client], [], 0))
file = end.makefile('rb')
print(len(file.read(100_000)), type(file).__name__, type(file.raw).__name__, file.raw.mode, file.raw.readable())
end.close()
print(hidden(repr(file.raw))[:20], file.closed)
file.close()
time.sleep(0.01)
attempt('reset', lambda: client.recv(1))
attempt('pipe', lambda: client.send(b'x'))
client.close()
client, end = connected()
end.settimeout(0.02)
file = end.makefile('rb')
attempt('file without data', file.readline)
attempt('file once more', file.readline)
end.setblocking(False)
print(end.makefile('rb', buffering=0).read(5))
attempt('unbuffered text', lambda: end.makefile('r', buffering=0))
client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
client.close()
end.settimeout(5)
attempt('reset by linger', lambda: end.recv(1))
attempt('closed by then', lambda: end.recv(1))
end.close()

# A thread that waits, and another one that ends it
client, end = connected()
client.settimeout(None)
waits: list[object] = []


def wait() -> None:
    try:
        waits.append(client.recv(10))
    except OSError as e:
        waits.append(type(e).__name__)


for how in (lambda: end.send(b'woken'), lambda: client.shutdown(socket.SHUT_RD), lambda: end.close()):
    t = threading.Thread(target=wait)
    t.start()
    time.sleep(0.01)
    how()
    t.join(5)
    print(waits, t.is_alive())
client.close()

# Copies, descriptors and files
client, end = connected()
copy = client.dup()
number = client.detach()
print(client.fileno(), copy.fileno() != number, repr(client).split(' fd')[1][:3])
again = socket.socket(fileno=number)
print(again.family, again.type, again.getsockname() == copy.getsockname(), os.get_inheritable(number))
again.close()
copy.send(b'by the copy')
print(end.recv(2, socket.MSG_PEEK), end.recv(20))
attempt('bad descriptor', lambda: socket.socket(fileno=999))
attempt('a file', lambda: socket.socket(fileno=os.open('/', os.O_RDONLY)))
with copy:
    pass
attempt('after with', lambda: copy.recv(1))
print(end.recv(1), end.close())

# Names
for args in (('localhost', 80), ('127.0.0.1', 'http'), ('::1', 443), (None, 8080), ('1', 1), (b'0x7f.1', '5')):
    found = socket.getaddrinfo(*args, family=socket.AF_INET6 if args[0] == '::1' else socket.AF_INET, type=1)
    print(args, found)
for name, action in {
    'no service': lambda: socket.getaddrinfo('127.0.0.1', 'no-such-service'),
    'not numeric': lambda: socket.getaddrinfo('localhost', 80, flags=socket.AI_NUMERICHOST),
    'nothing': lambda: socket.getaddrinfo(None, None),
    'bad name': lambda: socket.getaddrinfo('a' * 70 + '.b', 80),
    'type': lambda: socket.getaddrinfo('127.0.0.1', 80, type=77),
    'pton': lambda: [socket.inet_pton(socket.AF_INET6, '::ffff:1.2.3.4'), socket.inet_aton('127.1')],
    'bad pton': lambda: socket.inet_pton(socket.AF_INET, '256.1.1.1'),
    'ntop': lambda: socket.inet_ntop(socket.AF_INET6, b'\0' * 15 + b'\1'),
    'short ntop': lambda: socket.inet_ntop(socket.AF_INET, b'\0'),
    'nameinfo': lambda: socket.getnameinfo(('127.0.0.1', 80), socket.NI_NUMERICHOST | socket.NI_NUMERICSERV),
    'service': lambda: [socket.getservbyname('https'), socket.getservbyport(22), socket.getprotobyname('tcp')],
    'unknown service': lambda: socket.getservbyname('no-such-service'),
    'order': lambda: [socket.htons(1), socket.ntohl(1), socket.htonl(2**31)],
    'too large': lambda: socket.htons(70000),
    'port': lambda: socket.socket().connect(('127.0.0.1', 70000)),
    'address': lambda: socket.socket().connect('127.0.0.1:80'),
    'tuple': lambda: socket.socket().connect(('127.0.0.1',)),
    'v6 in v4': lambda: socket.socket().connect(('::1', 80)),
    'family': lambda: socket.socket(999),
    'kind': lambda: socket.socket(socket.AF_INET, 99),
    'option': lambda: socket.socket().setsockopt(socket.SOL_SOCKET, 9999, 1),
    'value': lambda: socket.socket().setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, b''),
    'nodelay': lambda: socket.socketpair()[0].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    'timeout': lambda: socket.socket().settimeout(-1),
    'word': lambda: socket.socket().settimeout('soon'),
    'shutdown': lambda: socket.socket().shutdown(socket.SHUT_RDWR),
    'how': lambda: socket.socketpair()[0].shutdown(9),
    'local': lambda: socket.socket().bind(('192.0.2.1', 0)),
    'dual': lambda: socket.create_server(('127.0.0.1', 0), dualstack_ipv6=True),
    'default': lambda: [socket.setdefaulttimeout(3), socket.socket().gettimeout(), socket.setdefaulttimeout(None)],
    'select': lambda: select.select([-1], [], [], 0),
    'nothing to wait for': lambda: select.select([], [], [], 0.001),
    'copy': lambda: __import__('pickle').dumps(end),
    'truth': lambda: [bool(end), end == end, io.IOBase in type(end).__mro__],
}.items():
    attempt(name, action)

# Both families at one port
print(socket.has_dualstack_ipv6())
with socket.create_server(('::', 0), family=socket.AF_INET6, dualstack_ipv6=True) as both:
    port = both.getsockname()[1]
    for family, host in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
        with socket.socket(family) as client:
            client.connect((host, port))
            end, address = both.accept()
            print(address[0], client.getpeername()[0], end.getsockname()[0], end.family.name, len(address))
            end.close()
    attempt('taken', lambda: socket.create_server(('0.0.0.0', port)))
