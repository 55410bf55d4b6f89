"""Addresses and names of sockets, which the interpreter's `_socket` was built without; beside native Python."""

import os
import random
import socket
import unittest

import guest_path  # isort: split

from _brumate import internet_addresses, socket_names, sockets


def outcome(function, *arguments):
    """What a call gives or raises."""
    try:
        return function(*arguments)
    except Exception as error:
        return type(error)


class Arguments(unittest.TestCase):
    def test_of_messages(self):
        ours = sockets.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(ours.close)
        native = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(native.close)
        for name, *arguments in (
            ("recvmsg", -1),
            ("recvmsg", 5, -1),
            ("recvmsg", 5, "text"),
            ("recvmsg", 5, 0, object()),
            ("recvmsg_into", [b"read-only"]),
            ("recvmsg_into", [object()]),
            ("recvmsg_into", [bytearray(5)], -1),
            ("recvmsg_into", [bytearray(5)], object()),
            ("recvfrom_into", b"read-only"),
            ("sendmsg", [b"text"], [], object(), b"\0name"),
            ("sendmsg", [b"text"], [(0, 0)]),
            ("sendmsg", [b"text"], [(0, object(), b"data")]),
            ("sendmsg", [b"text"], [(0, 0, "text")]),
            ("sendmsg", [b"text"], object()),
        ):
            raised = outcome(getattr(ours, name), *arguments)
            self.assertEqual(raised, outcome(getattr(native, name), *arguments), (name, arguments))


class InternetAddresses(unittest.TestCase):
    @unittest.skipUnless(socket.has_ipv6, "compares with the system's")
    def test_addresses(self):
        chosen = random.Random(1)
        packed = [bytes(15) + b"\1", bytes(16), bytes(12) + b"\1\2\3\4", bytes(10) + b"\xff\xff\1\2\3\4"]
        packed += [bytes(chosen.choice((0, 0, 255, 18)) for _ in range(16)) for _ in range(2000)]
        for address in packed:
            text = socket.inet_ntop(socket.AF_INET6, address)
            self.assertEqual(internet_addresses.inet_ntop(socket.AF_INET6, address), text)
            self.assertEqual(internet_addresses.inet_pton(socket.AF_INET6, text), address)
        for text in (
            "",
            "::",
            "1::2::3",
            "fe80::1%eth0",
            "12345::",
            "::1.2.3.256",
            ":1",
            "1:2:3:4:5:6:7:8:9",
            5,
            b"::1",
        ):
            ours = outcome(internet_addresses.inet_pton, socket.AF_INET6, text)
            self.assertEqual(ours, outcome(socket.inet_pton, socket.AF_INET6, text))
        self.assertEqual(internet_addresses.inet_pton(socket.AF_INET, "1.2.3.4"), b"\1\2\3\4")
        self.assertEqual(internet_addresses.inet_ntop(socket.AF_INET, b"\1\2\3\4"), "1.2.3.4")
        self.assertEqual(outcome(internet_addresses.inet_ntop, socket.AF_INET6, b"\1"), ValueError)

    @unittest.skipUnless(socket.has_ipv6 and (1, "lo") in socket.if_nameindex(), "compares with the system's")
    def test_interfaces(self):
        for address in ("fe80::1", "febf::1", "fec0::1", "ff02::1", "ff32::1", "ff01::1", "2001::1"):
            for scope in (0, 1, 4242):
                place = (address, 80, 0, scope)
                native, _ = socket.getnameinfo(place, socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)
                self.assertEqual(socket_names.scoped(address, scope), native)
        self.assertEqual(socket_names.scoped("localhost", 1), "localhost")
        self.assertEqual(socket_names.scoped("127.0.0.1", 1), "127.0.0.1")


