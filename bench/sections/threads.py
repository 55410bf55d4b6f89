"""Threads, locks, queues and sockets between threads, beside native CPython."""

from sections import works


def measure(contestants, options):
    return works.measure("Threads", contestants, options)
