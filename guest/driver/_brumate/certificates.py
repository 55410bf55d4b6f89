"""Checks of the certificates that `ssl` loads. There are no connections, but other data is refused as elsewhere.

The standard library's module is a stand-in without OpenSSL. Certificates are checked by form: base64 between the lines
of PEM, and the outermost elements of X.509 (RFC 5280, section 4.1). No signature is verified.
"""

from .pristine import __builtins__

import binascii
import errno
import functools
import os
import re

_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----[ \t\r]*\n(.*?)-----END \1-----", re.DOTALL)
_CERTIFICATES = (b"CERTIFICATE", b"X509 CERTIFICATE", b"TRUSTED CERTIFICATE")
_LIST = b"X509 CRL"
_KEYS = re.compile(rb"(?:[A-Z0-9]+ )*PRIVATE KEY")
_SEQUENCE, _BIT_STRING = 0x30, 0x03
# Bytes of a file that are read.
MAX_FILE = 16 << 20


def use(module):
    """Has contexts of `ssl` check what they load."""
    context = getattr(module, "SSLContext", None)
    if context is None or "Pyodide" not in (module.__doc__ or ""):
        return
    load, load_chain = context.load_verify_locations, context.load_cert_chain

    def refused(text, reason=None, library=None):
        where = f"[{library}: {reason}] " if reason else f"[{library}] " if library else ""
        error = module.SSLError(0, f"{where}{text}")
        error.reason, error.library = reason, library
        return error

    @functools.wraps(load)
    def load_verify_locations(self, cafile=None, capath=None, cadata=None):
        if cafile is None and capath is None and cadata is None:
            raise TypeError("cafile, capath and cadata cannot be all omitted")
        for name, value in (("cafile", cafile), ("capath", capath)):
            if value is not None and not isinstance(value, (str, bytes, os.PathLike)):
                raise TypeError(f"{name} should be a valid filesystem path")
        if cadata is not None:
            _check_data(cadata, refused)
        if cafile is not None:
            if not any([kind in (*_CERTIFICATES, _LIST) for kind in _kinds(_read(cafile), refused)]):
                raise refused("no certificate or crl found", "NO_CERTIFICATE_OR_CRL_FOUND", "X509")

    @functools.wraps(load_chain)
    def load_cert_chain(self, certfile, keyfile=None, password=None):
        kinds = _kinds(_read(certfile), refused)
        if not any([kind in _CERTIFICATES for kind in kinds]):
            raise refused("PEM lib", library="SSL")
        if keyfile is not None:
            kinds = _kinds(_read(keyfile), refused)
        if not any([_KEYS.fullmatch(kind) for kind in kinds]):
            raise refused("PEM lib", library="SSL")

    context.load_verify_locations, context.load_cert_chain = load_verify_locations, load_cert_chain


def _check_data(data, refused):
    is_text = isinstance(data, str)
    try:
        data = data.encode("ascii") if is_text else bytes(memoryview(data))
    except (UnicodeEncodeError, TypeError):
        raise TypeError("cadata should be an ASCII string or a bytes-like object") from None
    if not data:
        raise ValueError("Empty certificate data")
    if is_text:
        if not any([kind in _CERTIFICATES for kind in _kinds(data, refused)]):
            raise refused("no start line: cadata does not contain a certificate")
        return
    loaded = 0
    while data:
        length = _certificate(data)
        if length is None:
            # As OpenSSL: bytes after a certificate that do not begin another one end the list.
            if loaded and data[0] != _SEQUENCE:
                return
            text = "not enough data: cadata does not contain a certificate"
            raise refused("nested asn1 error", "NESTED_ASN1_ERROR", "ASN1") if loaded else refused(text)
        data, loaded = data[length:], loaded + 1


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read(MAX_FILE)
    except IsADirectoryError:
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR)) from None


def _kinds(text, refused):
    """The kinds of the parts of a PEM text. Certificates among them are checked."""
    kinds = []
    for kind, body in _BLOCK.findall(text):
        kinds.append(kind)
        if _KEYS.fullmatch(kind) and b":" in body:
            continue  # headers of an encrypted key
        try:
            content = binascii.a2b_base64(b"".join(body.split()), strict_mode=True)
        except binascii.Error:
            raise refused("bad base64 decode", "BAD_BASE64_DECODE", "PEM") from None
        if kind in _CERTIFICATES[:2] and _certificate(content) != len(content):
            raise refused("nested asn1 error", "NESTED_ASN1_ERROR", "ASN1")
    return kinds


def _certificate(data):
    """The length of the certificate that bytes begin with; None when they begin with something else."""
    outer = _element(data, 0, len(data))
    if outer is None or outer[0] != _SEQUENCE:
        return None
    _, at, end = outer
    kinds = []
    while at < end:
        element = _element(data, at, end)
        if element is None:
            return None
        kinds.append(element[0])
        at = element[2]
    return end if kinds == [_SEQUENCE, _SEQUENCE, _BIT_STRING] else None


def _element(data, at, end):
    """The element of DER at an offset: (tag, where its content begins, where it ends)."""
    if end - at < 2:
        return None
    tag, length, at = data[at], data[at + 1], at + 2
    if length >= 0x80:
        count = length & 0x7F
        if not 1 <= count <= 4 or end - at < count:
            return None
        length, at = int.from_bytes(data[at : at + count]), at + count
    return (tag, at, at + length) if length <= end - at else None
