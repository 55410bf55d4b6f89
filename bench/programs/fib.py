"""Recursive calls of a small function."""


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def run():
    return fib(24)
