# Tries to get through the walls of a native kernel, and prints the name of each attempt and whether it was refused.
import ctypes
import json
import os
import resource
import socket

libc = ctypes.CDLL(None, use_errno=True)


def refused(name, *arguments):
    return getattr(libc, name)(*arguments) == -1


def unreachable(address):
    try:
        socket.create_connection(address, timeout=1).close()
        return False
    except OSError:
        return True


def unmade(family, kind):
    try:
        socket.socket(family, kind).close()
        return False
    except OSError:
        return True


def unwritable(path):
    try:
        open(path, 'a').close()
        return False
    except OSError:
        return True


lines = [line.split(':', 1) for line in open('/proc/self/status').read().splitlines() if ':' in line]
status = {name: value.strip() for name, value in lines}
processes = sorted(int(name) for name in os.listdir('/proc') if name.isdigit())
attempts = {
    'host files': not any(map(os.path.exists, ('/root/.ssh', '/etc/shadow', '/var', '/sys', '/boot'))),
    'writing outside': all(map(unwritable, ('/usr/x', '/etc/passwd', '/x'))),
    'other processes': processes[0] == 1 and len(processes) <= 3,
    'signals outside': refused('kill', 1, 0),
    'network': unreachable(('1.1.1.1', 443)) and unreachable(('169.254.169.254', 80)),
    'other sockets': unmade(17, 3) and unmade(40, 1) and unmade(38, 5),
    'namespaces': refused('unshare', 0x10000000) and refused('setns', 0, 0),
    'mounts': refused('mount', b'none', b'/tmp', b'tmpfs', 0, None) and refused('chroot', b'/tmp'),
    'tracing': refused('ptrace', 16, 1, None, None),
    'other users': os.getuid() == 0 or refused('setuid', 0),
    'uncounted memory': refused('memfd_create', b'x', 0) and refused('shmget', 0, 4096, 0o1600),
    'capabilities': int(status['CapEff'], 16) == 0 and int(status['CapBnd'], 16) == 0,
    'new rights': status['NoNewPrivs'] == '1',
    'system calls': status['Seccomp'] == '2',
    'higher limits': resource.getrlimit(resource.RLIMIT_DATA)[1] != resource.RLIM_INFINITY,
}
print(json.dumps(attempts))
