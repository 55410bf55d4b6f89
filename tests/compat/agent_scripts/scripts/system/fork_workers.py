import os
import sys
import time

if not hasattr(os, 'fork'):
    print('no fork')
    sys.exit(1)
reader, writer = os.pipe()
try:
    pid = os.fork()
except OSError as e:
    print('fork failed:', type(e).__name__, e)
    sys.exit(2)
if pid == 0:
    os.close(reader)
    os.write(writer, b'hello from child')
    os._exit(7)
os.close(writer)
print(os.read(reader, 100), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
children = []
for n in range(3):
    if (child := os.fork()) == 0:
        time.sleep(0.05 * n)
        os._exit(n)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) for c in children], flush=True)
try:
    os.wait()
except ChildProcessError as e:
    print('no more children', e, flush=True)
os.execvp('echo', ['echo', 'replaced'])
