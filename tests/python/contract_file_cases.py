"""The rows of the code interpreter's contract about files as resources: types, names, addresses, notifications.

`contract.md` says which case holds which sentence.
"""

from __future__ import annotations

import base64
from typing import Any

import anyio

from cases import same
from harness import Setup, connect, plain
from interpreter import Host, Interpreter, resources

# Files of each kind: the name, the type that must be reported, the content. `unknown` and `README` have no suffix: their content decides.
KINDS = {
    'table.csv': ('text/csv', b'a,b\n1,2\n'),
    'page.html': ('text/html', b'<p>\n'),
    'data.json': ('application/json', b'{}'),
    'notes.md': ('text/markdown', b'# x\n'),
    'code.py': ('text/x-python', b'x = 1\n'),
    'plain.txt': ('text/plain', 'é\n'.encode()),
    'broken.txt': ('text/plain', b'\xff\xfe\xfd'),
    'picture.png': ('image/png', None),
    'drawing.svg': ('image/svg+xml', b'<svg xmlns="http://www.w3.org/2000/svg"/>'),
    'archive.zip': ('application/zip', b'PK\x05\x06' + bytes(18)),
    'book.xlsx': ('application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', b'PK\x05\x06' + bytes(18)),
    'unknown': ('application/octet-stream', b'\x00\x01\x02'),
    'README': ('text/plain', b'hello\n'),
}

PNG = base64.b64decode(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg=='
)


async def resource_types(setup: Setup) -> None:
    """Every file has its real type, in answers, lists and contents; images and binary files are blobs."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            templates = plain(await client.session.list_resource_templates())['resourceTemplates']
            same([template['uriTemplate'] for template in templates], ['kernel://{session_id}/{filename}'])
            contents = {name: PNG if content is None else content for name, (_, content) in KINDS.items()}
            made = await interpreter.cell(
                f"for name, content in {contents!r}.items():\n    open(name, 'wb').write(content)"
            )
            session = made['session_info']['session_id']
            types = {name: mime for name, (mime, _) in KINDS.items()}
            same({file['name']: file['mime_type'] for file in made['files']}, types)
            same({resource['name']: resource['mimeType'] for resource in await resources(client)}, types)
            for file in made['files']:
                name, content = file['name'], contents[file['name']]
                same((file['uri'], file['size']), (f'kernel://{session}/{name}', len(content)))
                line = f'📊 File created: {name} ({types[name]}, {len(content)} bytes)'
                same(made['output'].count(line), 1)
                read = await interpreter.read(file['uri'])
                same((read['uri'], read['mimeType']), (file['uri'], types[name]))
                as_text = name in ('table.csv', 'page.html', 'data.json', 'notes.md', 'code.py', 'plain.txt', 'README')
                same('text' in read, as_text)
                same(read['text'].encode() if as_text else base64.b64decode(read['blob']), content)


async def other_names(setup: Setup) -> None:
    """Files in directories, and names with blanks, `%` or any letters, are read under the address that lists them."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            names = ['sub/deep/a.txt', 'a b.txt', 'ünï.txt', '100%.txt', 'q?x.txt', 'h#x.txt', "it's.txt", 'a+b&c.txt']
            code = f"import os\nos.makedirs('sub/deep')\nfor name in {names!r}:\n    open(name, 'w').write(name)"
            made = await interpreter.cell(code)
            same(sorted(file['name'] for file in made['files']), sorted(names))
            for file in made['files']:
                same((await interpreter.read(file['uri']))['text'], file['name'])


async def ways_out(setup: Setup) -> None:
    """No address, no upload and no link that code made leads out of a session's directory."""
    with Host(setup) as host:
        async with host.server() as client:
            interpreter = Interpreter(client)
            session = await interpreter.open("open('a.txt', 'w').write('x')\nopen('/tmp/out.txt', 'w').write('out')")
            other = await interpreter.open("open('b.txt', 'w').write('secret')")
            for path in [
                '../config.py',
                '..%2Fconfig.py',
                '%2E%2E/config.py',
                '%2e%2e%2fconfig.py',
                '.%2E/config.py',
                '%252E%252E%252Fconfig.py',
                '%25252E%25252E/config.py',
                'sub/../../config.py',
                '../tmp/out.txt',
                '..%2Ftmp%2Fout.txt',
                '/tmp/out.txt',
                '%2Ftmp%2Fout.txt',
                '//tmp/out.txt',
                '/etc/passwd',
                '%2Fetc%2Fpasswd',
                '..%5Cconfig.py',
                '%5C%5Chost%5Cshare',
                'C:%5Cconfig.py',
                'a.txt%00.png',
                '%c0%ae%c0%ae/config.py',
                '..%c0%afconfig.py',
                '%uff0e%uff0e/config.py',
                '．．/config.py',
                '..;/config.py',
                'a.txt/',
                '',
                '.',
                '..',
                f'../{other}/b.txt',
                f'..%2F{other}%2Fb.txt',
                'b.txt',
            ]:
                await interpreter.refused(f'kernel://{session}/{path}')
            for uri in [
                'kernel://../config.py',
                'kernel://%2E%2E/config.py',
                'kernel:///config.py',
                'kernel://./a.txt',
                'kernel://*/a.txt',
                f'kernel://{session}',
                f'kernel://{session}/',
                f'kernel://{session}%2F..%2F{other}/b.txt',
                'file:///etc/passwd',
                f'kernel://user@{session}/a.txt',
                f'kernel://{session}:1/a.txt',
                f'http://{session}/a.txt',
            ]:
                await interpreter.refused(uri)
            # A link is followed only to what the code could read itself.
            targets = [
                '/etc/passwd',
                '../' * 20 + 'etc/passwd',
                str(setup.brumate),
                host.data.name + '/sessions.sqlite',
                'link_4',
            ]
            linked = await interpreter.cell(
                f"import os\nfor n, to in enumerate({targets!r}):\n    os.symlink(to, f'link_{{n}}')", session
            )
            same((linked['success'], linked['files']), (True, []))
            for number in range(len(targets)):
                await interpreter.refused(f'kernel://{session}/link_{number}')
            for name in ['../up.txt', '/tmp/up.txt', '%2e%2e/up.txt', 'a\\..\\b', 'a\0b', '']:
                refused = await client.call_raw(
                    'upload_file', {'filename': name, 'content': 'x', 'session_id': session}
                )
                assert refused.get('isError') or not refused['structuredContent']['success'], (name, refused)
            same((await interpreter.read(f'kernel://{session}/a.txt'))['text'], 'x')


async def list_changed(setup: Setup) -> None:
    """A client that used a session is notified when the session's files change, and only then."""
    heard: list[str] = []
    changed = anyio.Event()

    async def message(found: Any) -> None:
        method = getattr(getattr(found, 'root', found), 'method', None)
        if method == 'notifications/resources/list_changed':
            heard.append(method)
            changed.set()

    with Host(setup) as host:
        async with connect(
            Setup(setup.brumate, setup.cache_dir, 'legacy'),
            '--tools',
            'interpreter',
            '--data-dir',
            host.data.name,
            messages=message,
        ) as client:
            interpreter = Interpreter(client)
            session = await interpreter.open('x = 1')
            await interpreter.cell("open('a.txt', 'w').write('x')", session)
            with anyio.fail_after(60):
                await changed.wait()
            same([resource['name'] for resource in await resources(client)], ['a.txt'])
            count = len(heard)
            for _ in range(3):
                await interpreter.cell('1 + 1', session)
            # Notifications about earlier cells come before this answer.
            await resources(client)
            same(len(heard), count)
