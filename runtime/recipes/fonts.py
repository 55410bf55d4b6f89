"""fonts.py <directory of downloads> <directory of wheels>

Makes the wheel `brumate-fonts`: fonts for the scripts that matplotlib's own fonts lack. The downloads are the files of FONTS, as
Debian and npm publish them (`apt-get download`, without the epoch in its name; `npm pack`). `fonts.sha256` pins them.
"""

import base64
import hashlib
import io
import lzma
import pathlib
import sys
import tarfile
import zipfile

NAME = "brumate_fonts"
VERSION = "1"
PACKAGE = "_brumate_fonts"
# Archive, member, name in the wheel. matplotlib asks them in the order of their names.
FONTS = [
    (
        "fonts-droid-fallback_6.0.1r16-1.1_all.deb",
        "./usr/share/fonts-droid-fallback/truetype/DroidSansFallback.ttf",
        "1-DroidSansFallback.ttf",
    ),
    (
        "expo-google-fonts-noto-sans-devanagari-0.4.1.tgz",
        "package/400Regular/NotoSansDevanagari_400Regular.ttf",
        "2-NotoSansDevanagari.ttf",
    ),
    ("expo-google-fonts-noto-emoji-0.4.7.tgz", "package/400Regular/NotoEmoji_400Regular.ttf", "3-NotoEmoji.ttf"),
]
LICENCES = [
    (FONTS[0][0], "./usr/share/doc/fonts-droid-fallback/copyright", "DROID"),
    (FONTS[1][0], "package/LICENSE_FONT", "NOTO-SANS-DEVANAGARI"),
    (FONTS[2][0], "package/LICENSE_FONT", "NOTO-EMOJI"),
]
METADATA = f"""Metadata-Version: 2.4
Name: brumate-fonts
Version: {VERSION}
Summary: Fonts for Chinese, Japanese, Korean, Devanagari and emoji in figures
License-Expression: Apache-2.0 AND OFL-1.1
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: brumate\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def data_of_deb(archive: bytes) -> bytes:
    """The tar archive in a Debian package (`deb(5)`), unpacked."""
    place = 8
    while place < len(archive):
        header = archive[place : place + 60]
        size = int(header[48:58])
        content = archive[place + 60 : place + 60 + size]
        if header.startswith(b"data.tar.xz"):
            return lzma.decompress(content)
        place += 60 + size + size % 2
    sys.exit("the Debian package has no data.tar.xz")


def member(downloads: pathlib.Path, archive: str, name: str) -> bytes:
    content = (downloads / archive).read_bytes()
    if archive.endswith(".deb"):
        content = data_of_deb(content)
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        file = tar.extractfile(name)
        if file is None:
            sys.exit(f"{archive}: no file {name}")
        return file.read()


def check(downloads: pathlib.Path) -> None:
    """Compares the downloads with `fonts.sha256`."""
    for line in pathlib.Path(__file__).with_name("fonts.sha256").read_text().splitlines():
        digest, name = line.split()
        if hashlib.sha256((downloads / name).read_bytes()).hexdigest() != digest:
            sys.exit(f"{name}: SHA-256 differs from fonts.sha256")


def main() -> None:
    downloads, wheels = map(pathlib.Path, sys.argv[1:])
    check(downloads)
    information = f"{NAME}-{VERSION}.dist-info"
    files = {f"{PACKAGE}/__init__.py": b'"""Fonts. Nothing here is to be imported."""\n'}
    files |= {f"{PACKAGE}/{name}": member(downloads, archive, path) for archive, path, name in FONTS}
    files |= {
        f"{information}/licenses/LICENSE-{name}": member(downloads, archive, path) for archive, path, name in LICENCES
    }
    licences = "".join(f"License-File: LICENSE-{name}\n" for _, _, name in LICENCES)
    files |= {f"{information}/METADATA": (METADATA + licences).encode(), f"{information}/WHEEL": WHEEL.encode()}
    record = "".join(f"{name},sha256={digest(content)},{len(content)}\n" for name, content in files.items())
    files[f"{information}/RECORD"] = f"{record}{information}/RECORD,,\n".encode()
    with zipfile.ZipFile(
        wheels / f"{NAME}-{VERSION}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED, compresslevel=9
    ) as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)


def digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main()
