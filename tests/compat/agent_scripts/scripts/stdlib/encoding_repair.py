import codecs
import io
import locale
import os
import sys

samples = {
    'utf-8': 'naïve café',
    'latin-1': 'Größe',
    'cp1252': '“smart” €',
    'utf-16': 'hi 😀',
    'shift_jis': '日本',
    'gb18030': '中文',
    'koi8-r': 'Привет',
    'big5': '漢字',
    'euc-kr': '한국',
    'cp437': 'éè',
    'punycode': 'bücher',
    'idna': 'bücher.example',
    'utf-7': 'a+b',
    'hz': '中',
    'iso2022_jp': '日',
    'mac-roman': 'Å',
}
for codec, text in samples.items():
    data = text.encode(codec)
    print(f'{codec:11} {data!r} {data.decode(codec) == text}')
broken = b'caf\xe9 \xff ok'
for errors in ('replace', 'ignore', 'backslashreplace', 'surrogateescape'):
    print(errors, ascii(broken.decode('utf-8', errors)))
print(
    'Müller €'.encode('ascii', 'xmlcharrefreplace'),
    'Müller'.encode('ascii', 'namereplace'),
    'cafÃ©'.encode('latin-1').decode('utf-8'),
)
with open('report.txt', 'w', encoding='utf-8-sig', newline='\r\n') as f:
    f.write('first\nsecond\n')
print(open('report.txt', 'rb').read(), open('report.txt', encoding='utf-8-sig').readlines())
print(
    codecs.encode('Hello', 'rot13'), codecs.encode(b'zip me', 'base64'), codecs.lookup('utf8').name, codecs.BOM_UTF16_LE
)
decoder = codecs.getincrementaldecoder('utf-8')()
print([decoder.decode(bytes([b])) for b in '€x'.encode()])
reader = io.TextIOWrapper(io.BytesIO(b'a\r\nb\rc'), encoding='ascii', newline=None)
print(reader.readlines(), reader.encoding, os.fsencode('ü'), os.fsdecode(b'\xff').encode('utf-8', 'surrogateescape'))
for action in (
    lambda: broken.decode(),
    lambda: '€'.encode('latin-1'),
    lambda: 'x'.encode('klingon'),
    lambda: b'\x00'.decode('utf-16'),
    lambda: print('\udcff'),
    lambda: bytes('a', 'utf-8')[5],
    lambda: 'x' + b'y',
):
    try:
        action()
    except (UnicodeError, LookupError, TypeError) as e:
        print(type(e).__name__, e)
sys.stdout.reconfigure(encoding='ascii', errors='backslashreplace')
print('ünïcode now escaped', sys.stdout.encoding)
with open('report.txt', encoding='ascii') as f:
    print(f.read())
