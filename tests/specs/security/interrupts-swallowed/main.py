"""Code that does what it can against being stopped. Then it is killed."""

import signal
import sys


def swallow():
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


def nested_finally():
    def defend():
        try:
            while True:
                pass
        finally:
            defend()

    defend()


def handler():
    signal.signal(signal.SIGINT, lambda number, frame: None)
    while True:
        pass


def ignore():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        pass


def default():
    # The default action of SIGINT ends a process; here there is none to end but the guest's own.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    while True:
        pass


def mask():
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
    while True:
        try:
            while True:
                pass
        except KeyboardInterrupt:
            pass


def c_handler():
    import _signal

    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    while True:
        pass


def words():
    # CPython's signal words are in the guest's own memory: it can clear them faster than they are looked at.
    import ctypes

    library = ctypes.CDLL(None)
    memory = ctypes.c_int.in_dll(library, "_Py_emscripten_signal_in_memory")
    clock = ctypes.c_int.in_dll(library, "_Py_emscripten_signal_clock")
    while True:
        try:
            while True:
                memory.value = 0
                clock.value = 1 << 30
        except KeyboardInterrupt:
            pass


def sleep():
    import time

    while True:
        try:
            time.sleep(10**6)
        except KeyboardInterrupt:
            pass


def at_exit():
    import atexit

    def again():
        atexit.register(again)
        swallow()

    atexit.register(again)


def trace():
    def tracer(frame, event, argument):
        swallow()

    sys.settrace(tracer)
    handler()


def builtins_gone():
    import builtins

    builtins.KeyboardInterrupt = ValueError
    signal.default_int_handler = lambda *arguments: None
    sys.modules.clear()
    vars(builtins).clear()
    while True:
        pass


def driver():
    # The driver is Python as well; a guest can reach it. It can hurt itself only.
    import _brumate.interrupts as interrupts

    for name in list(vars(interrupts)):
        if callable(getattr(interrupts, name)):
            setattr(interrupts, name, lambda *arguments, **options: None)
    swallow()


globals()[sys.argv[1]]()
