"""Code that ends its interpreter, or breaks it on purpose."""

import os
import sys


def exit_now():
    os._exit(7)


def exit_large():
    os._exit(1000)


def exit_negative():
    os._exit(-1)


def exit_in_print():
    class Writer:
        def write(self, text):
            os._exit(9)

        def flush(self):
            pass

    sys.stdout = Writer()
    print("x")


def abort():
    os.abort()


def c_exit():
    import ctypes

    ctypes.CDLL(None).exit(5)


def c_quick_exit():
    import ctypes

    ctypes.CDLL(None)._Exit(6)


def c_abort():
    import ctypes

    ctypes.CDLL(None).abort()


def fatal_error():
    import ctypes

    ctypes.pythonapi.Py_FatalError(b"on purpose")


def finalize():
    # Python is shut down under the program that runs in it.
    import ctypes

    ctypes.pythonapi.Py_FinalizeEx()


def exit_code_large():
    sys.exit(2**200)


def exit_in_exit():
    class Code:
        def __str__(self):
            raise SystemExit(Code())

    sys.exit(Code())


def no_modules():
    sys.modules.clear()
    sys.exit(3)


def no_streams():
    del sys.stdout, sys.stderr, sys.stdin
    sys.exit(4)


def bad_excepthook():
    def hook(*arguments):
        raise SystemExit(11)

    sys.excepthook = hook
    1 / 0


def driver_gone():
    # The host holds what it needs; that the guest's view of it is gone changes nothing.
    for name in [name for name in sys.modules if name.startswith(("_brumate", "brumate_"))]:
        module = sys.modules.pop(name)
        vars(module).clear()
    sys.exit(12)


def builtins_gone():
    import builtins

    vars(builtins).clear()


def unload():
    import gc

    for thing in gc.get_objects():
        if isinstance(thing, dict):
            try:
                thing.clear()
            except BaseException:
                pass


globals()[sys.argv[1]]()
