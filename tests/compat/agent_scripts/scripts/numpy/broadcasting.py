import numpy as np

prices = np.array([[10.0, 12.5, 9.0], [11.0, 13.0, 8.5]])
tax = np.array([0.2, 0.1, 0.05])
print(prices * (1 + tax))
print(prices - prices.mean(axis=1, keepdims=True))
x = np.arange(4)
print(x[:, None] + x[None, :])
points = np.array([[0, 0], [3, 4], [6, 8]])
print(np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1)))
print(np.broadcast_shapes((3, 1), (1, 4)), np.broadcast_to([1, 2], (2, 2)))
print(np.add.outer([1, 2], [10, 20]), np.multiply.reduce([1, 2, 3, 4]), np.maximum.accumulate([1, 3, 2, 5, 4]))
for shape in [(2, 3), (3, 2), (4,)]:
    try:
        print(shape, (prices + np.ones(shape)).shape)
    except ValueError as e:
        print(shape, 'ValueError:', e)
grid = np.ogrid[0:3, 0:2]
print(grid[0].shape, grid[1].shape, np.mgrid[0:2, 0:2].tolist(), np.meshgrid([1, 2], [3, 4, 5])[0].shape)
view = np.broadcast_to(np.arange(3), (2, 3))
try:
    view[0, 0] = 5
except ValueError as e:
    print('ValueError:', e)
prices += np.ones((2, 2))
