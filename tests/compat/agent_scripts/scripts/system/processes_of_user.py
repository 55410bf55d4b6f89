import getpass
import os
import sys

try:
    import grp
    import pwd
except ImportError as e:
    print('no user database:', e)
    sys.exit(1)

print('ids', os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getresuid())
me = pwd.getpwuid(os.getuid())
print(me.pw_name, me.pw_uid, me.pw_gid, me.pw_dir, grp.getgrgid(os.getgid()).gr_name)
print(pwd.getpwnam('root')[:4], 'nobody' in [p.pw_name for p in pwd.getpwall()], grp.getgrnam('root').gr_mem)
for lookup in (
    lambda: pwd.getpwnam('nosuchuser'),
    lambda: pwd.getpwuid(54321),
    lambda: grp.getgrnam('nosuchgroup'),
    lambda: pwd.getpwnam(5),
):
    try:
        print(lookup())
    except (KeyError, TypeError) as e:
        print(type(e).__name__, e)
print(getpass.getuser(), os.path.expanduser('~root'), os.path.expanduser('~nosuchuser/x'))
print(os.getpid() > 0, os.getppid() >= 0, isinstance(os.getpgrp(), int), os.getgroups() is not None)
print(oct(os.umask(0o022)), oct(os.umask(0o077)))
open('private.txt', 'w').close()
print(oct(os.stat('private.txt').st_mode & 0o777), os.stat('private.txt').st_uid == os.getuid())
os.chown('private.txt', os.getuid(), -1)
print(os.access('private.txt', os.R_OK | os.W_OK), os.access('private.txt', os.X_OK), os.access('missing', os.F_OK))
try:
    os.setuid(os.getuid())
    print('setuid to self ok', os.nice(0) >= -20, os.getpriority(os.PRIO_PROCESS, 0) >= -20)
except OSError as e:
    print('setuid', e)
print(os.get_terminal_size.__name__, os.isatty(0), os.ctermid())
os.get_terminal_size()
