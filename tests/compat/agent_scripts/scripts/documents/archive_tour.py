"""Packs files in several archive formats and reads them back."""

import bz2
import gzip
import io
import lzma
import pathlib
import shutil
import tarfile
import zipfile

work = pathlib.Path('pack')
(work / 'sub').mkdir(parents=True)
(work / 'a.txt').write_text('alpha\n' * 50)
(work / 'sub' / 'b.bin').write_bytes(bytes(range(256)))
with zipfile.ZipFile('p.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
    for path in sorted(work.rglob('*')):
        archive.write(path, path.relative_to(work))
    archive.writestr(zipfile.ZipInfo('note.txt', (2025, 1, 2, 3, 4, 6)), 'ünï')
    archive.comment = b'hello'
with zipfile.ZipFile('p.zip') as archive:
    print(
        archive.namelist(),
        archive.testzip(),
        archive.getinfo('a.txt').file_size,
        archive.getinfo('note.txt').date_time,
        archive.comment,
    )
    print(
        archive.read('note.txt').decode(),
        zipfile.Path(archive, 'sub/').joinpath('b.bin').read_bytes()[:3],
        archive.getinfo('a.txt').CRC,
    )
with tarfile.open('p.tar.xz', 'w:xz') as archive:
    archive.add(work, 'root', filter=lambda info: info if not info.name.endswith('.bin') else None)
    info = tarfile.TarInfo('made')
    info.size, info.mode = 3, 0o600
    archive.addfile(info, io.BytesIO(b'abc'))
with tarfile.open('p.tar.xz') as archive:
    print(
        [(m.name, m.isdir(), m.size) for m in archive],
        archive.extractfile('made').read(),
        oct(archive.getmember('made').mode),
    )
    archive.extractall('out', filter='data')
print(
    sorted(str(p) for p in pathlib.Path('out').rglob('*')), shutil.make_archive('q', 'gztar', work).rpartition('/')[2]
)
print(shutil.get_archive_formats()[0], sorted(name for name, *_ in shutil.get_unpack_formats()))
data = b'hello world ' * 1000
print(
    [len(f(data)) for f in (lambda d: gzip.compress(d, mtime=0), bz2.compress, lzma.compress)],
    gzip.decompress(gzip.compress(data)) == data,
)
for bad in (
    lambda: zipfile.ZipFile('pack/a.txt'),
    lambda: tarfile.open('pack/a.txt'),
    lambda: gzip.decompress(b'nope'),
    lambda: lzma.decompress(b'nope'),
    lambda: zipfile.ZipFile('p.zip').read('zz'),
):
    try:
        bad()
    except Exception as error:
        print(type(error).__name__, error)
