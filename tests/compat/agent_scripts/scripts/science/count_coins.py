"""Finds coins in a drawn picture, with PIL and scipy.ndimage."""

import numpy as np
from PIL import Image, ImageDraw, ImageFilter
from scipy import ndimage as ndi

image = Image.new('L', (240, 160), 20)
draw = ImageDraw.Draw(image)
for x, y, r in [(40, 40, 18), (120, 50, 25), (200, 40, 12), (60, 120, 22), (150, 120, 30)]:
    draw.ellipse((x - r, y - r, x + r, y + r), fill=200)
noise = np.random.default_rng(0).normal(0, 12, (160, 240))
pixels = np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8)
Image.fromarray(pixels).save('coins.png')
loaded = np.asarray(Image.open('coins.png'))
smooth = ndi.gaussian_filter(loaded.astype(float), 1.5)
mask = ndi.binary_opening(smooth > 110, iterations=2)
labels, count = ndi.label(mask)
areas = ndi.sum_labels(mask, labels, range(1, count + 1)).astype(int)
centers = np.array(ndi.center_of_mass(mask, labels, range(1, count + 1)))
print(count, 'coins')
for area, (cy, cx) in sorted(zip(areas.tolist(), centers.tolist(), strict=True)):
    print(f'area {area:5d} radius {np.sqrt(area / np.pi):6.2f} center ({cx:.1f}, {cy:.1f})')
print(ndi.find_objects(labels)[0], ndi.maximum(loaded, labels, 1) > 200)
edges = np.hypot(ndi.sobel(smooth, 0), ndi.sobel(smooth, 1))
print('edge pixels', int((edges > 100).sum()), 'distance max', round(float(ndi.distance_transform_edt(mask).max()), 4))
print(
    ndi.median_filter(loaded, 3).dtype,
    ndi.zoom(loaded, 0.5).shape,
    ndi.rotate(loaded, 45).shape,
    ndi.shift([1.0, 2, 3], 1),
)
print(
    ndi.uniform_filter1d([1.0, 2, 6], 3),
    ndi.convolve([[1, 2], [3, 4]], [[0, 1], [0, 0]]),
    ndi.map_coordinates(np.eye(3), [[0.5], [0.5]], order=1),
)
pil_edges = Image.open('coins.png').filter(ImageFilter.FIND_EDGES).point(lambda p: 255 if p > 60 else 0)
print(pil_edges.mode, np.asarray(pil_edges).mean().round(4), Image.fromarray(pixels).quantize(4).getpalette()[:3])
crop = Image.open('coins.png').crop((20, 20, 62, 62)).convert('RGB')
crop.save('coin.jpg', 'JPEG', quality=85)
print(Image.open('coin.jpg').size, crop.split()[0].getextrema()[0] < 60, ndi.grey_dilation([1, 5, 2], 3))
Image.fromarray(smooth / 255.0, mode='RGB').save('float.png')
Image.fromarray(smooth).save('float.png')
