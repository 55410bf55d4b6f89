import bz2
import gzip
import io
import lzma
import shutil
import tarfile
import zipfile
import zlib
from pathlib import Path

text = b'The rain in Spain stays mainly in the plain. ' * 200
for name, module in (('zlib', zlib), ('gzip', gzip), ('bz2', bz2), ('lzma', lzma)):
    packed = module.compress(text)
    print(f'{name:5} {len(packed):>4} {module.decompress(packed) == text}')
try:
    from compression import zstd

    print('zstd ', len(zstd.compress(text)), zstd.decompress(zstd.compress(text, level=19)) == text)
except ImportError as e:
    print('zstd unavailable:', e)
Path('data/sub').mkdir(parents=True)
for i in range(3):
    Path(f'data/sub/f{i}.txt').write_text(f'file {i}\n' * 10**i)
with zipfile.ZipFile('data.zip', 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as z:
    for path in sorted(Path('data').rglob('*.txt')):
        z.write(path, path.relative_to('data'))
    z.writestr(zipfile.ZipInfo('note.md', (2024, 1, 2, 3, 4, 6)), 'hi', zipfile.ZIP_LZMA)
with zipfile.ZipFile('data.zip') as z:
    for info in z.infolist():
        print(f'{info.filename:12}{info.file_size:>6}{info.compress_size:>5} {info.CRC:08x} {info.compress_type}')
    print(
        z.testzip(),
        zipfile.Path(z, 'sub/').joinpath('f1.txt').read_text().splitlines()[0],
        oct(z.infolist()[0].external_attr >> 16),
    )
with tarfile.open('data.tar.xz', 'w:xz') as t:
    t.add('data', arcname='root', filter=lambda m: None if m.name.endswith('f2.txt') else m)
with tarfile.open('data.tar.xz') as t:
    print([(m.name, m.isdir(), oct(m.mode)) for m in sorted(t.getmembers(), key=lambda m: m.name)])
    t.extractall('out', filter='data')
print(sorted(str(p) for p in Path('out').rglob('*')), Path(shutil.make_archive('copy', 'gztar', 'data')).name)
shutil.unpack_archive('copy.tar.gz', 'again')
print(Path('again/sub/f2.txt').stat().st_size, [f[0] for f in shutil.get_archive_formats()])
with gzip.open('t.gz', 'wt', compresslevel=6) as f:
    print(f.write('line\n' * 3))
d = zlib.decompressobj(wbits=31)
print(d.decompress(Path('t.gz').read_bytes()), d.eof, lzma.is_check_supported(lzma.CHECK_SHA256))
for reader in (
    lambda: gzip.decompress(b'not gzip'),
    lambda: bz2.decompress(b'xx'),
    lambda: zlib.decompress(b'\x78\x9c\x00'),
    lambda: lzma.decompress(b'abc'),
):
    try:
        reader()
    except Exception as e:
        print(type(e).__name__, e)
zipfile.ZipFile(io.BytesIO(b'PK nothing'))
