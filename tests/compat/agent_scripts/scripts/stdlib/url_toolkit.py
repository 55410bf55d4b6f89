import base64
import binascii
import quopri
import uuid
from http import HTTPStatus
from http.cookies import SimpleCookie
from ipaddress import AddressValueError, IPv4Network, IPv6Address, ip_address, ip_network, summarize_address_range
from urllib.parse import parse_qs, parse_qsl, quote, quote_plus, unquote, urlencode, urljoin, urlsplit, urlunsplit
from urllib.robotparser import RobotFileParser

parts = urlsplit('https://user:p%40ss@Example.com:8443/a/b;x?q=1&q=2&empty=#frag')
print(parts, parts.hostname, parts.port, parts.username, parts._replace(query='').geturl())
print(parse_qs(parts.query), parse_qsl(parts.query, keep_blank_values=True))
print(
    urlencode({'name': 'José & co', 'tags': ['a', 'b']}, doseq=True),
    quote('/path with/ü'),
    quote_plus('a b+c'),
    unquote('%E2%82%AC'),
)
for relative in ('../x', '//cdn.example.org/y', '?z=1', '#top', 'mailto:a@b.c'):
    print(urljoin('https://example.com/a/b/c?d', relative))
print(urlunsplit(('ftp', 'h', 'p', '', 'f')), HTTPStatus.IM_A_TEAPOT.phrase, repr(HTTPStatus(404)))
cookie = SimpleCookie('session=abc123; theme="dark mode"')
cookie['session']['httponly'] = True
print(cookie.output(), cookie['theme'].value)
net = ip_network('192.168.10.0/29')
print([str(h) for h in net.hosts()], net.netmask, IPv4Network('10.0.0.0/8').supernet_of(IPv4Network('10.2.0.0/16')))
print(
    ip_address('::ffff:1.2.3.4').ipv4_mapped, IPv6Address('2001:db8::1').exploded, ip_address('127.0.0.1').is_loopback
)
print(list(summarize_address_range(ip_address('10.0.0.1'), ip_address('10.0.0.6'))))
robots = RobotFileParser()
robots.parse(['User-agent: *', 'Disallow: /private', 'Crawl-delay: 3'])
print(robots.can_fetch('bot', '/private/x'), robots.can_fetch('bot', '/x'), robots.crawl_delay('bot'))
print(
    base64.b64encode(b'\xfb\xff\x00'),
    base64.urlsafe_b64encode(b'\xfb\xff\x00'),
    base64.b32encode(b'hi'),
    base64.b85encode(b'hello'),
    base64.a85encode(b'test'),
)
print(quopri.encodestring('é=x'.encode()), binascii.crc32(b'abc'), binascii.hexlify(b'xyz', '-'))
print(
    uuid.uuid5(uuid.NAMESPACE_DNS, 'example.com'),
    uuid.uuid3(uuid.NAMESPACE_URL, 'x').version,
    uuid.UUID(int=7).urn,
    uuid.uuid4().variant,
)
for action in (
    lambda: base64.b64decode('abc'),
    lambda: ip_network('10.0.0.1/8'),
    lambda: uuid.UUID('xyz'),
    lambda: urlsplit('http://[::1').port,
):
    try:
        action()
    except ValueError as e:
        print(type(e).__name__, e)
