import hashlib
import ssl

names = sorted(n for n in hashlib.algorithms_available)
print(f'{len(names)} algorithms')
for name in names:
    try:
        h = hashlib.new(name)
        h.update(b'hello world')
        digest = h.hexdigest(16) if name.startswith('shake') else h.hexdigest()
        print(f'{name:<14}{digest[:40]}')
    except Exception as e:
        print(f'{name:<14}unavailable: {type(e).__name__}')

with open('payload.bin', 'wb') as f:
    f.write(b'\x00\x01\x02' * 100_000)
with open('payload.bin', 'rb') as f:
    print(hashlib.file_digest(f, 'sha256').hexdigest())
print(hashlib.sha256)
print(repr(hashlib.md5(usedforsecurity=False)).split(' object')[0].split(' @')[0])
print(ssl.OPENSSL_VERSION.split()[0], ssl.HAS_TLSv1_3, ssl.HAS_SNI)
