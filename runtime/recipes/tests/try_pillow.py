"""pillow: every format it was built with, text, and libjpeg's errors (longjmp)."""

import io

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont, features

for feature in ("zlib", "jpg", "freetype2", "webp"):
    assert features.check(feature), feature

image = Image.new("RGB", (200, 120), "white")
draw = ImageDraw.Draw(image)
draw.ellipse((20, 20, 120, 100), fill="red", outline="black", width=3)
draw.text((30, 40), "Hello Мир", font=ImageFont.load_default(24), fill="blue")
assert (0, 0, 255) in image.get_flattened_data()

for format in ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "ICO"):
    file = io.BytesIO()
    image.save(file, format)
    file.seek(0)
    with Image.open(file) as again:
        again.load()
        assert again.format == format and again.size == image.size or format == "ICO", format
image.save(io.BytesIO(), "PDF")
small = image.resize((50, 30), Image.Resampling.LANCZOS).rotate(30, expand=True)
assert small.filter(ImageFilter.GaussianBlur(2)).getbbox()
assert Image.fromarray(np.asarray(image)).tobytes() == image.tobytes()

file = io.BytesIO()
image.save(file, "JPEG")
jpeg = file.getvalue()
huffman = jpeg.index(b"\xff\xc4")
for damaged in (jpeg[:300], jpeg[: huffman + 4] + b"\xff" * 17 + jpeg[huffman + 21 :]):
    try:
        Image.open(io.BytesIO(damaged)).load()
    except OSError:
        continue
    raise AssertionError("a damaged JPEG was decoded")
