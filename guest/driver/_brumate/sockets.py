"""Sockets of the families that the interpreter's `_socket` was built without (`AF_UNIX`, `AF_INET6`), `setsockopt` and
`socketpair`: the host makes these calls.

Imported before `socket`, which builds its class upon the one of `_socket`.
"""

from .pristine import __builtins__

import _socket
import errno
import fcntl
import operator
import os
import select
import struct
import sys
import time

from . import internet_addresses

# Number of `brumate-engine`'s `libc/sockets/private.rs`, and its calls.
_SOCKET = 0x42720004
_PAIR, _SET_OPTION, _BIND, _CONNECT, _ACCEPT, _LOCAL_ADDRESS, _REMOTE_ADDRESS, _SEND_TO = range(8)
_RECEIVE_FROM, _REFUSAL = 8, 9
# A call's number, three arguments, the length of the data; the data follows.
_HEAD = struct.Struct("=IiiiI")
# Room for an address of any family.
_ADDRESS_ROOM = 128
# Room for the text of a refusal.
_REFUSAL_ROOM = 1024
# Bytes of a path or an abstract name (`sun_path`).
_PATH_ROOM = 108

_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_MSG_TRUNC = 0x20

_ioctl = fcntl.ioctl
_Base = _socket.socket


def pack(family, address, call):
    """The bytes of an address for the host; `call` is named in errors."""
    return _pack_path(address) if family == _AF_UNIX else _pack_ipv6(address, call)


def _pack_path(address):
    path = os.fsencode(address) if isinstance(address, str) else bytes(memoryview(address))
    if not path or path[0] == 0:
        if len(path) > _PATH_ROOM:
            raise OSError("AF_UNIX path too long")
        return struct.pack("=H", _AF_UNIX) + path
    if len(path) >= _PATH_ROOM:
        raise OSError("AF_UNIX path too long")
    return struct.pack("=H", _AF_UNIX) + path + b"\0"


def _pack_ipv6(address, call):
    if not isinstance(address, tuple):
        raise TypeError(f"{call}(): AF_INET6 address must be tuple, not {type(address).__name__}")
    if not 2 <= len(address) <= 4:
        raise TypeError("AF_INET6 address must be a tuple (host, port[, flowinfo[, scopeid]])")
    host, port, flow, scope = (*address, 0, 0)[:4]
    port, flow, scope = operator.index(port), operator.index(flow), operator.index(scope)
    if not 0 <= port <= 0xFFFF:
        raise OverflowError(f"{call}(): port must be 0-65535.")
    if not 0 <= flow <= 0xFFFFF:
        raise OverflowError(f"{call}(): flowinfo must be 0-1048575.")
    return struct.pack("=H", _AF_INET6) + struct.pack("!HI16s", port, flow, _ipv6(host)) + struct.pack("=I", scope)


def _ipv6(host):
    if isinstance(host, (bytes, bytearray)):
        host = host.decode("ascii")
    if not host:
        return bytes(16)
    try:
        # The interface does not matter: there is one.
        return internet_addresses.inet_pton(_AF_INET6, host.partition("%")[0])
    except OSError:
        # The names of this machine; others raise `gaierror`.
        _socket.getaddrinfo(host, None, _AF_INET6)
        return bytes(15) + b"\1"


def unpack(family, data):
    """An address as the host gives it."""
    if len(data) < 2:
        return None
    if family == _AF_UNIX:
        path = bytes(data[2:])
        return path if path[:1] == b"\0" else os.fsdecode(path.partition(b"\0")[0])
    port, flow, host = struct.unpack_from("!HI16s", data, 2)
    (scope,) = struct.unpack_from("=I", data, 24)
    return internet_addresses.inet_ntop(_AF_INET6, host), port, flow, scope


def _request(descriptor, number, *arguments, data=b""):
    """Makes a call of the host; returns its result and the data that it leaves."""
    if descriptor < 0:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    first, second, third = (*arguments, 0, 0, 0)[:3]
    block = bytearray(_HEAD.pack(number, first, second, third, len(data)))
    block += data
    while True:
        try:
            result = _ioctl(descriptor, _SOCKET, block)
        except InterruptedError:
            # Handlers of signals run before the next round.
            continue
        return result, block


def _request_alone(number, *arguments, data):
    """Makes a call that is about no socket. Any open descriptor can make it."""
    asking = _Base(_AF_UNIX)
    try:
        return _request(asking.fileno(), number, *arguments, data=data)
    finally:
        asking.close()


def _data(block):
    """The data of a block, of the length that it says."""
    length = _HEAD.unpack_from(block)[4]
    return memoryview(block)[_HEAD.size : _HEAD.size + length]


