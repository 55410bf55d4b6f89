"""cryptography: ciphers, digests, signatures, exchanges, certificates and containers; keys that differ; what was tampered with."""

import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, InvalidTag, UnsupportedAlgorithm
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes, hmac, padding, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa, x448, x25519
from cryptography.hazmat.primitives.asymmetric import padding as rsa_padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, AESOCB3, AESSIV, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.serialization import pkcs7, pkcs12
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError


def refused(error, action):
    try:
        action()
    except error:
        return
    raise AssertionError(f"no {error}")


token = Fernet(key := Fernet.generate_key()).encrypt(b"text")
assert Fernet(key).decrypt(token) == b"text"
refused(InvalidToken, lambda: Fernet(key).decrypt(token[:-4] + b"AAA="))

# FIPS 197, appendix B; FIPS 180-4's and FIPS 202's examples.
block = Cipher(algorithms.AES(bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")), modes.ECB()).encryptor()
assert block.update(bytes.fromhex("3243f6a8885a308d313198a2e0370734")).hex() == "3925841d02dc09fbdc118597196a0b32"
for algorithm, expected in (
    (hashes.SHA256(), "ba7816bf8f01cfea"),
    (hashes.SHA512(), "ddaf35a193617aba"),
    (hashes.SHA3_256(), "3a985da74fe225b2"),
    (hashes.MD5(), "900150983cd24fb0"),
    (hashes.BLAKE2b(64), "ba80a53f981c4d0d"),
):
    digest = hashes.Hash(algorithm)
    digest.update(b"abc")
    assert digest.finalize().hex().startswith(expected), algorithm.name
for aead in (AESGCM, AESCCM, AESOCB3, ChaCha20Poly1305):
    cipher = aead(aead.generate_key(256) if aead is not ChaCha20Poly1305 else aead.generate_key())
    sealed = cipher.encrypt(b"n" * 12, b"text", b"with")
    assert cipher.decrypt(b"n" * 12, sealed, b"with") == b"text"
    refused(InvalidTag, lambda: cipher.decrypt(b"n" * 12, sealed, b"without"))
siv = AESSIV(AESSIV.generate_key(512))
assert siv.decrypt(siv.encrypt(b"text", [b"a"]), [b"a"]) == b"text"
padder = padding.PKCS7(128).padder()
padded = padder.update(b"text") + padder.finalize()
encryptor = Cipher(algorithms.AES256(b"k" * 32), modes.CBC(b"i" * 16)).encryptor()
decryptor = Cipher(algorithms.AES256(b"k" * 32), modes.CBC(b"i" * 16)).decryptor()
assert decryptor.update(encryptor.update(padded)) == padded
code = hmac.HMAC(b"key", hashes.SHA256())
code.update(b"text")
refused(InvalidSignature, lambda: code.verify(b"0" * 32))

# RFC 6070, 7914 and 5869.
assert PBKDF2HMAC(hashes.SHA1(), 20, b"salt", 2).derive(b"password").hex().startswith("ea6c014dc72d6f8c")
assert Scrypt(b"", 64, 16, 1, 1).derive(b"").hex().startswith("77d6576238657b20")
assert HKDF(hashes.SHA256(), 42, bytes(range(13)), bytes(range(0xF0, 0xFA))).derive(b"\x0b" * 22).hex().startswith("3cb25f25faacd57a")
assert len(Argon2id(salt=b"s" * 16, length=32, iterations=1, lanes=1, memory_cost=64).derive(b"password")) == 32

rsa_key = rsa.generate_private_key(65537, 2048)
pss = rsa_padding.PSS(rsa_padding.MGF1(hashes.SHA256()), rsa_padding.PSS.MAX_LENGTH)
signature = rsa_key.sign(b"text", pss, hashes.SHA256())
rsa_key.public_key().verify(signature, b"text", pss, hashes.SHA256())
refused(InvalidSignature, lambda: rsa_key.public_key().verify(signature, b"other", pss, hashes.SHA256()))
oaep = rsa_padding.OAEP(rsa_padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)
assert rsa_key.decrypt(rsa_key.public_key().encrypt(b"text", oaep), oaep) == b"text"
for curve in (ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1(), ec.SECP256K1()):
    ec_key = ec.generate_private_key(curve)
    ec_key.public_key().verify(ec_key.sign(b"text", ec.ECDSA(hashes.SHA256())), b"text", ec.ECDSA(hashes.SHA256()))
    other = ec.generate_private_key(curve)
    assert ec_key.exchange(ec.ECDH(), other.public_key()) == other.exchange(ec.ECDH(), ec_key.public_key())
    assert ec_key.private_numbers() != other.private_numbers()
for kind in (ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey):
    edwards = kind.generate()
    edwards.public_key().verify(edwards.sign(b"text"), b"text")
    refused(InvalidSignature, lambda: edwards.public_key().verify(edwards.sign(b"other"), b"text"))
for kind in (x25519.X25519PrivateKey, x448.X448PrivateKey):
    one, two = kind.generate(), kind.generate()
    assert one.exchange(two.public_key()) == two.exchange(one.public_key())
dsa_key = dsa.generate_parameters(1024).generate_private_key()
dsa_key.public_key().verify(dsa_key.sign(b"text", hashes.SHA256()), b"text", hashes.SHA256())

# Keys in files, with and without a password.
kept = serialization.BestAvailableEncryption(b"password")
pem = rsa_key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, kept)
assert serialization.load_pem_private_key(pem, b"password").private_numbers() == rsa_key.private_numbers()
refused(ValueError, lambda: serialization.load_pem_private_key(pem, b"wrong"))
ssh = ed25519.Ed25519PrivateKey.generate().private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
)
assert serialization.load_ssh_private_key(ssh, None)
refused(ValueError, lambda: serialization.load_pem_private_key(b"not a key", None))