class Packed(unittest.TestCase):
    def test_paths(self):
        long = "p" * 107, b"\0" + b"a" * 107
        for path in ("/tmp/s", b"/tmp/s", bytearray(b"s"), "\udcff", b"\0abstract\0", "", *long):
            packed = sockets.pack(socket.AF_UNIX, path, "bind")
            raw = os.fsencode(path) if isinstance(path, str) else bytes(path)
            is_file = raw and raw[0]
            self.assertEqual(packed, b"\1\0" + raw + (b"\0" if is_file else b""))
            expected = os.fsdecode(raw) if is_file else raw if raw else ""
            self.assertEqual(sockets.unpack(socket.AF_UNIX, packed), expected)
        for path, error in [("p" * 108, OSError), (b"\0" * 109, OSError), (5, TypeError), (None, TypeError)]:
            self.assertEqual(outcome(sockets.pack, socket.AF_UNIX, path, "bind"), error)

    def test_ipv6(self):
        for address in [("::1", 80), ("fe80::1", 65535, 5, 7), ("::ffff:127.0.0.1", 0, 0xFFFFF), ("", 1), (b"::1", 1)]:
            packed = sockets.pack(socket.AF_INET6, address, "bind")
            self.assertEqual((len(packed), packed[:2]), (28, b"\n\0"))
            host, port, flow, scope = sockets.unpack(socket.AF_INET6, packed)
            text = address[0].decode() if isinstance(address[0], bytes) else address[0]
            self.assertEqual((host, port, flow, scope), (text or "::", *address[1:], 0, 0)[:4])
        for address, error in [
            ("::1", TypeError),
            (("::1",), TypeError),
            (("::1", 1, 2, 3, 4), TypeError),
            (("::1", 65536), OverflowError),
            (("::1", -1), OverflowError),
            (("::1", 1, 1 << 20), OverflowError),
            (("::1", "80"), TypeError),
            (("no host.invalid", 80), socket.gaierror),
        ]:
            self.assertEqual(outcome(sockets.pack, socket.AF_INET6, address, "bind"), error)


@unittest.skipUnless(socket.has_ipv6, "compares with the system's")
class Names(unittest.TestCase):
    def test_addresses_are_the_systems(self):
        stream, numeric, passive = socket.SOCK_STREAM, socket.AI_NUMERICHOST, socket.AI_PASSIVE
        for arguments in [
            ("127.0.0.1", 80),
            ("127.0.0.1", "80", 0, stream),
            ("127.0.0.1", 80, socket.AF_INET6),
            ("127.0.0.1", 80, socket.AF_INET6, stream, 0, socket.AI_V4MAPPED),
            ("::1", 80, 0, stream),
            ("::1", 80, socket.AF_INET),
            ("0::01", 80, 0, 0, socket.IPPROTO_UDP, numeric),
            ("fe80::1%lo", 80, 0, stream),
            ("fe80::1%nolink", 80, 0, stream),
            ("::1", None, 0, stream, 0, socket.AI_CANONNAME),
            (None, 80, 0, stream),
            (None, 80, socket.AF_INET6, stream, 0, passive),
            (None, None),
        ]:
            expected = outcome(socket.getaddrinfo, *arguments)
            if isinstance(expected, list):
                expected = [tuple(entry) for entry in expected]
            self.assertEqual(outcome(socket_names.getaddrinfo, *arguments), expected, arguments)

    def test_services_and_interfaces(self):
        for name in ("http", "https", "domain", "no such service", "80"):
            self.assertEqual(outcome(socket_names.getservbyname, name), outcome(socket.getservbyname, name))
        for arguments in [(22,), (53, "udp"), (53, "icmp"), (1 << 16,), (-1,)]:
            ours, theirs = outcome(socket_names.getservbyport, *arguments), outcome(socket.getservbyport, *arguments)
            self.assertEqual(ours, theirs, arguments)
        for name in ("tcp", "udp", "icmp", "no such protocol"):
            self.assertEqual(outcome(socket_names.getprotobyname, name), outcome(socket.getprotobyname, name))
        for name in ("lo", b"lo", "none", 0):
            self.assertEqual(outcome(socket_names.if_nametoindex, name), outcome(socket.if_nametoindex, name))
        for number in (1, 0, 1 << 100):
            self.assertEqual(outcome(socket_names.if_indextoname, number), outcome(socket.if_indextoname, number))


if __name__ == "__main__":
    unittest.main()
