"""What `ssl` refuses, compared with OpenSSL."""

import os
import ssl
import sys
import tempfile
import types
import unittest

import guest_path  # isort: split

from _brumate import certificates

# A certificate and its key, made for this test: `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes`.
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBdDCCARugAwIBAgIUMjquHpdqjp/dmrBp8m+bVdzzrJwwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjcxODM2NTBaGA8yMTI2MTEwMzE4MzY1
MFowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABHEm
C7Kvr6MBhy5ihwSHx2e9o/lMtvAC75gwx+CEulUOgN1U9SN6ZewxmuaY/UKfl8x6
bzlbRHumnZZSf/EcTbWjUzBRMB0GA1UdDgQWBBS4aPtkrmD1a07SplXT21w29aqU
eDAfBgNVHSMEGDAWgBS4aPtkrmD1a07SplXT21w29aqUeDAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0cAMEQCIFE5IyJXp3D3RawqpPBkpM7r/hBxao2qoxnP
4KK/d22OAiBVEu6HkaBPJA/gHT+3+eccubBKVsFW8CXdb/3+F2vTIQ==
-----END CERTIFICATE-----
"""
KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAB89KU+yDbB7vZ5x
K86Dy3PWbvjoECMoA5WlhQT0K6ehRANCAARxJguyr6+jAYcuYocEh8dnvaP5TLbw
Au+YMMfghLpVDoDdVPUjemXsMZrmmP1Cn5fMem85W0R7pp2WUn/xHE21
-----END PRIVATE KEY-----
"""
DER = ssl.PEM_cert_to_DER_cert(CERTIFICATE)


def stand_in():
    """A module as Pyodide's `ssl`."""

    class SSLContext:
        def load_verify_locations(self, cafile=None, capath=None, cadata=None):
            raise AssertionError("replaced")

        def load_cert_chain(self, certfile, keyfile=None, password=None):
            raise AssertionError("replaced")

    module = types.ModuleType("ssl", "for Pyodide")
    module.SSLContext, module.SSLError = SSLContext, ssl.SSLError
    certificates.use(module)
    return SSLContext()


def outcome(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except Exception as error:
        return type(error), getattr(error, "errno", None) if isinstance(error, FileNotFoundError) else None
    return None


class Certificates(unittest.TestCase):
    def setUp(self):
        self.native, self.ours = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), stand_in()

    def agree(self, method, *arguments, **options):
        expected = outcome(getattr(self.native, method), *arguments, **options)
        self.assertEqual(outcome(getattr(self.ours, method), *arguments, **options), expected, (arguments, options))
        return expected

    def test_data(self):
        refused = 0
        for data in [
            "", b"", "rubbish", b"rubbish", "é", 5, CERTIFICATE, DER, DER * 2, CERTIFICATE * 3, "x\n" + CERTIFICATE,
            CERTIFICATE + "rubbish", CERTIFICATE.encode(), DER[:-1], DER[:40], DER[1:], b"0" * 40, bytes(9),
            bytearray(DER), memoryview(DER), CERTIFICATE.replace("M", "!", 3), CERTIFICATE[: len(CERTIFICATE) // 2],
            "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", KEY,
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n",
        ]:  # fmt: skip
            refused += self.agree("load_verify_locations", cadata=data) is not None
        self.assertGreater(refused, 12)
        self.agree("load_verify_locations")

    def test_texts_of_errors(self):
        for data in ("rubbish", b"rubbish"):
            with self.assertRaises(ssl.SSLError) as native:
                self.native.load_verify_locations(cadata=data)
            with self.assertRaises(ssl.SSLError) as ours:
                self.ours.load_verify_locations(cadata=data)
            self.assertEqual(ours.exception.strerror, native.exception.strerror.partition(" (_ssl")[0])

    def test_files(self):
        with tempfile.TemporaryDirectory() as directory:

            def file(text):
                path = os.path.join(directory, str(len(os.listdir(directory))))
                with open(path, "w") as made:
                    made.write(text)
                return path

            missing, empty, rubbish = os.path.join(directory, "missing"), file(""), file("rubbish")
            certificate, key, both = file(CERTIFICATE), file(KEY), file(CERTIFICATE + KEY)
            for path in (missing, empty, rubbish, certificate, key, both, os.fsencode(certificate), 5):
                self.agree("load_verify_locations", path)
                self.agree("load_verify_locations", cafile=path, cadata=CERTIFICATE)
            self.agree("load_verify_locations", capath=missing)
            self.agree("load_verify_locations", None, 5)
            for arguments in [
                (missing,), (empty,), (rubbish,), (certificate,), (key,), (both,), (certificate, key),
                (certificate, missing), (certificate, rubbish), (certificate, certificate), (key, certificate),
                (certificate, empty), (both, key), (key, key),
            ]:  # fmt: skip
                self.agree("load_cert_chain", *arguments)

    def test_the_real_module_is_left_as_it_is(self):
        before = ssl.SSLContext.load_verify_locations
        certificates.use(ssl)
        self.assertIs(ssl.SSLContext.load_verify_locations, before)


if __name__ == "__main__":
    unittest.main()
