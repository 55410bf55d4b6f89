"""Digests in the sandbox, which the host computes, beside native CPython and its OpenSSL."""

from sections import works


def measure(contestants, options):
    return works.measure("Hashes", contestants, options)
