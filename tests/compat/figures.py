"""matplotlib and pillow draw, write and read what they wrote."""

import io
import os
import struct
import tempfile
import xml.etree.ElementTree as ElementTree
import zlib

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont, UnidentifiedImageError, features

from checks import equal, raises


def draw():
    figure, (left, right) = plt.subplots(1, 2, figsize=(6, 3), dpi=100)
    x = np.linspace(0, 6, 200)
    left.plot(x, np.sin(x), color="#ff0000", linewidth=6, label="sine")
    left.set_title(r"$\frac{a}{b}$ and æøå")
    left.legend()
    right.contourf(np.outer(x, x), levels=5)
    right.scatter([10, 100], [10, 100], s=80)
    figure.tight_layout()
    return figure


def saved(kind, **options):
    figure = draw()
    file = io.BytesIO()
    figure.savefig(file, format=kind, **options)
    plt.close(figure)
    return file.getvalue()


def test_png_has_the_picture():
    image = Image.open(io.BytesIO(saved("png", metadata={"Title": "two"})))
    equal((image.format, image.size, image.info["Title"]), ("PNG", (600, 300), "two"))
    colours = dict((colour, count) for count, colour in image.convert("RGB").getcolors(1 << 20))
    assert colours[(255, 0, 0)] > 500, "the red line"
    assert colours[(255, 255, 255)] > 20_000, "the background"
    assert any(red > 150 and green > 200 and blue < 80 for red, green, blue in colours), "viridis ends in yellow"


def test_svg_has_the_text():
    with plt.rc_context({"svg.fonttype": "none"}):
        root = ElementTree.fromstring(saved("svg"))
    assert root.tag.endswith("}svg") and root.get("width") == "432pt"
    texts = "".join("".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text"))
    texts = "".join(texts.split())
    assert "sine" in texts and "æøå" in texts, texts
    assert any("#ff0000" in (path.get("style") or "") for path in root.iter("{http://www.w3.org/2000/svg}path"))


def test_pdf_has_the_fonts_and_the_line():
    data = saved("pdf", metadata={"CreationDate": None})
    assert data.startswith(b"%PDF-1.4") and data.rstrip().endswith(b"%%EOF")
    assert b"DejaVuSans" in data
    streams = []
    for part in data.split(b"stream\n")[1:]:
        try:
            streams.append(zlib.decompressobj().decompress(part))
        except zlib.error:
            pass
    assert any(b"1 0 0 RG" in stream for stream in streams), "the red line"


def test_other_formats():
    for kind, start in [
        ("jpg", b"\xff\xd8\xff"),
        ("webp", b"RIFF"),
        ("tif", b"II*\0"),
        ("ps", b"%!PS-Adobe"),
        ("eps", b"%!PS-Adobe"),
        ("svgz", b"\x1f\x8b"),
    ]:
        assert saved(kind).startswith(start), kind


def test_backends():
    assert "agg" in matplotlib.get_backend().lower() or "brumate" in matplotlib.get_backend()
    with raises(ImportError):
        plt.switch_backend("TkAgg")
    figure = draw()
    figure.canvas.draw()
    plt.close("all")
    equal(plt.get_fignums(), [])


def test_animations_are_written():
    from matplotlib.animation import FuncAnimation, PillowWriter

    figure, axes = plt.subplots(figsize=(2, 2), dpi=50)
    (line,) = axes.plot([0, 1], [0, 1])
    animation = FuncAnimation(figure, lambda i: line.set_data([0, 1], [0, i]), frames=3)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "wave.gif")
        animation.save(path, writer=PillowWriter(fps=5))
        with Image.open(path) as image:
            equal((image.n_frames, image.size), (3, (100, 100)))
    plt.close(figure)


def gradient():
    image = Image.new("RGB", (64, 48))
    image.putdata([(4 * x, 5 * y, 128) for y in range(48) for x in range(64)])
    return image


def test_image_formats_keep_the_picture():
    original = gradient()
    for kind, exact in [
        ("PNG", True),
        ("BMP", True),
        ("TIFF", True),
        ("PPM", True),
        ("TGA", True),
        ("PCX", True),
        ("WEBP", False),
        ("JPEG", False),
        ("GIF", False),
    ]:
        file = io.BytesIO()
        original.save(file, kind)
        back = Image.open(io.BytesIO(file.getvalue()))
        equal((back.format, back.size), (kind, original.size))
        difference = np.abs(np.asarray(back.convert("RGB"), int) - np.asarray(original, int))
        assert difference.max() == 0 if exact else difference.mean() < 8, (kind, difference.mean())
    file = io.BytesIO()
    original.save(file, "WEBP", lossless=True)
    equal(np.asarray(Image.open(file).convert("RGB")).tolist(), np.asarray(original).tolist())
    original.save(file := io.BytesIO(), "ICO", sizes=[(16, 16), (32, 32)])
    equal(sorted(Image.open(file).info["sizes"]), [(16, 12), (32, 24)])


def test_what_the_image_library_has():
    for name in ("jpg", "zlib", "webp", "freetype2"):
        assert features.check(name), name
    for name in ("jpg_2000", "libtiff", "avif", "littlecms2", "raqm"):
        assert not features.check(name), name


def test_image_operations():
    image = gradient().resize((32, 24), Image.Resampling.LANCZOS).rotate(90, expand=True)
    equal(image.size, (24, 32))
    image = image.filter(ImageFilter.GaussianBlur(2)).convert("L")
    assert 0 < np.asarray(image).std() < 80
    sign = Image.new("1", (120, 30))
    ImageDraw.Draw(sign).text((2, 2), "Hello", fill=1, font=ImageFont.load_default(20))
    assert 50 < np.asarray(sign).sum() < 2000


def test_broken_images_are_errors():
    with raises(UnidentifiedImageError):
        Image.open(io.BytesIO(b"not an image"))
    file = io.BytesIO()
    gradient().save(file, "PNG")
    with raises(OSError):
        Image.open(io.BytesIO(file.getvalue()[: len(file.getvalue()) // 2])).load()
    with raises(OSError):
        Image.open(io.BytesIO(b"\xff\xd8\xff" + b"\0" * 100)).load()
    huge = b"BM" + struct.pack("<IIIIiiHHIIiiII", 58, 0, 54, 40, 1 << 20, 1 << 20, 1, 24, 0, 4, 0, 0, 0, 0)
    with raises(Image.DecompressionBombError):
        Image.open(io.BytesIO(huge + bytes(4)))
