import hashlib
import hmac
import secrets


def derive(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=2**12, r=8, p=1, dklen=32)


def issue(user: str, key: bytes) -> str:
    signature = hmac.digest(key, user.encode(), 'sha256').hex()
    return f'{user}.{signature[:16]}'


key = derive('hunter2', b'fixed salt')
print(key.hex())
token = issue('alice', key)
print(token, hmac.compare_digest(token, issue('alice', key)), len(secrets.token_bytes()))
for options in ({'n': 2**20, 'r': 8, 'p': 1}, {'n': 3, 'r': 8, 'p': 1}, {'n': 16, 'r': 1, 'p': 1, 'dklen': 0}):
    try:
        hashlib.scrypt(b'x', salt=b'y', **options)
    except ValueError as e:
        print(type(e).__name__, e)
