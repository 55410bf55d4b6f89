"""A package index of our own: wheels made for a test, or published ones from a directory, over HTTP (PEP 503, 691, 658)."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def normal(name: str) -> str:
    return name.lower().replace('_', '-').replace('.', '-')


def wheel(
    name: str, version: str, files: dict[str, str] | None = None, requires: list[str] | None = None
) -> tuple[str, bytes]:
    """A pure wheel: its file name and its bytes. Without files it has one module of its name that knows its version."""
    module = name.replace('-', '_')
    content = dict(files or {f'{module}/__init__.py': f'__version__ = {version!r}\n'})
    info = f'{module}-{version}.dist-info'
    lines = [
        'Metadata-Version: 2.1',
        f'Name: {name}',
        f'Version: {version}',
        *(f'Requires-Dist: {text}' for text in requires or []),
    ]
    content[f'{info}/METADATA'] = '\n'.join(lines) + '\n'
    content[f'{info}/WHEEL'] = 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n'
    record = ''
    for path, text in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()
        record += f'{path},sha256={digest},{len(text.encode())}\n'
    content[f'{info}/RECORD'] = record + f'{info}/RECORD,,\n'
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, 'w', zipfile.ZIP_DEFLATED) as opened:
        for path, text in content.items():
            opened.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), text)
    return f'{module}-{version}-py3-none-any.whl', archive.getvalue()


@dataclass
class Index:
    """What an index has, and what it was asked for."""

    files: dict[str, bytes] = field(default_factory=dict)
    # Files whose stated hash is another one.
    lies: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    # Files at paths of their own.
    extra: dict[str, bytes] = field(default_factory=dict)
    # User name and password that it wants, with a colon between.
    password: str = ''
    url: str = ''

    def add(
        self, name: str, version: str, files: dict[str, str] | None = None, requires: list[str] | None = None
    ) -> str:
        file_name, content = wheel(name, version, files, requires)
        self.files[file_name] = content
        return file_name

    def add_published(self, directory: Path) -> None:
        for path in directory.glob('*.whl'):
            self.files[path.name] = path.read_bytes()

    def fetched(self) -> list[str]:
        """Wheels that were fetched, in order."""
        return [path.rsplit('/', 1)[1] for path in self.asked if path.endswith('.whl')]

    def answer(self, path: str) -> tuple[int, str, bytes]:
        if path in self.extra:
            return 200, 'application/octet-stream', self.extra[path]
        if path.startswith('/simple/'):
            name = path.removeprefix('/simple/').strip('/')
            files = []
            for file, content in self.files.items():
                if normal(file.split('-')[0]) != name:
                    continue
                digest = hashlib.sha256(content).hexdigest() if file not in self.lies else '0' * 64
                files.append(
                    {
                        'filename': file,
                        'url': f'/files/{file}',
                        'hashes': {'sha256': digest},
                        'size': len(content),
                        'core-metadata': True,
                    }
                )
            page = {'meta': {'api-version': '1.1'}, 'name': name, 'files': files}
            return (200 if files else 404), 'application/vnd.pypi.simple.v1+json', json.dumps(page).encode()
        file = path.removeprefix('/files/')
        if file.endswith('.metadata') and file.removesuffix('.metadata') in self.files:
            with zipfile.ZipFile(io.BytesIO(self.files[file.removesuffix('.metadata')])) as archive:
                (metadata,) = (name for name in archive.namelist() if name.endswith('.dist-info/METADATA'))
                return 200, 'application/octet-stream', archive.read(metadata)
        if file in self.files:
            return 200, 'application/octet-stream', self.files[file]
        return 404, 'text/plain', b''


@contextlib.contextmanager
def serving(index: Index) -> Iterator[Index]:
    """Serves an index on a port of its own; its `url` is that of the simple API."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def do_GET(self) -> None:
            index.asked.append(self.path)
            wanted = 'Basic ' + base64.b64encode(index.password.encode()).decode()
            if index.password and self.headers['Authorization'] != wanted:
                status, kind, body = 401, 'text/plain', b''
            else:
                status, kind, body = index.answer(self.path)
            self.send_response(status)
            self.send_header('Content-Type', kind)
            self.send_header('Content-Length', str(len(body)))
            # What is added to an index is seen at once.
            self.send_header('Cache-Control', 'max-age=0')
            self.end_headers()
            # Who has what it wants, or is stopped, hangs up.
            with contextlib.suppress(ConnectionError):
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    index.url = f'http://127.0.0.1:{server.server_address[1]}/simple/'
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
