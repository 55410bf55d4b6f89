"""Takes URLs apart and puts them together."""

from urllib.parse import (
    parse_qs,
    parse_qsl,
    quote,
    quote_plus,
    unquote,
    urlencode,
    urljoin,
    urlparse,
    urlsplit,
    urlunsplit,
)

URL = 'https://user:p%40ss@example.com:8443/a/b%20c/../d;v=1?q=x+y&q=2&empty=&lang=%C3%A9#frag?ment'
parts = urlsplit(URL)
print(parts, parts.hostname, parts.port, parts.username, unquote(parts.password), parts.netloc)
print(
    urlparse(URL).params,
    parse_qs(parts.query),
    parse_qs(parts.query, keep_blank_values=True),
    parse_qsl('a=1;b=2', separator=';'),
)
print(
    urlencode({'q': 'x y&z', 'n': [1, 2], 'é': None}, doseq=True),
    quote('a/b c?é'),
    quote('/x', safe=''),
    quote_plus('1 + 1'),
)
for link in ('e', '../e', '/e', '//other/e', '?x', '#f', 'http://h/', ''):
    print(repr(link), urljoin('http://host/a/b/c?d#e', link))
print(
    urlunsplit(parts._replace(scheme='http', netloc='h', query='', fragment='')),
    parts._replace(query='z=1').geturl()[-10:],
)
for bad in ('http://[::1', 'http://host:port/', 'http://host:99999/'):
    try:
        print(urlsplit(bad).port)
    except ValueError as error:
        print(type(error).__name__, error)
