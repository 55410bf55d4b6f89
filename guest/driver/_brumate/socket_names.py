"""Names of hosts, services, protocols and interfaces. The host looks up names of other machines.

Imported before `socket`, which takes these functions from `_socket`.
"""

from .pristine import __builtins__

import _socket
import errno
import operator
import os
import sys

from . import internet_addresses, sockets

_AF_UNSPEC, _AF_INET, _AF_INET6 = 0, 2, 10
_AI_PASSIVE, _AI_NUMERICHOST, _AI_V4MAPPED = 1, 4, 8
_NI_NUMERICHOST, _NI_NUMERICSERV, _NI_NAMEREQD, _NI_DGRAM = 1, 2, 8, 16
_EAI_NONAME, _EAI_FAIL = -2, -4
# The loopback interface.
_INTERFACE, _INTERFACE_NUMBER = "lo", 1

_host_getaddrinfo, _getnameinfo = _socket.getaddrinfo, _socket.getnameinfo


def _getaddrinfo(*arguments):
    try:
        return _host_getaddrinfo(*arguments)
    except _socket.gaierror as error:
        text = sockets.refusal() if error.errno == _EAI_FAIL else ""
        if not text:
            raise
        # The name of the host is looked up only if a rule has it.
        raise _socket.gaierror(_EAI_NONAME, f"NetworkRefused: {text}") from None


def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
    """Resolve host and port into addrinfo struct."""
    if family not in (_AF_UNSPEC, _AF_INET6):
        return _getaddrinfo(host, port, family, type, proto, flags)
    text = host.decode() if isinstance(host, (bytes, bytearray)) else host
    numeric, scope = _ipv6(text)
    if numeric is not None:
        # The answer for any address of IPv4 has the same ports, types and protocols.
        found = _getaddrinfo("127.0.0.1", port, _AF_INET, type, proto, flags & ~_AI_NUMERICHOST)
        return _as_ipv6(found, text, numeric, scope)
    found = _getaddrinfo(host, port, _AF_INET, type, proto, flags)
    if _is_ipv4(text) or _is_outside(found):
        if family == _AF_UNSPEC:
            return found
        if not flags & _AI_V4MAPPED:
            raise _socket.gaierror(_EAI_NONAME, "Name does not resolve")
        return _as_ipv6(found, text, "::ffff:{}")
    # A name of this machine, or none: both protocols have an address.
    six = _as_ipv6(found, text, "::" if host is None and flags & _AI_PASSIVE else "::1")
    if family == _AF_INET6:
        return six
    return found + six if host is None and flags & _AI_PASSIVE else six + found


def _ipv6(host):
    """A numeric address of IPv6 in its usual form, and the number of its interface; None and 0 for others."""
    if not isinstance(host, str) or ":" not in host:
        return None, 0
    address, _, interface = host.partition("%")
    try:
        packed = internet_addresses.inet_pton(_AF_INET6, address)
        scope = int(interface) if interface.isdigit() else if_nametoindex(interface) if interface else 0
    except OSError:
        return None, 0
    return internet_addresses.inet_ntop(_AF_INET6, packed), scope


def _is_outside(found):
    """Whether an answer is about another machine, which has addresses of IPv4 here."""
    address = found[0][4][0]
    return not address.startswith("127.") and address != "0.0.0.0"


def _is_ipv4(host):
    try:
        _socket.inet_aton(host)
    except (OSError, TypeError):
        return False
    return True


def _as_ipv6(found, name, address, scope=0):
    canonical = name if found and found[0][3] else ""
    return [
        (_AF_INET6, kind, protocol, canonical if not index else "", (address.format(place[0]), place[1], 0, scope))
        for index, (_, kind, protocol, _, place) in enumerate(found)
    ]


def getnameinfo(sockaddr, flags, /):
    """Get host and port for a sockaddr."""
    host, service = _getnameinfo(sockaddr, flags)
    # The interpreter was built without IPv6, and takes no interface along.
    return scoped(host, sockaddr[3] if len(sockaddr) > 3 else 0), service


