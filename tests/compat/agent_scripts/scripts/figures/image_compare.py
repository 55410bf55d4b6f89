import io
import sys

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, ImageChops, ImageStat


def render(color: str, dpi: int = 60) -> Image.Image:
    fig = plt.figure(figsize=(2, 2), dpi=dpi)
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.add_patch(plt.Rectangle((0.25, 0.25), 0.5, 0.5, color=color))
    buffer = io.BytesIO()
    fig.savefig(buffer, format='png')
    plt.close(fig)
    buffer.seek(0)
    return Image.open(buffer).convert('RGB')


red, again, blue = render('red'), render('red'), render('blue')
print(red.size, ImageChops.difference(red, again).getbbox(), ImageChops.difference(red, blue).getbbox())
print(red.getpixel((60, 60)), blue.getpixel((60, 60)), red.getpixel((1, 1)))
print([round(v, 4) for v in ImageStat.Stat(blue).mean], np.asarray(red).sum())
fig = plt.figure(figsize=(1, 1), dpi=10)
fig.canvas.draw()
pixels = np.asarray(fig.canvas.buffer_rgba())
print(pixels.shape, pixels.dtype, pixels[0, 0], fig.canvas.get_width_height())
print(sorted(fig.canvas.get_supported_filetypes()))
with Image.open(io.BytesIO(b'')) if len(sys.argv) > 1 else red as im:
    print(im.info.get('Software', 'no software tag')[:10], im.info.get('dpi'))
if ImageChops.difference(red, blue).getbbox() is not None:
    print('images differ', file=sys.stderr)
    sys.exit(2)