# A certificate authority, a certificate of it, and one who is not.
now = datetime.datetime.now(datetime.timezone.utc)
day = datetime.timedelta(days=1)


def certificate(name, key, issuer, issuer_key, authority):
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(issuer.subject if issuer else subject, subject, key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - day).not_valid_after(now + day)
    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only"), False
    )
    usage = x509.KeyUsage(digital_signature=not authority, key_cert_sign=authority, crl_sign=authority, **usage)
    of_issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    extensions = [(x509.BasicConstraints(authority, None), True), (usage, True), (of_issuer, False)]
    if authority:
        extensions.append((x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False))
    else:
        extensions.append((x509.SubjectAlternativeName([x509.DNSName(name)]), False))
        extensions.append((x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), False))
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    return builder.sign(issuer_key, hashes.SHA256())


root_key, leaf_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
root = certificate("root", root_key, None, root_key, True)
leaf = certificate("brumate.example", leaf_key, root, root_key, False)
assert x509.load_pem_x509_certificate(leaf.public_bytes(serialization.Encoding.PEM)) == leaf
verifier = PolicyBuilder().store(Store([root])).time(now).build_server_verifier(x509.DNSName("brumate.example"))
assert verifier.verify(leaf, []) == [leaf, root]
impostor = certificate("brumate.example", leaf_key, root, leaf_key, False)
refused(VerificationError, lambda: verifier.verify(impostor, []))
archive = pkcs12.serialize_key_and_certificates(b"name", leaf_key, leaf, [root], kept)
assert pkcs12.load_key_and_certificates(archive, b"password")[1] == leaf
signed = pkcs7.PKCS7SignatureBuilder().set_data(b"text").add_signer(leaf, leaf_key, hashes.SHA256())
assert b"smime" in signed.sign(serialization.Encoding.SMIME, [])
refused(ValueError, lambda: x509.load_der_x509_certificate(b"\x30\x82\xff\xff not a certificate"))
refused((UnsupportedAlgorithm, ValueError), lambda: Cipher(algorithms.AES(b"k" * 16), modes.GCM(b"")).encryptor())
print("cryptography: all of it works")