def refusal():
    """The text of the gateway's last refusal, once; empty if there was none."""
    length, block = _request_alone(_REFUSAL, data=bytes(_REFUSAL_ROOM))
    return bytes(_data(block)[:length]).decode(errors="replace")


def _refused(error):
    """The error of a `connect` that is not permitted, with the reason if the gateway has given one."""
    text = refusal()
    return PermissionError(error.errno, f"NetworkRefused: {text}") if text else error


def _writable(buffer):
    view = memoryview(buffer).cast("B")
    if view.readonly:
        raise TypeError(f"read-write bytes-like object expected, not {type(buffer).__name__}")
    return view


class socket(_Base):
    """socket(family=AF_INET, type=SOCK_STREAM, proto=0) -> socket object"""

    __slots__ = ()

    def _waiting(self, events, number, *arguments, data=b""):
        """Makes a call that waits, no longer than the socket's timeout."""
        timeout = self.gettimeout()
        if not timeout:
            return _request(self.fileno(), number, *arguments, data=data)
        end = time.monotonic() + timeout
        while True:
            self._wait(events, end)
            try:
                return _request(self.fileno(), number, *arguments, data=data)
            except BlockingIOError:
                pass

    def _wait(self, events, end):
        poll = select.poll()
        poll.register(self.fileno(), events)
        if not poll.poll(max(0.0, end - time.monotonic()) * 1000):
            raise TimeoutError("timed out")

    def bind(self, address, /):
        """Bind the socket to a local address."""
        if self.family == _AF_INET:
            return _Base.bind(self, address)
        data = pack(self.family, address, "bind")
        sys.audit("socket.bind", self, address)
        _request(self.fileno(), _BIND, data=data)

    def connect(self, address, /):
        """Connect the socket to a remote address."""
        if self.family == _AF_INET:
            try:
                return _Base.connect(self, address)
            except PermissionError as error:
                raise _refused(error) from None
        data = pack(self.family, address, "connect")
        sys.audit("socket.connect", self, address)
        timeout = self.gettimeout()
        try:
            _request(self.fileno(), _CONNECT, data=data)
        except PermissionError as error:
            raise _refused(error) from None
        except BlockingIOError:
            if not timeout:
                raise
            self._wait(select.POLLOUT, time.monotonic() + timeout)
            error = self.getsockopt(_socket.SOL_SOCKET, _socket.SO_ERROR)
            if error:
                raise OSError(error, os.strerror(error)) from None

    def connect_ex(self, address, /):
        """This is like connect(address), but returns an error code instead of raising an exception."""
        if self.family == _AF_INET:
            return _Base.connect_ex(self, address)
        try:
            self.connect(address)
        except TimeoutError as error:
            return error.errno or errno.EAGAIN
        except OSError as error:
            if error.errno is None or isinstance(error, _socket.gaierror):
                raise
            return error.errno
        return 0

    def _accept(self):
        """Wait for an incoming connection. Returns a descriptor and the address of the client."""
        if self.family == _AF_INET:
            return _Base._accept(self)
        room = bytes(_ADDRESS_ROOM)
        descriptor, block = self._waiting(select.POLLIN, _ACCEPT, _socket.SOCK_CLOEXEC, data=room)
        return descriptor, unpack(self.family, _data(block))

    def getsockname(self):
        """Return the address of the local endpoint."""
        if self.family == _AF_INET:
            return _Base.getsockname(self)
        return self._address(_LOCAL_ADDRESS)

    def getpeername(self):
        """Return the address of the remote endpoint."""
        if self.family == _AF_INET:
            return _Base.getpeername(self)
        return self._address(_REMOTE_ADDRESS)

    def _address(self, number):
        _, block = _request(self.fileno(), number, data=bytes(_ADDRESS_ROOM))
        return unpack(self.family, _data(block))

    def setsockopt(self, level, option, value, optlen=None, /):
        """Set a socket option."""
        if value is None:
            if optlen is None:
                raise TypeError("socket option should be integer, bytes-like object or None with a length")
            data = bytes(optlen)
        elif optlen is not None:
            raise TypeError("a length is for the value None only")
        elif hasattr(value, "__index__"):
            value = value.__index__()
            if not -(1 << 31) <= value < 1 << 31:
                raise OverflowError("Python int too large to convert to C int")
            data = struct.pack("=i", value)
        else:
            data = bytes(memoryview(value))
        _request(self.fileno(), _SET_OPTION, operator.index(level), operator.index(option), data=data)

    def sendto(self, data, *arguments):
        """Send data to the address: sendto(data[, flags], address)."""
        if self.family == _AF_INET:
            return _Base.sendto(self, data, *arguments)
        if len(arguments) not in (1, 2):
            raise TypeError(f"sendto() takes 2 or 3 arguments ({len(arguments) + 1} given)")
        address, flags = arguments[-1], arguments[0] if len(arguments) == 2 else 0
        target = pack(self.family, address, "sendto")
        sys.audit("socket.sendto", self, address)
        message = target + bytes(memoryview(data))
        return self._waiting(select.POLLOUT, _SEND_TO, operator.index(flags), len(target), data=message)[0]

    def sendmsg(self, buffers, ancdata=(), flags=0, address=None, /):
        """Send normal and ancillary data to the socket."""
        items = tuple(ancdata)
        for item in items:
            if not isinstance(item, (tuple, list)) or len(item) != 3:
                raise TypeError("[sendmsg() ancillary data items argument] must be 3-item sequence")
            operator.index(item[0]), operator.index(item[1]), memoryview(item[2])
        if items:
            # Neither descriptors nor credentials can be passed.
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        if self.family == _AF_INET or address is None:
            return _Base.sendmsg(self, buffers, (), flags, address)
        return self.sendto(b"".join([bytes(memoryview(part)) for part in buffers]), flags, address)

    def _receive(self, size, flags):
        """Receives; returns the data, the length of what was sent, and the sender."""
        if size < 0:
            raise ValueError("negative buffersize in recvfrom")
        room = bytes(_ADDRESS_ROOM + size)
        length, block = self._waiting(select.POLLIN, _RECEIVE_FROM, flags, _ADDRESS_ROOM, data=room)
        start = _HEAD.size + _ADDRESS_ROOM
        data = bytes(memoryview(block)[start : start + min(length, size)])
        return data, length, unpack(self.family, _data(block))

    def recvfrom(self, bufsize, flags=0, /):
        """Like recv(buffersize, flags) but also return the sender's address info."""
        if self.family == _AF_INET:
            return _Base.recvfrom(self, bufsize, flags)
        data, _, source = self._receive(operator.index(bufsize), operator.index(flags))
        return data, source

    def recvfrom_into(self, buffer, nbytes=0, flags=0):
        """Like recv_into(buffer[, nbytes[, flags]]) but also return the sender's address info."""
        if self.family == _AF_INET:
            return _Base.recvfrom_into(self, buffer, nbytes, flags)
        with _writable(buffer) as view:
            if nbytes < 0:
                raise ValueError("negative buffersize in recvfrom_into")
            if nbytes > len(view):
                raise ValueError("nbytes is greater than the length of the buffer")
            data, _, source = self._receive(nbytes or len(view), flags)
            view[: len(data)] = data
        return len(data), source

    def recvmsg(self, bufsize, ancbufsize=0, flags=0, /):
        """Receive normal data and ancillary data, of which there is none."""
        if self.family == _AF_INET:
            return _Base.recvmsg(self, bufsize, ancbufsize, flags)
        bufsize, ancbufsize, flags = operator.index(bufsize), operator.index(ancbufsize), operator.index(flags)
        if bufsize < 0:
            raise ValueError("negative buffer size in recvmsg()")
        if ancbufsize < 0:
            raise ValueError("invalid ancillary data buffer length")
        data, length, source = self._receive(bufsize, flags | _MSG_TRUNC)
        return data, [], _MSG_TRUNC if length > len(data) else 0, source

    def recvmsg_into(self, buffers, ancbufsize=0, flags=0, /):
        """Receive normal data and ancillary data, of which there is none, into buffers."""
        if self.family == _AF_INET:
            return _Base.recvmsg_into(self, buffers, ancbufsize, flags)
        views = [_writable(buffer) for buffer in buffers]
        data, _, received, source = self.recvmsg(sum(map(len, views)), ancbufsize, flags)
        rest = data
        for view in views:
            part, rest = rest[: len(view)], rest[len(view) :]
            view[: len(part)] = part
        return len(data), [], received, source


socket.__module__ = "_socket"


def socketpair(family=_AF_UNIX, type=1, proto=0, /):
    """Create a pair of socket objects from the sockets returned by the platform socketpair() function."""
    _, block = _request_alone(_PAIR, family, type | _socket.SOCK_CLOEXEC, proto, data=bytes(8))
    return tuple(socket(family, type, proto, descriptor) for descriptor in struct.unpack("=ii", _data(block)))


socketpair.__module__ = "_socket"

if sys.platform == "emscripten":
    _socket.socket = _socket.SocketType = socket
    _socket.socketpair = socketpair
    _socket.has_ipv6 = True
