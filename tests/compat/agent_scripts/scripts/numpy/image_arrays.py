import numpy as np

h, w = 40, 60
yy, xx = np.mgrid[:h, :w]
img = np.stack([xx * 4, yy * 6, (xx + yy) * 2], axis=-1).astype(np.uint8)
print(img.shape, img.dtype, img.min(), img.max(), img.mean(axis=(0, 1)))
gray = (img @ np.array([0.299, 0.587, 0.114])).round(4)
print(gray[10, 10], gray.dtype)
blocks = gray.reshape(h // 10, 10, w // 10, 10).mean(axis=(1, 3))
print(blocks.round(3))
mask = (yy - 20) ** 2 + (xx - 30) ** 2 < 100
print('circle pixels:', mask.sum(), 'mean inside:', gray[mask].mean().round(4))
bright = img + 60
print('wrapped:', (bright < img).sum(), 'clipped max:', np.clip(img.astype(int) + 60, 0, 255).max())
inverted = 255 - img
print(inverted[0, 0], np.array_equal(255 - inverted, img), np.flipud(img)[0, 0], np.rot90(img).shape)
padded = np.pad(gray, 1, mode='edge')
laplace = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * gray
print(np.abs(laplace).max().round(4), np.percentile(laplace, [1, 99]).round(4))
with open('image.ppm', 'wb') as f:
    f.write(f'P6 {w} {h} 255\n'.encode() + img.tobytes())
data = np.fromfile('image.ppm', dtype=np.uint8, offset=len(f'P6 {w} {h} 255\n'))
print(np.array_equal(data.reshape(h, w, 3), img))
try:
    img[:, :, 0] = 300
except OverflowError as e:
    print('OverflowError:', e)
try:
    img.reshape(10, 10)
except ValueError as e:
    print('ValueError:', e)
img += 0.5
