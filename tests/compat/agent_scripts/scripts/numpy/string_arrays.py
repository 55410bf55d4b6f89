import numpy as np

names = np.array(['alice', 'Bob', 'çağla', '日本', 'naïve   '])
print(names.dtype, np.char.upper(names), np.char.capitalize(names), np.strings.str_len(names))
print(
    np.char.add(names, '!'), np.char.center(names, 10, '*'), np.char.strip(names)[-1], np.char.replace(names, 'a', 'A')
)
print(
    np.char.startswith(names, 'a'),
    np.strings.find(names, 'l'),
    np.char.encode(names, 'utf-8'),
    np.char.count(names, 'a'),
)
print(
    np.char.split(['a-b', 'c'], '-'),
    np.char.join('-', ['abc', 'de']),
    np.char.multiply(['x'], 3),
    np.char.isdigit(['12', 'a']),
)
print(np.char.mod('%05.2f', [1.5, 22.333]), np.char.zfill(['7', '-8'], 4), np.strings.partition(['k=v'], '='))
print(np.sort(names), np.unique(['b', 'a', 'b'], return_inverse=True), names == 'Bob')
fixed = np.array(['abc', 'de'], dtype='S2')
print(fixed, fixed.dtype, fixed.astype('U'), np.array(['abcdef']).astype('U3'), np.array([1.5, 10]).astype(str))
names[0] = 'a much longer name'
print(names[0], np.array(['1.5', '2']).astype(float), np.array([True, False]).astype('U'))
var = np.array(['short', 'a rather long string', ''], dtype=np.dtypes.StringDType())
print(repr(var), np.strings.str_len(var), var + '?')
print(np.array2string(np.array(['x', 'y']), separator=', '), np.array(['a', 1, None], dtype=object))
try:
    np.array(['1', 'two']).astype(int)
except ValueError as e:
    print('ValueError:', e)
try:
    np.array(['a']) + 1
except TypeError as e:
    print(type(e).__name__, e)
np.array(['ü']).astype('S1')
