# BLAS and LAPACK are one shared library. WebAssembly modules name no library with the symbols that they import: it is loaded
# with global symbols before any module that needs them.
import ctypes
import os

path = os.path.join(os.path.dirname(__file__), ".libs", "libopenblas.so")
if os.path.exists(path):
    ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
del ctypes, os, path
