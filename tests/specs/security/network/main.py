"""Code that wants to reach the network, or anybody but itself."""

import socket
import sys


def refused(function, *arguments):
    try:
        result = function(*arguments)
    except OSError:
        return
    raise AssertionError(f"{function} gave {result!r}")


def sockets():
    for family in [socket.AF_INET, socket.AF_INET6, 1, 16, 17, 40]:
        for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM, 3]:
            try:
                made = socket.socket(family, kind)
            except OSError:
                continue
            for address in [("127.0.0.1", 22), ("1.1.1.1", 53), ("::1", 22), "/run/docker.sock", "\0abstract"]:
                try:
                    made.connect(address)
                except (OSError, TypeError, ValueError):
                    continue
                if kind == socket.SOCK_DGRAM and address[0] in ("127.0.0.1", "::1"):
                    # As everywhere, without anybody there; it is this program's own.
                    continue
                raise AssertionError((family, kind, address))
            for address in [("1.1.1.1", 8080), ("2606:4700::1", 8080), ("10.0.0.1", 0), ("255.255.255.255", 0)]:
                try:
                    made.bind(address)
                except (OSError, TypeError, ValueError):
                    continue
                raise AssertionError((family, kind, address))
            made.close()
    print("ok")


def loopback():
    # What listens here is reached by this program, and by its addresses of loopback only.
    with socket.create_server(("0.0.0.0", 8080)) as server:
        for host in ["127.0.0.1", "127.1.2.3", "0.0.0.0", "localhost"]:
            with socket.create_connection((host, 8080)) as client:
                end, address = server.accept()
                assert address == client.getsockname() and address[0] == "127.0.0.1", address
                end.close()
        for host in ["172.29.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "224.0.0.1", "255.255.255.255"]:
            refused(socket.create_connection, (host, 8080), 5)
    with socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        datagrams.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        for host in ["1.1.1.1", "255.255.255.255", "224.0.0.1", "10.0.0.1"]:
            refused(datagrams.sendto, b"x", (host, 53))
        group = socket.inet_aton("224.0.0.1") + socket.inet_aton("0.0.0.0")
        refused(datagrams.setsockopt, socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
    print("ok")


def floods():
    # Sockets, connections that nobody accepts, and bytes that nobody reads.
    held = []
    try:
        while True:
            server = socket.create_server(("127.0.0.1", 0), backlog=1 << 30)
            held.append(server)
            for _ in range(2000):
                client = socket.socket()
                client.setblocking(False)
                number = client.connect_ex(server.getsockname())
                client.close()
                if number:
                    break
    except OSError:
        pass
    for server in held:
        server.close()
    held, sent = [], 0
    try:
        while True:
            pair = socket.socketpair()
            held.append(pair)
            pair[0].setblocking(False)
            while True:
                try:
                    sent += pair[0].send(bytes(1 << 20))
                except BlockingIOError:
                    break
    except OSError:
        assert sent <= 32 << 20, sent
    for one, other in held:
        one.close()
        other.close()
    # What was closed is free again.
    one, other = socket.socketpair()
    one.sendall(bytes(100_000))
    assert len(other.recv(1 << 20)) == 100_000
    print("ok")


def connections():
    import urllib.request

    refused(socket.create_connection, ("127.0.0.1", 22), 5)
    refused(socket.create_connection, ("1.1.1.1", 443), 5)
    refused(urllib.request.urlopen, "http://127.0.0.1:2024/")
    refused(urllib.request.urlopen, "http://169.254.169.254/latest/meta-data/")
    print("ok")


def names():
    for host in ["example.com", "localhost.localdomain", "metadata.google.internal"]:
        try:
            answers = socket.getaddrinfo(host, 80)
        except OSError:
            continue
        # An address that is made up here is no address of the network.
        assert all(answer[4][0].startswith(("172.29.", "127.")) for answer in answers), answers
    print("ok")


def asynchronous():
    import asyncio

    async def connect():
        await asyncio.open_connection("127.0.0.1", 22)

    refused(asyncio.run, connect())

    async def serve():
        await asyncio.start_server(print, "1.1.1.1", 8080)

    refused(asyncio.run, serve())
    print("ok")


def descriptors():
    # Adopting a descriptor that is no socket.
    for number in [0, 1, 2, 3, 4, 1000]:
        try:
            adopted = socket.socket(socket.AF_INET, socket.SOCK_STREAM, fileno=number)
        except OSError:
            continue
        for function, arguments in [(adopted.recv, (1,)), (adopted.sendmsg, ([b"x"],)), (adopted.accept, ())]:
            try:
                function(*arguments)
            except OSError:
                continue
            raise AssertionError((number, function))
        adopted.detach()
    print("ok")


def c_functions():
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(64)
    for name, arguments in [
        ("socket", (2, 3, 0)),
        ("socket", (16, 3, 0)),
        ("socket", (17, 3, 768)),
        ("socketpair", (1, 1, 0, buffer)),
        ("connect", (3, buffer, 16)),
        ("bind", (3, buffer, 16)),
        ("accept", (3, None, None)),
        ("recvfrom", (3, buffer, 64, 0, None, None)),
        ("sendto", (3, buffer, 64, 0, buffer, 16)),
        ("recvmsg", (3, buffer, 0)),
        ("sendmsg", (3, buffer, 0)),
    ]:
        try:
            function = getattr(library, name)
        except AttributeError:
            continue
        assert function(*arguments) < 0, name
    print("ok")


globals()[sys.argv[1]]()
