import os
import tempfile
from pathlib import Path

import numpy as np

out = Path('arrays')
out.mkdir(exist_ok=True)
a = np.arange(10.0).reshape(2, 5)
np.save(out / 'a.npy', a)
np.savez(out / 'both.npz', first=a, second=np.array(['x', 'yy']))
np.savez_compressed(out / 'small.npz', zeros=np.zeros((1000, 100)))
print(sorted((p.name, p.stat().st_size) for p in out.iterdir() if p.name != 'small.npz'))
print((out / 'small.npz').stat().st_size < 20_000)
print(np.array_equal(np.load(out / 'a.npy'), a))
with np.load(out / 'both.npz') as data:
    print(data.files, data['second'], 'first' in data)
    try:
        data['third']
    except KeyError as e:
        print('KeyError:', e)
np.save(out / 'obj.npy', np.array([{'a': 1}], dtype=object), allow_pickle=True)
try:
    np.load(out / 'obj.npy')
except ValueError as e:
    print('ValueError:', e)
print(np.load(out / 'obj.npy', allow_pickle=True).item())
mm = np.memmap(out / 'big.dat', dtype='float32', mode='w+', shape=(100, 100))
mm[50] = np.arange(100)
mm.flush()
del mm
back = np.memmap(out / 'big.dat', dtype='float32', mode='r', shape=(100, 100))
print(back[50, :5], back.sum(), os.path.getsize(out / 'big.dat'), type(back).__name__)
try:
    back[0, 0] = 1
except ValueError as e:
    print('ValueError:', e)
lazy = np.load(out / 'a.npy', mmap_mode='r')
print(type(lazy).__name__, lazy[1])
with tempfile.NamedTemporaryFile(suffix='.npy') as f:
    np.save(f, a)
    f.seek(0)
    print(np.load(f).shape)
(out / 'bad.npy').write_bytes(b'hello')
np.load(out / 'bad.npy')