def scoped(host, scope):
    """A host with its interface, if it is a numeric address of IPv6: by name if the address is of one link."""
    if not scope or ":" not in host:
        return host
    first, second = internet_addresses.inet_pton(_AF_INET6, host)[:2]
    is_of_link = (first == 0xFE and second & 0xC0 == 0x80) or (first == 0xFF and second & 0xF == 2)
    return f"{host}%{_INTERFACE if is_of_link and scope == _INTERFACE_NUMBER else scope}"


def gethostbyaddr(ip_address, /):
    """Return the true host name, a list of aliases, and a list of IP addresses, for a host."""
    address = _getaddrinfo_one(ip_address)
    try:
        name, _ = _getnameinfo((address, 0), _NI_NAMEREQD)
    except _socket.gaierror:
        raise _socket.herror(1, "Unknown host") from None
    return name, [], [address]


def gethostbyname_ex(hostname, /):
    """Return the true host name, a list of aliases, and a list of IP addresses, for a host."""
    address = _socket.gethostbyname(hostname)
    return hostname, [], [address]


def _getaddrinfo_one(host):
    return getaddrinfo(host, None)[0][4][0]


def _datagrams(protocolname):
    if protocolname not in ("tcp", "udp"):
        raise OSError("service/proto not found")
    return protocolname == "udp"


def getservbyname(servicename, protocolname=None, /):
    """Return a port number from a service name and protocol name."""
    kinds = (1, 2) if protocolname is None else (2,) if _datagrams(protocolname) else (1,)
    for kind in () if servicename.isdigit() else kinds:
        try:
            return _getaddrinfo("127.0.0.1", servicename, _AF_INET, kind)[0][4][1]
        except _socket.gaierror:
            pass
    raise OSError("service/proto not found")


def getservbyport(port, protocolname=None, /):
    """Return the service name from a port number and protocol name."""
    if not 0 <= port <= 0xFFFF:
        raise OverflowError("getservbyport: port must be 0-65535.")
    flags = (0, _NI_DGRAM) if protocolname is None else (_NI_DGRAM,) if _datagrams(protocolname) else (0,)
    for flag in flags:
        _, name = _getnameinfo(("127.0.0.1", port), _NI_NUMERICHOST | flag)
        if name != str(port):
            return name
    raise OSError("port/proto not found")


def getprotobyname(protocolname, /):
    """Return the protocol number for the protocol name."""
    number = getattr(_socket, f"IPPROTO_{protocolname.upper().replace('-', '')}", None)
    if number is None:
        raise OSError("protocol not found")
    return number


def if_nameindex():
    """Returns a list of network interface information (index, name) tuples."""
    return [(_INTERFACE_NUMBER, _INTERFACE)]


def if_nametoindex(oname, /):
    """Returns the interface index corresponding to the interface name if_name."""
    if os.fsdecode(oname) != _INTERFACE:
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
    return _INTERFACE_NUMBER


def if_indextoname(if_index, /):
    """Returns the interface name corresponding to the interface index if_index."""
    number = operator.index(if_index)
    if number < 0:
        raise ValueError("Cannot convert negative int")
    if number > 0xFFFFFFFF:
        raise OverflowError("Python int too large to convert to C unsigned int")
    if number != _INTERFACE_NUMBER:
        raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
    return _INTERFACE


_ALL = (
    getaddrinfo,
    getnameinfo,
    gethostbyaddr,
    gethostbyname_ex,
    getservbyname,
    getservbyport,
    getprotobyname,
    if_nameindex,
    if_nametoindex,
    if_indextoname,
    internet_addresses.inet_pton,
    internet_addresses.inet_ntop,
)

if sys.platform == "emscripten":
    for _function in _ALL:
        _function.__module__ = "_socket"
        setattr(_socket, _function.__name__, _function)
