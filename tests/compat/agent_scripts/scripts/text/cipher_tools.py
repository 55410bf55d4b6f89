"""Classic ciphers and encodings."""

import base64
import codecs
import itertools
import string

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def caesar(text, shift):
    lower, upper = string.ascii_lowercase, string.ascii_uppercase
    return text.translate(str.maketrans(lower + upper, lower[shift:] + lower[:shift] + upper[shift:] + upper[:shift]))


def vigenere(text, key):
    shifts = itertools.cycle(ord(c) - 97 for c in key)
    return ''.join(caesar(c, next(shifts)) if c.isalpha() else c for c in text)


def rle(text):
    return ''.join(f'{len(list(group))}{c}' for c, group in itertools.groupby(text))


MORSE = dict(
    zip(
        'etianmsurwdkgo',
        ['.', '-', '..', '.-', '-.', '--', '...', '..-', '.-.', '.--', '-..', '-.-', '--.', '---'],
        strict=True,
    )
)
print(caesar('Hello, World', 3), codecs.encode('Hello', 'rot13'), vigenere('attack at dawn', 'lemon'), rle('aaabccd'))
print(
    ' '.join(MORSE[c] for c in 'stone'),
    'café'.encode('utf-16-be').hex(' '),
    bytes.fromhex('c3 a9').decode(),
    'é'.encode('cp437'),
)
print(base64.b32encode(b'hello'), base64.b16decode('FF00'), codecs.decode('4142', 'hex'), codecs.lookup('latin1').name)
key = HKDF(hashes.SHA256(), 32, b'salt', b'info').derive(b'secret')
sealed = AESGCM(key).encrypt(b'0' * 12, b'message', b'header')
print(key.hex()[:16], sealed.hex(), AESGCM(key).decrypt(b'0' * 12, sealed, b'header'))
box = Fernet(base64.urlsafe_b64encode(bytes(32)))
print(box.decrypt(box.encrypt_at_time(b'x', 1000)), len(box.encrypt(b'x')))
try:
    box.decrypt(b'nonsense')
except InvalidToken as error:
    print(repr(error))
for bad in (
    lambda: 'é'.encode('ascii'),
    lambda: b'\xff'.decode(),
    lambda: bytes.fromhex('abc'),
    lambda: 'x'.encode('nope'),
):
    try:
        bad()
    except (ValueError, LookupError) as error:
        print(type(error).__name__, error)
print(
    'é'.encode('ascii', 'xmlcharrefreplace'),
    'é'.encode('ascii', 'namereplace'),
    b'\xff'.decode('utf-8', 'backslashreplace'),
)
