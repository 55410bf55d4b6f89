"""Sockets between parts of one program: as on Linux, in one thread. Runs natively too."""

import asyncio
import errno
import os
import select
import selectors
import socket
import stat
import struct
import tempfile
from contextlib import closing

from checks import equal, raises


def pair(family=socket.AF_INET, host="127.0.0.1"):
    """A connection: the client's end and the server's."""
    with closing(socket.create_server((host, 0), family=family)) as server:
        client = socket.socket(family)
        client.connect(server.getsockname())
        end, address = server.accept()
        equal(address, client.getsockname())
        return client, end


def test_a_pair_carries_bytes():
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        one, other = socket.socketpair(type=kind)
        with one, other:
            equal((one.family, one.type), (socket.AF_UNIX, kind))
            equal((one.getsockname(), other.getpeername()), ("", ""))
            one.sendall(b"first")
            one.send(b"second")
            equal(other.recv(5), b"first")
            equal(other.recv(100, socket.MSG_PEEK), b"second")
            equal(other.recv(100), b"second")
            with raises(BlockingIOError):
                other.recv(1, socket.MSG_DONTWAIT)
            other.settimeout(0.01)
            with raises(TimeoutError, "timed out"):
                other.recv(1)


def test_tcp_ends_half_by_half():
    client, end = pair()
    with client, end:
        equal(client.getpeername(), end.getsockname())
        client.sendall(b"question")
        client.shutdown(socket.SHUT_WR)
        equal(end.makefile("rb").read(), b"question")
        with raises(BrokenPipeError):
            client.send(b"x")
        end.sendmsg([b"an", b"swer"])
        room = bytearray(4), bytearray(10)
        equal(client.recvmsg_into(room)[0], 6)
        equal(bytes(room[0] + room[1][:2]), b"answer")
        end.close()
        equal(client.recv(1), b"")
    client, end = pair()
    with client, end:
        client.send(b"unread")
        end.close()
        with raises(ConnectionResetError):
            client.recv(1)
        with raises(BrokenPipeError):
            client.send(b"x")


def test_files_of_descriptors():
    client, end = pair()
    with client, end:
        assert stat.S_ISSOCK(os.fstat(client.fileno()).st_mode)
        equal(os.write(client.fileno(), b"by the descriptor"), 17)
        equal(os.read(end.fileno(), 6), b"by the")
        copy = client.dup()
        client.close()
        copy.send(b"!")
        equal(end.recv(100, socket.MSG_WAITALL | socket.MSG_DONTWAIT), b" descriptor!")
        with raises(OSError):
            os.lseek(copy.fileno(), 0, 1)
        with copy, copy.makefile("w") as stream:
            stream.write("text\n")
            stream.flush()
            equal(end.makefile().readline(), "text\n")
        assert not os.get_inheritable(end.fileno())


def test_errors_of_linux():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = unused.getsockname()
        with socket.socket() as client:
            with raises(ConnectionRefusedError):
                client.connect(address)
            with raises(OSError, error="EADDRINUSE"):
                client.bind(address)
            with raises(OSError, error="ENOTCONN"):
                client.getpeername()
            with raises(OSError, error="ENOTCONN"):
                client.recv(1)
            with raises(OSError, error="ENOTCONN"):
                client.shutdown(socket.SHUT_RDWR)
            with raises(OSError, error="EINVAL"):
                client.accept()
            with raises(OSError, error="EADDRNOTAVAIL"):
                client.bind(("192.0.2.1", 0))
            with raises(OverflowError):
                client.bind(("127.0.0.1", 65536))
            with raises(OSError):
                client.setsockopt(socket.SOL_SOCKET, 9999, 1)
    closed = socket.socket()
    closed.close()
    with raises(OSError, error="EBADF"):
        closed.send(b"x")
    with raises(OSError, error="EBADF"):
        closed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        with raises(BlockingIOError):
            server.accept()


def test_options():
    with socket.socket() as sock:
        get = lambda name: sock.getsockopt(socket.SOL_SOCKET, name)  # noqa: E731
        equal((get(socket.SO_TYPE), get(socket.SO_ERROR), get(socket.SO_REUSEADDR)), (socket.SOCK_STREAM, 0, 0))
        for name in (socket.SO_REUSEADDR, socket.SO_KEEPALIVE, socket.SO_BROADCAST, socket.SO_REUSEPORT):
            sock.setsockopt(socket.SOL_SOCKET, name, 1)
            equal(get(name), 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        equal(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 5))
        equal(struct.unpack("ii", sock.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)), (1, 5))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 10_000)
        equal(get(socket.SO_RCVBUF), 20_000)
        equal((sock.getblocking(), sock.gettimeout()), (True, None))
        sock.setblocking(False)
        assert not os.get_blocking(sock.fileno())


