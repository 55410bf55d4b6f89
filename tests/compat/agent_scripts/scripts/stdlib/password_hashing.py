import hashlib
import hmac
import secrets


def hash_password(password: str, salt: bytes, iterations: int = 50_000) -> str:
    derived = hashlib.pbkdf2_hmac('sha256', password.encode(), salt, iterations)
    return f'pbkdf2${iterations}${salt.hex()}${derived.hex()}'


def verify(password: str, stored: str) -> bool:
    _, iterations, salt, digest = stored.split('$')
    again = hash_password(password, bytes.fromhex(salt), int(iterations))
    return hmac.compare_digest(again, stored)


salt = bytes(range(16))
stored = hash_password('correct horse', salt)
print(stored)
print('right password:', verify('correct horse', stored), '| wrong:', verify('battery', stored))

for name in ('md5', 'sha1', 'sha224', 'sha512', 'sha3_256', 'blake2b', 'blake2s'):
    h = hashlib.new(name, b'The quick brown fox')
    print(f'{name:10} {h.digest_size:3} {h.block_size:4} {h.hexdigest()[:32]}')
print(hashlib.shake_128(b'abc').hexdigest(10))
print(hashlib.blake2b(b'data', key=b'k' * 16, person=b'demo', digest_size=12).hexdigest())
mac = hmac.new(b'key', digestmod='sha512')
for part in (b'one', b'two'):
    mac.update(part)
print(mac.name, mac.hexdigest()[:24])
print(len(secrets.token_hex(16)), len(secrets.token_urlsafe(32)), secrets.randbelow(1))
try:
    hashlib.new('whirlpool9000')
except ValueError as e:
    print('ValueError:', e)
print(sorted(hashlib.algorithms_guaranteed))
