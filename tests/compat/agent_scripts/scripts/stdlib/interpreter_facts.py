import importlib.metadata
import importlib.util
import os
import platform
import site
import sys
import sysconfig

print(
    platform.python_implementation(),
    platform.python_version_tuple()[:2],
    sys.version_info >= (3, 11),
    sys.implementation.name,
)
print('system', platform.system(), os.name, sys.platform, sys.byteorder)
print('machine', platform.machine(), platform.architecture()[0], sys.maxsize, sys.maxsize > 2**32)
print(
    sys.getdefaultencoding(),
    sys.getfilesystemencoding(),
    sys.stdout.encoding,
    sys.stdin.encoding,
    sys.stderr.errors,
    sys.stdout.isatty(),
)
print(
    sys.int_info.bits_per_digit,
    sys.hash_info.width,
    sys.float_info.dig,
    sys.getrecursionlimit(),
    sys.getswitchinterval(),
)
print(sys.flags.optimize, sys.flags.utf8_mode, sys.flags.isolated, sys.dont_write_bytecode, sys.flags.dev_mode)
print(len(sys.argv), bool(sys.executable), sys.prefix == sys.base_prefix, __name__, os.path.basename(__file__))
print(sysconfig.get_platform(), sysconfig.get_config_var('Py_GIL_DISABLED'), sysconfig.get_config_var('EXT_SUFFIX'))
print(getattr(sys, '_is_gil_enabled', lambda: None)(), sys.thread_info.name, sys.thread_info.lock)
print(os.cpu_count() is not None, platform.libc_ver()[0], platform.release() != '', platform.node() != '')
print(sys.getsizeof([]), sys.getsizeof(''), sys.getsizeof(1), sys.getsizeof({}), sys.getsizeof(10**30))
print(site.ENABLE_USER_SITE, len(sys.builtin_module_names) > 20, 'sqlite3' in sys.stdlib_module_names)
for package in ('numpy', 'pandas', 'requests', 'no-such-package'):
    try:
        print(package, importlib.metadata.version(package).split('.')[0].isdigit())
    except importlib.metadata.PackageNotFoundError as e:
        print('missing', e)
try:
    platform.freedesktop_os_release()['ID']
    print('os-release found')
except OSError as e:
    print(type(e).__name__, e)
try:
    import tensorflow
except ImportError as e:
    print(type(e).__name__, e, e.name)
try:
    from math import sqroot
except ImportError as e:
    print(e)
print(sys.intern('a b') is sys.intern('a b'), sys.exc_info(), sys.get_int_max_str_digits())
print(int('9' * 5000))