def test_ipv6():
    client, end = pair(socket.AF_INET6, "::1")
    with client, end:
        host, port, flow, scope = client.getpeername()
        equal((host, flow, scope), ("::1", 0, 0))
        client.sendall(b"six")
        equal(end.recv(10), b"six")
    with socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        with socket.create_connection(("127.0.0.1", server.getsockname()[1])) as client:
            end, address = server.accept()
            end.close()
            equal(address[:2], ("::ffff:127.0.0.1", client.getsockname()[1]))
        with socket.create_connection(("localhost", server.getsockname()[1])):
            server.accept()[0].close()


def test_unix_sockets_have_files():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "s")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            assert stat.S_ISSOCK(os.stat(path).st_mode)
            equal(server.getsockname(), path)
            server.listen()
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
                end, address = server.accept()
                equal((address, client.getpeername()), ("", path))
                with end:
                    end.sendall(b"file")
                equal(client.recv(10), b"file")
                equal(client.recv(10), b"")
        with socket.socket(socket.AF_UNIX) as client:
            with raises(ConnectionRefusedError):
                client.connect(path)
            equal(client.connect_ex(os.path.join(directory, "none")), errno.ENOENT)
            with raises(OSError, "AF_UNIX path too long"):
                client.connect("x" * 200)
        os.unlink(path)
    name = b"\0abstract"
    datagrams = socket.AF_UNIX, socket.SOCK_DGRAM
    with socket.socket(*datagrams) as receiver, socket.socket(*datagrams) as sender:
        receiver.bind(name)
        sender.bind("")
        sender.sendto(b"datagram", name)
        data, source = receiver.recvfrom(4)
        equal((data, source, receiver.getsockname()), (b"data", sender.getsockname(), name))
        sender.sendmsg([b"in ", b"parts"], [], 0, name)
        data, ancillary, flags, source = receiver.recvmsg(4)
        equal((data, ancillary, flags), (b"in p", [], socket.MSG_TRUNC))
        receiver.sendto(b"back", source)
        room = bytearray(10)
        equal((sender.recvfrom_into(room), room[:4]), ((4, name), b"back"))


def test_datagrams():
    with socket.socket(type=socket.SOCK_DGRAM) as server, socket.socket(type=socket.SOCK_DGRAM) as client:
        server.bind(("127.0.0.1", 0))
        client.sendto(b"one", server.getsockname())
        client.sendto(b"two", 0, server.getsockname())
        data, source = server.recvfrom(100)
        equal((data, source), (b"one", ("127.0.0.1", client.getsockname()[1])))
        data, ancillary, flags, source = server.recvmsg(2)
        equal((data, flags), (b"tw", socket.MSG_TRUNC))
        with raises(OSError, error="EDESTADDRREQ"):
            client.send(b"x")
        with raises(OSError, error="EMSGSIZE"):
            client.sendto(bytes(70_000), server.getsockname())
        client.connect(server.getsockname())
        server.close()
        client.send(b"nobody")
        with raises(ConnectionRefusedError):
            client.recv(10)


def test_readiness():
    client, end = pair()
    with client, end, selectors.DefaultSelector() as selector:
        selector.register(client, selectors.EVENT_READ | selectors.EVENT_WRITE)
        equal([events for _, events in selector.select(0)], [selectors.EVENT_WRITE])
        end.send(b"x")
        equal([events for _, events in selector.select(0)], [selectors.EVENT_READ | selectors.EVENT_WRITE])
        client.recv(1)
        client.setblocking(False)
        sent = 0
        with raises(BlockingIOError):
            while True:
                sent += client.send(bytes(1 << 16))
        equal(selector.select(0), [])
        end.setblocking(False)
        received = 0
        while received < sent:
            received += len(end.recv(1 << 20))
        poll = select.poll()
        poll.register(end)
        equal(poll.poll(0), [(end.fileno(), select.POLLOUT)])
        client.shutdown(socket.SHUT_WR)
        end.shutdown(socket.SHUT_WR)
        ((_, events),) = poll.poll(0)
        assert events & select.POLLHUP and events & select.POLLIN, events
    readable, writable, failed = select.select([], [], [], 0)
    equal((readable, writable, failed), ([], [], []))


def test_a_server_and_clients_in_one_thread():
    selector = selectors.DefaultSelector()
    server = socket.create_server(("127.0.0.1", 0))
    server.setblocking(False)
    selector.register(server, selectors.EVENT_READ, "server")
    clients = []
    for index in range(20):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(server.getsockname())
        selector.register(client, selectors.EVENT_WRITE, index)
        clients.append(client)
    answers = {}
    while len(answers) < len(clients):
        for key, _ in selector.select(5):
            sock, data = key.fileobj, key.data
            if data == "server":
                end, _ = sock.accept()
                end.setblocking(False)
                selector.register(end, selectors.EVENT_READ, "end")
            elif data == "end":
                received = sock.recv(100)
                if received:
                    sock.sendall(received.upper())
                else:
                    selector.unregister(sock)
                    sock.close()
            elif key.events == selectors.EVENT_WRITE:
                equal(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
                sock.sendall(f"client {data}".encode())
                selector.modify(sock, selectors.EVENT_READ, data)
            else:
                answers[data] = sock.recv(100)
                selector.unregister(sock)
    equal(answers, {index: f"CLIENT {index}".encode() for index in range(20)})
    for sock in [server, *clients]:
        sock.close()
    selector.close()


async def echo(reader, writer):
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()
    writer.close()


async def talk(opening):
    reader, writer = await opening
    writer.write(b"hello\n" * 1000)
    writer.write_eof()
    data = await reader.read()
    writer.close()
    await writer.wait_closed()
    equal(data, b"HELLO\n" * 1000)


def test_asyncio_streams():
    async def main():
        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            await asyncio.gather(*(talk(asyncio.open_connection("localhost", port)) for _ in range(10)))
        with raises(OSError):
            await asyncio.open_connection("127.0.0.1", port)
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "s")
            async with await asyncio.start_unix_server(echo, path):
                await asyncio.gather(*(talk(asyncio.open_unix_connection(path)) for _ in range(10)))

    asyncio.run(main())


