import os
import platform
import sys

try:
    import resource
except ModuleNotFoundError:
    resource = None
    print('resource module missing')
try:
    import psutil
except ImportError:
    psutil = None
    print('psutil not installed, using the standard library')

if resource:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(usage.ru_maxrss > 0, usage.ru_utime >= 0, usage.ru_stime >= 0, type(usage.ru_minflt))
    for name in ('RLIMIT_NOFILE', 'RLIMIT_AS', 'RLIMIT_CPU', 'RLIMIT_STACK', 'RLIMIT_NPROC', 'RLIMIT_CORE'):
        soft, hard = resource.getrlimit(getattr(resource, name))
        print(name, soft == resource.RLIM_INFINITY or soft >= 0, hard == resource.RLIM_INFINITY or hard >= soft)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256) if soft > 0 else 256, hard))
    print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    print(resource.getpagesize())
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (10, 5))
    except ValueError as e:
        print('ValueError', e)
    resource.setrlimit(resource.RLIMIT_CPU, (60, 120))
print(os.cpu_count() >= 1, len(os.sched_getaffinity(0)) >= 1, os.process_cpu_count() >= 1)
print(len(os.getloadavg()), os.sysconf('SC_PAGE_SIZE'), os.sysconf('SC_NPROCESSORS_ONLN') >= 1, os.times().user >= 0)
total = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')
print(total > 50_000_000, os.uname().sysname, platform.uname().system)
for path in (
    '/proc/self/status',
    '/proc/meminfo',
    '/proc/cpuinfo',
    '/etc/passwd',
    '/etc/hostname',
    '/proc/self/cmdline',
    '/dev/null',
    '/dev/urandom',
):
    try:
        with open(path, 'rb') as f:
            print(path, len(f.read(10)) >= 0)
    except OSError as e:
        print(path, type(e).__name__, e.strerror)
if resource:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    with open('big.bin', 'wb') as f:
        f.write(b'x' * 5000)
sys.exit(0)
