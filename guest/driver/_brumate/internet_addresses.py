"""Addresses of IPv6 as text and as bytes, which the interpreter's `_socket` was built without."""

from .pristine import __builtins__

import _socket

_AF_INET6 = 10
_addresses_to_bytes, _bytes_to_addresses = _socket.inet_pton, _socket.inet_ntop


def inet_pton(address_family, ip_string, /):
    """Convert an IP address from string format to a packed string suitable for use with low-level network functions."""
    if address_family != _AF_INET6 or not isinstance(ip_string, str):
        return _addresses_to_bytes(address_family, ip_string)
    import ipaddress

    try:
        if "%" not in ip_string:
            return ipaddress.IPv6Address(ip_string).packed
    except ValueError:
        pass
    raise OSError("illegal IP address string passed to inet_pton")


def inet_ntop(address_family, packed_ip, /):
    """Convert a packed IP address of the given family to string format."""
    if address_family != _AF_INET6:
        return _bytes_to_addresses(address_family, packed_ip)
    import ipaddress

    packed = bytes(memoryview(packed_ip))
    if len(packed) != 16:
        raise ValueError("invalid length of packed IP address string")
    # As Linux writes it: the last four bytes of these as those of IPv4.
    if not any(packed[:12]) and any(packed[12:14]):
        return f"::{ipaddress.IPv4Address(packed[12:])}"
    if packed[:12] == bytes(10) + b"\xff\xff":
        return f"::ffff:{ipaddress.IPv4Address(packed[12:])}"
    return str(ipaddress.IPv6Address(packed))
