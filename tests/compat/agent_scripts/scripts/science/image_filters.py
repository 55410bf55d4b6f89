import io
import warnings

import numpy as np
from PIL import ExifTags, Image, ImageEnhance, ImageFilter, ImageOps, ImageSequence, PngImagePlugin, features

rng = np.random.default_rng(0)
gradient = np.dstack(
    [
        np.tile(np.arange(64, dtype=np.uint8) * 4, (48, 1)),
        np.full((48, 64), 90, np.uint8),
        rng.integers(0, 255, (48, 64), dtype=np.uint8),
    ]
)
img = Image.fromarray(gradient)
print(img, img.getextrema()) if False else print(img.mode, img.size, img.getextrema())
for name, f in {
    'blur': ImageFilter.BLUR,
    'sharpen': ImageFilter.SHARPEN,
    'median': ImageFilter.MedianFilter(3),
    'unsharp': ImageFilter.UnsharpMask(2),
}.items():
    print(name, np.asarray(img.filter(f)).mean(axis=(0, 1)).round(4))
print(
    ImageEnhance.Contrast(img).enhance(1.5).getpixel((10, 10)),
    ImageOps.autocontrast(img).getpixel((10, 10)),
    ImageOps.equalize(img).getpixel((60, 5)),
)
hsv = img.convert('HSV')
print(
    hsv.getpixel((63, 0)),
    img.convert('CMYK').getpixel((1, 1)),
    img.convert('L').getpixel((5, 5)),
    img.convert('1').getcolors(),
    img.convert('YCbCr').getpixel((3, 3)),
)
for resample in (Image.Resampling.NEAREST, Image.Resampling.BILINEAR, Image.Resampling.BICUBIC):
    print(resample.name, np.asarray(img.resize((7, 5), resample))[2, 3])
rgba = img.convert('RGBA')
rgba.putalpha(Image.new('L', img.size, 100))
base = Image.new('RGBA', img.size, 'white')
print(
    Image.alpha_composite(base, rgba).getpixel((0, 0)),
    ImageOps.expand(img, 3, 'red').size,
    ImageOps.fit(img, (20, 20)).size,
    ImageOps.posterize(img, 2).getpixel((33, 3)),
)
meta = PngImagePlugin.PngInfo()
meta.add_text('Author', 'Zoë')
buffer = io.BytesIO()
img.save(buffer, 'PNG', pnginfo=meta, dpi=(300, 300))
print(Image.open(buffer).text, Image.open(buffer).info['dpi'])
exif = Image.Exif()
exif[ExifTags.Base.Make] = 'Camera'
for kind, options in [
    ('JPEG', {'exif': exif, 'quality': 95}),
    ('WEBP', {'quality': 80}),
    ('TIFF', {'compression': 'tiff_lzw'}),
    ('AVIF', {}),
    ('BMP', {}),
    ('ICO', {}),
    ('JPEG2000', {}),
    ('PDF', {}),
]:
    out = io.BytesIO()
    try:
        img.save(out, kind, **options)
        print(kind, out.getvalue()[:4], Image.open(out).getexif().get(ExifTags.Base.Make) if kind == 'JPEG' else '')
    except Exception as e:
        print(kind, type(e).__name__, e)
frames = [Image.new('P', (8, 8), i) for i in range(3)]
frames[0].save('a.gif', save_all=True, append_images=frames[1:], duration=[50, 60, 70])
print(
    [f.info['duration'] for f in ImageSequence.Iterator(Image.open('a.gif'))],
    features.check('webp'),
    features.check('freetype2'),
)
Image.MAX_IMAGE_PIXELS = 1000
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    Image.open(buffer)
print([w.category.__name__ for w in caught])
Image.MAX_IMAGE_PIXELS = 100
Image.open(buffer)
