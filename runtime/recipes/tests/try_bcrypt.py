"""bcrypt: known hashes, new ones, its derivation of keys; what is not a hash."""

import bcrypt

# Of crypt_blowfish's test vectors.
known = b"$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"
assert bcrypt.hashpw(b"U*U", known) == known and not bcrypt.checkpw(b"U*V", known)
one, two = (bcrypt.hashpw("pässword".encode(), bcrypt.gensalt(5)) for _ in range(2))
assert one != two and all(bcrypt.checkpw("pässword".encode(), each) for each in (one, two))
key = bcrypt.kdf(password=b"password", salt=b"salt", desired_key_bytes=32, rounds=4, ignore_few_rounds=True)
assert key.hex().startswith("5bbf0cc293587f1c3635555c27796598")
for wrong in (lambda: bcrypt.hashpw(b"a", b"not a salt"), lambda: bcrypt.checkpw(b"a", b"$2b$99$short"), lambda: bcrypt.gensalt(3)):
    try:
        wrong()
    except ValueError:
        continue
    raise AssertionError("no error")
print("bcrypt: all of it works")
