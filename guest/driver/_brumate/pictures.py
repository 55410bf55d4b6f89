"""Pictures small enough for a model: what is larger is sent in two sizes."""

from .pristine import __builtins__

import binascii
import io

PNG = "image/png"
# A picture as it was made, when [`PNG`] is a smaller one.
ORIGINAL = "application/vnd.brumate.original+png"
# Pixels of the longer side of [`PNG`].
MAX_SIDE = 1568
# Bytes of [`PNG`], before base64.
MAX_BYTES = 1 << 20
# Pixels of a picture that is made smaller; opening a larger one would take the memory of a session.
MAX_PIXELS = 40_000_000
# How often a picture is made smaller still until it fits.
_ATTEMPTS = 8

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Base64 characters that hold the signature, IHDR's head, width and height.
_HEAD_CHARS = 32


def fit(data):
    """Bounds the PNG of a mime bundle (base64): a larger one moves to [`ORIGINAL`]."""
    encoded = data.get(PNG)
    if encoded is None:
        return
    size = encoded_size(encoded)
    if size is None or (max(size) <= MAX_SIDE and len(encoded) <= MAX_BYTES * 4 // 3):
        return
    original = binascii.a2b_base64(encoded)
    if max(size) <= MAX_SIDE and len(original) <= MAX_BYTES:
        return
    del data[PNG]
    data[ORIGINAL] = encoded
    smaller = _smaller(original, size)
    if smaller is not None:
        data[PNG] = binascii.b2a_base64(smaller, newline=False).decode()


def size_of(content):
    """`(width, height)` of a PNG by its first bytes; None when this is no PNG."""
    if content[:8] != _SIGNATURE or content[12:16] != b"IHDR" or len(content) < 24:
        return None
    return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")


def encoded_size(encoded):
    """The same by the PNG's base64."""
    try:
        return size_of(binascii.a2b_base64(encoded[:_HEAD_CHARS]))
    except (ValueError, binascii.Error):
        return None


def _smaller(png, size):
    if size[0] * size[1] > MAX_PIXELS or not all(size):
        return None
    try:
        from PIL import Image

        with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
            if picture.mode not in ("RGB", "RGBA", "L", "LA"):
                picture = picture.convert("RGBA" if "transparency" in picture.info else "RGB")
            scale = min(1.0, MAX_SIDE / max(size))
            for _ in range(_ATTEMPTS):
                wanted = (max(1, int(size[0] * scale)), max(1, int(size[1] * scale)))
                buffer = io.BytesIO()
                picture.resize(wanted, Image.Resampling.LANCZOS).save(buffer, "PNG", optimize=False)
                if buffer.tell() <= MAX_BYTES:
                    return buffer.getvalue()
                scale *= max(0.5, min(0.9, (MAX_BYTES / buffer.tell()) ** 0.5))
    except (ImportError, OSError, ValueError, SyntaxError):
        pass  # a picture that cannot be read is sent as it is, under the other name
    return None
