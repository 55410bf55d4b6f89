import os

import h5py
import numpy as np

rng = np.random.default_rng(1)
with h5py.File('run.h5', 'w') as f:
    f.attrs['experiment'] = 'cooling'
    f.attrs['temperatures'] = [1.5, 2.5]
    grp = f.create_group('raw/day1')
    dset = grp.create_dataset(
        'signal',
        data=rng.normal(size=(100, 8)).astype('f4'),
        chunks=(25, 8),
        compression='gzip',
        compression_opts=4,
        shuffle=True,
    )
    dset.attrs['unit'] = 'mV'
    log = f.create_dataset('log', (0,), maxshape=(None,), dtype=h5py.string_dtype())
    log.resize((2,))
    log[:] = ['start', 'stöp']
    f['table'] = np.array([(1, 2.5, b'ab')], dtype=[('id', 'i4'), ('v', 'f8'), ('s', 'S4')])
    f['link'] = h5py.SoftLink('/raw/day1/signal')
    f['flag'] = np.array([True, False])
with h5py.File('run.h5', 'r') as f:
    print(list(f), dict(f.attrs)['experiment'], f.attrs['temperatures'])
    d = f['link']
    print(d, d.shape, d.dtype, d.chunks, d.compression, d.attrs['unit'])
    print(d[:3, 0], d[50].mean().round(6), d[[1, 5], 2], d[...].std().round(5))
    print(f['log'][:], f['log'].asstr()[1], f['table']['v'], f['table'].dtype, f['flag'][:])
    f.visititems(lambda name, obj: print(' ', name, type(obj).__name__))
    print('raw/day1/signal' in f, 'nothing' in f, f['raw'].name, f.filename, f.mode)
    try:
        f['nothing']
    except KeyError as e:
        print('KeyError:', e)
    try:
        d[0, 0] = 1
    except OSError as e:
        print(type(e).__name__, e)
    try:
        d[200]
    except IndexError as e:
        print('IndexError:', e)
with h5py.File('run.h5', 'a') as f:
    del f['flag']
    f.move('log', 'messages')
    f.require_dataset('extra', (2, 2), 'i8')[...] = 7
    print(sorted(f), f['extra'][()], h5py.h5f.get_obj_count(f.id) >= 1, h5py.is_hdf5('run.h5'))
print(os.path.getsize('run.h5') > 2000, f)
try:
    f['extra']
except ValueError as e:
    print('ValueError:', e)
open('bad.h5', 'w').write('x')
try:
    h5py.File('bad.h5', 'r')
except OSError as e:
    print('OSError:', e)
h5py.File('missing.h5', 'r')
