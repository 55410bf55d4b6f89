import numpy as np

a = np.array([1.0, 0.0, -1.0])
print(a / 0)
print(np.array([1, 2]) // np.array([0, 1]), np.array([1, 2]) % 0)
print(np.log([0, -1, 1]), np.sqrt(-1), np.arcsin(2))
print(np.mean([]), np.nanmean([np.nan, np.nan]), np.std([1], ddof=1))
with np.errstate(divide='ignore', invalid='ignore'):
    print(np.true_divide(a, [0, 0, 0]), np.divide(a, 0, out=np.zeros(3), where=a > 5))
with np.errstate(all='raise'):
    for action in (lambda: a / 0, lambda: np.log(-1.0), lambda: np.exp(1000), lambda: np.float64(1e-300) ** 2):
        try:
            action()
        except FloatingPointError as e:
            print('FloatingPointError:', e)
old = np.seterr(over='call')
np.seterrcall(lambda kind, flag: print('called', kind, flag))
np.exp(np.array([800.0]))
np.seterr(**old)
print(np.geterr())
print(np.isnan(np.nan), np.nan == np.nan, np.isclose(0.1 + 0.2, 0.3), np.nan_to_num([np.inf, np.nan, -np.inf]))
print(
    np.nansum([1, np.nan]),
    np.max([1, np.nan]),
    np.nanmax([1, np.nan]),
    np.fmax(1, np.nan),
    np.array_equal([np.nan], [np.nan]),
)
print(np.float64(1) / 0)
print(1 / np.float64(0) if True else None)
print(np.int64(1) / 0, np.int64(5) // np.int64(0), np.int64(7) % 0)
np.max([])
