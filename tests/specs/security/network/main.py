"""Code that wants to reach the network, or anybody at all."""

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
                raise AssertionError((family, kind, address))
            for address in [("0.0.0.0", 8080), ("::", 8080), "here"]:
                try:
                    made.bind(address)
                    made.listen()
                except (OSError, TypeError, ValueError):
                    continue
                raise AssertionError((family, kind, address))
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
        await asyncio.start_server(print, "127.0.0.1", 8080)

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
        ("socket", (2, 1, 0)),
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
