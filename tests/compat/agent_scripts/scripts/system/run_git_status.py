import os
import shutil
import subprocess
import sys


def run(command, **kwargs) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True, **kwargs)
        return done.stdout.strip()
    except FileNotFoundError as e:
        return f'not found: {e.filename}'
    except subprocess.CalledProcessError as e:
        return f'failed with {e.returncode}: {e.stderr.strip()[:40]}'
    except subprocess.TimeoutExpired as e:
        return f'timeout after {e.timeout}'
    except OSError as e:
        return f'{type(e).__name__} {e}'


print(run(['no-such-program', '--version']))
print(run(['echo', 'hello world']))
print(run('echo $((6 * 7))', shell=True))
print(run([sys.executable, '-c', 'print(sum(range(10)))']))
print(run([sys.executable, '-c', 'import sys; sys.exit(3)']))
print(run(['cat'], input='from stdin'))
print(run(['sort', '-r'], input='a\nb\nc\n'))
print(run(['sh', '-c', 'echo "$FOO"; exit 0'], env={**os.environ, 'FOO': 'bar'}))
print(shutil.which('ls') is not None, shutil.which('no-such-program'))
try:
    print('status', os.system('exit 2') >> 8, os.popen('echo popen').read().strip())
except OSError as e:
    print('os.system', e)
try:
    print(subprocess.check_output('printf "%s-%s" a b', shell=True), subprocess.getstatusoutput('echo x; exit 4'))
    with subprocess.Popen(['wc', '-l'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        print(p.communicate('1\n2\n3\n')[0].strip(), p.returncode)
except Exception as e:
    print(type(e).__name__, e)
subprocess.run(['false'], check=True)
