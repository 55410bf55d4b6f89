import numpy as np
import numpy.ma as ma

raw = np.array([[21.5, -999, 22.1, 23.0], [20.9, 21.0, -999, -999], [19.5, 20.0, 20.5, 21.0]])
data = ma.masked_values(raw, -999)
print(data)
print(repr(data[1]))
print(data.mean(axis=1), data.mean().round(6), data.count(axis=0), data.filled(np.nan)[0])
print(data.anom(axis=1), ma.median(data, axis=0), data.compressed())
hot = ma.masked_greater(data, 22)
print(hot.mask, hot.sum(), hot.max(), hot.argmin())
print(ma.masked_invalid([1, np.nan, np.inf]), ma.array([1, 2, 3], mask=[0, 1, 0]) * 10, 1 / ma.array([0, 2]))
print(data[1, 2] is ma.masked, data[0, 0], ma.is_masked(raw), data.fill_value, ma.getmaskarray(ma.arange(2)))
print(ma.concatenate([data[0], ma.masked_equal([1, 2], 2)]), ma.corrcoef(data[0], data[2]).round(4))
data[0, 0] = ma.masked
data.mask[2, 3] = True
print(
    data.mask.sum(), ma.notmasked_edges(data[1]), ma.clump_unmasked(data[0]), ma.average(data[2], weights=[1, 2, 3, 4])
)
print(ma.masked_where(raw < 21, raw).tolist(), ma.masked_array([1, 2], [True, True]).mean(), ma.log([0, 1]))
print(float(ma.masked_array([5], [True])[0]))
print(ma.array([1, 2], mask=[True]))