def test_asyncio_datagrams():
    class Echo(asyncio.DatagramProtocol):
        def connection_made(self, transport):
            self.transport = transport

        def datagram_received(self, data, source):
            self.transport.sendto(data.upper(), source)

    class Client(asyncio.DatagramProtocol):
        def __init__(self, answer):
            self.answer = answer

        def connection_made(self, transport):
            transport.sendto(b"datagram")

        def datagram_received(self, data, source):
            self.answer.set_result(data)

    async def main():
        loop = asyncio.get_running_loop()
        server, _ = await loop.create_datagram_endpoint(Echo, local_addr=("127.0.0.1", 0))
        answer = loop.create_future()
        address = server.get_extra_info("sockname")
        client, _ = await loop.create_datagram_endpoint(lambda: Client(answer), remote_addr=address)
        equal(await asyncio.wait_for(answer, 5), b"DATAGRAM")
        client.close()
        server.close()

    asyncio.run(main())


def test_asyncio_sockets():
    async def main():
        loop = asyncio.get_running_loop()
        one, other = socket.socketpair()
        with one, other:
            one.setblocking(False)
            other.setblocking(False)
            reading = asyncio.create_task(loop.sock_recv(other, 1 << 20))
            await asyncio.sleep(0)
            sending = asyncio.create_task(loop.sock_sendall(one, bytes(1_000_000)))
            total = len(await reading)
            while total < 1_000_000:
                total += len(await loop.sock_recv(other, 1 << 20))
            await sending
            equal(total, 1_000_000)
        waking = loop.create_future()
        loop.call_soon_threadsafe(waking.set_result, 1)
        equal(await waking, 1)

    asyncio.run(main())


def test_names():
    equal(socket.gethostbyname("localhost"), "127.0.0.1")
    equal(socket.gethostbyname_ex("127.0.0.1")[2], ["127.0.0.1"])
    equal(socket.gethostbyaddr("127.0.0.1")[0], "localhost")
    equal(socket.getnameinfo(("127.0.0.1", 80), 0), ("localhost", "http"))
    equal(socket.getnameinfo(("127.0.0.1", 80), socket.NI_NUMERICHOST | socket.NI_NUMERICSERV), ("127.0.0.1", "80"))
    equal(socket.getnameinfo(("::1", 80, 0, 0), socket.NI_NUMERICHOST), ("::1", "http"))
    stream = dict(type=socket.SOCK_STREAM)
    four = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))
    six = (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 80, 0, 0))
    equal(socket.getaddrinfo("127.0.0.1", "http", **stream), [four])
    equal(socket.getaddrinfo("::1", 80, **stream), [six])
    equal(socket.getaddrinfo(None, 80, **stream), [six, four])
    equal(socket.getaddrinfo(None, 80, socket.AF_INET, flags=socket.AI_PASSIVE, **stream)[0][4], ("0.0.0.0", 80))
    equal(len(socket.getaddrinfo("127.0.0.1", 0)), 3)
    for short in ("127.1", "0x7f.1", "2130706433"):
        equal(socket.getaddrinfo(short, 80, **stream), [four])
    equal([entry[4][0] for entry in socket.getaddrinfo("localhost", 80, socket.AF_INET)], ["127.0.0.1"] * 3)
    with raises(socket.gaierror):
        socket.getaddrinfo("nowhere.invalid", 80)
    with raises(socket.gaierror):
        socket.getaddrinfo("127.0.0.1", "no service of this name")
    equal((socket.getservbyname("https"), socket.getservbyname("domain", "udp")), (443, 53))
    equal((socket.getservbyport(22), socket.getprotobyname("udp")), ("ssh", 17))
    assert (1, "lo") in socket.if_nameindex()
    equal((socket.if_nametoindex("lo"), socket.if_indextoname(1)), (1, "lo"))
    assert socket.has_ipv6


def test_refusals_name_the_address():
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        address = server.getsockname()
    with socket.socket() as client:
        client.setblocking(False)
        equal(client.connect_ex(address), errno.EINPROGRESS)
        equal(select.select([], [client], [], 60)[1], [client])
        equal(client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), errno.ECONNREFUSED)
        equal(client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
    with raises(ConnectionRefusedError, "Connect call failed"):
        asyncio.run(asyncio.open_connection(*address))
