"""Cookies, signed tokens, basic auth and hashes as a web service has them."""

import base64
import hashlib
import hmac
import json
import secrets
import zlib
from http import HTTPMethod, HTTPStatus
from http.cookies import CookieError, SimpleCookie

cookie = SimpleCookie('a=1; b="x y"; c=z%20')
cookie['sid'] = 'né'
cookie['sid'].update({'path': '/', 'httponly': True, 'max-age': 60, 'samesite': 'Lax'})
print({k: m.value for k, m in cookie.items()}, cookie['sid'].OutputString())
try:
    cookie['bad name'] = '1'
except CookieError as error:
    print(error)


def sign(payload, key):
    head = base64.urlsafe_b64encode(json.dumps({'alg': 'HS256', 'typ': 'JWT'}, separators=(',', ':')).encode()).rstrip(
        b'='
    )
    body = base64.urlsafe_b64encode(json.dumps(payload, separators=(',', ':')).encode()).rstrip(b'=')
    mark = base64.urlsafe_b64encode(hmac.new(key, head + b'.' + body, hashlib.sha256).digest()).rstrip(b'=')
    return b'.'.join((head, body, mark)).decode()


token = sign({'sub': '1234567890', 'name': 'John Doe', 'iat': 1516239022}, b'your-256-bit-secret')
print(token, hmac.compare_digest(token, token))
print(base64.b64encode(b'user:pass'), base64.b85encode(b'hello'), base64.a85encode(b'hello'), base64.b32hexencode(b'x'))
for bad in (b'abc', b'ab$c', b'a==='):
    try:
        print(base64.b64decode(bad, validate=True))
    except ValueError as error:
        print(type(error).__name__, error)
print(HTTPStatus(418).phrase, HTTPStatus.NOT_FOUND.description, HTTPStatus(503).is_server_error, list(HTTPMethod)[:2])
print(
    len(secrets.token_urlsafe(16)),
    secrets.compare_digest('a', 'b'),
    zlib.crc32(b'x'),
    hashlib.blake2s(b'x', key=b'k').hexdigest()[:16],
)
print(
    hashlib.file_digest(open(__file__, 'rb'), 'sha1').name, hashlib.pbkdf2_hmac('sha256', b'p', b's', 1000).hex()[:16]
)
