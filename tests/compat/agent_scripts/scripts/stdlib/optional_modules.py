import importlib
import importlib.util

MODULES = 'bz2 lzma zlib sqlite3 ssl curses readline dbm dbm.gnu dbm.sqlite3 shelve fcntl termios pty resource ctypes mmap pip ensurepip venv turtle tkinter syslog multiprocessing concurrent.interpreters annotationlib compression.zstd wsgiref xmlrpc.client imaplib ftplib smtplib netrc cProfile pdb doctest unittest zipapp asyncio'
found, missing = [], []
for name in MODULES.split():
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        spec = None
    (found if spec else missing).append(name)
print('found', found)
print('missing', missing)
for name in MODULES.split():
    try:
        importlib.import_module(name)
    except ImportError as e:
        print(name, type(e).__name__, e)
