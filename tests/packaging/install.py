"""Installs what `cargo xtask dist` has made, without a network and beside nothing else, and uses it.

    python3 tests/packaging/install.py target/dist            # what is missing on this host is said and left out
    python3 tests/packaging/install.py target/dist --first 10 --second 0.15

`--first` and `--second` bound the seconds that a program may take which runs `1+1` from Python, with an empty cache and after that.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ONE = 'from brumate import Sandbox; print(Sandbox().run("1+1").value)'


def run(*command, home, offline=True, **options):
    """Runs a command with an environment of its own; returns what it prints and its seconds."""
    environment = {'PATH': '/usr/bin:/usr/sbin:/bin:/sbin', 'HOME': str(home)}
    words = [str(word) for word in command]
    if offline and os.geteuid() == 0 and shutil.which('unshare'):
        words = ['unshare', '--net', *words]
    began = time.monotonic()
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=900, **options)
    seconds = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(f'{" ".join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}')
    return done.stdout, seconds


def only(directory, pattern):
    """Returns the one file of a pattern."""
    (found,) = directory.glob(pattern)
    return found


def expect(output, expected, what):
    if output.strip() != expected:
        raise SystemExit(f'{what}: {output!r} instead of {expected!r}')


def python_package(dist, home, bounds):
    """`pip install` of both wheels, the package, its commands."""
    run(sys.executable, '-m', 'venv', home / 'venv', home=home)
    python = home / 'venv/bin/python'
    wheels = [only(dist, 'brumate-*-py3-none-*.whl'), only(dist, 'brumate_bundle-*-py3-none-*.whl')]
    run(python, '-m', 'pip', 'install', '--quiet', '--no-index', *wheels, home=home)
    times = []
    for bound in bounds:
        output, seconds = run(python, '-c', ONE, home=home)
        expect(output, '2', 'the Python package')
        times.append(f'{seconds:.2f} s')
        if bound is not None and seconds > bound:
            raise SystemExit(f'{ONE} took {seconds:.2f} s, {bound} s are allowed')
    version, _ = run(home / 'venv/bin/brumate', '--version', home=home)
    again, _ = run(python, '-m', 'brumate', '--version', home=home)
    expect(again, version.strip(), 'python -m brumate')
    run(home / 'venv/bin/mcp-run-python', '--version', home=home)
    # Nothing is unpacked yet for this home.
    other = home / 'other'
    other.mkdir()
    run(python, '-m', 'pip', 'uninstall', '--quiet', '--yes', 'brumate-bundle', home=home)
    done = subprocess.run(
        [home / 'venv/bin/brumate', 'exec', '-'],
        env={'PATH': '/usr/bin:/bin', 'HOME': str(other)},
        input='print(1)',
        capture_output=True,
        text=True,
        timeout=900,
    )
    number = version.split()[-1]
    if done.returncode == 0 or f'pip install brumate-bundle=={number}' not in done.stderr:
        raise SystemExit(f'without its packages the program says {done.stderr!r}')
    run(python, '-m', 'pip', 'install', '--quiet', '--no-index', wheels[1], home=home)
    output, _ = run(
        home / 'venv/bin/brumate', 'exec', '-', home=other, input='import numpy; print(numpy.arange(3).sum())'
    )
    expect(output, '3', 'the program of the Python package, started from a shell')
    return ', '.join(times)


def npm_package(dist, home, bounds):
    """`npm install`, and the command."""
    node, npm = shutil.which('node'), shutil.which('npm')
    if not npm:
        return 'left out: there is no npm'
    project = home / 'project'
    project.mkdir()
    (project / 'package.json').write_text('{}')
    path = os.pathsep.join([str(Path(node).parent), '/usr/bin', '/bin'])
    files = [file for file in dist.glob('brumate-*.tgz') if not file.name.endswith('.tar.gz')]
    words = ['env', f'PATH={path}', npm, 'install', '--offline', '--no-audit', '--no-fund', *files]
    run(*words, home=home, cwd=project)
    command = ['env', f'PATH={path}', 'npx', '--no-install', 'brumate', 'exec', '-']
    output, seconds = run(*command, home=home, cwd=project, input='print(40 + 2)')
    expect(output, '42', 'the npm package')
    return f'{seconds:.2f} s'


def debian_package(dist, home, bounds):
    """What is in the package, and where."""
    if not shutil.which('dpkg-deb'):
        return 'left out: there is no dpkg-deb'
    root = home / 'root'
    run('dpkg-deb', '--extract', only(dist, 'brumate_*.deb'), root, home=home)
    for name in (
        'usr/lib/systemd/system/brumate.service',
        'usr/share/bash-completion/completions/brumate',
        'usr/share/doc/brumate/copyright',
        'usr/share/man/man1/brumate.1.gz',
    ):
        if not (root / name).is_file():
            raise SystemExit(f'the Debian package lacks {name}')
    if shutil.which('systemd-analyze'):
        # It looks for the program where the unit says.
        unit = (root / 'usr/lib/systemd/system/brumate.service').read_text()
        checked = home / 'brumate.service'
        checked.write_text(unit.replace('/usr/bin/brumate', str(root / 'usr/bin/brumate')))
        run('systemd-analyze', 'verify', checked, home=home)
    output, _ = run(root / 'usr/bin/brumate', 'exec', '-', home=home, input='print(1)')
    expect(output, '1', 'the Debian package')
    return 'complete'


def empty_root(dist, home, bounds):
    """The binary alone, where there is no C library and no other file."""
    if os.geteuid() != 0:
        return 'left out: only root can change the root directory'
    root = home / 'empty'
    for name in ('cache', 'dev', 'proc', 'tmp'):
        (root / name).mkdir(parents=True)
    shutil.unpack_archive(only(dist, 'brumate-*-linux.tar.gz'), home / 'archive', filter='tar')
    shutil.copy(only(home / 'archive', '*/brumate'), root / 'brumate')
    mounts = f'mount -t proc proc {root}/proc && mount --rbind /dev {root}/dev'
    script = f'{mounts} && exec chroot {root} /brumate exec --cache-dir /cache -'
    output, _ = run(
        'unshare',
        '--mount',
        '--net',
        'sh',
        '-c',
        script,
        home=home,
        offline=False,
        input='import numpy; print(numpy.arange(3).sum())',
    )
    expect(output, '3', 'the binary in an empty root directory')
    return 'works'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('dist', type=Path, help='directory of what was made')
    parser.add_argument('--build', action='store_true', help='make it first')
    parser.add_argument('--first', type=float, metavar='SECONDS')
    parser.add_argument('--second', type=float, metavar='SECONDS')
    options = parser.parse_args()
    dist = options.dist.resolve()
    if options.build:
        subprocess.run(['cargo', 'xtask', 'dist', '--out', dist], check=True)
    for line in (dist / 'SHA256SUMS').read_text().splitlines():
        digest, name = line.split()
        found = subprocess.run(['sha256sum', dist / name], capture_output=True, text=True, check=True).stdout.split()[0]
        expect(found, digest, name)
    for check in (python_package, npm_package, debian_package, empty_root):
        # What a script leaves to a process in the background may still be written.
        with tempfile.TemporaryDirectory(prefix='brumate-install-', ignore_cleanup_errors=True) as home:
            print(f'{check.__name__}: {check(dist, Path(home), (options.first, options.second))}', flush=True)


if __name__ == '__main__':
    main()
