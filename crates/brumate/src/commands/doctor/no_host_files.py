import os

for path in ('/etc/shadow', '/proc/self/environ', '/proc/1/cmdline', '/usr/bin/env'):
    assert not os.path.exists(path), path
