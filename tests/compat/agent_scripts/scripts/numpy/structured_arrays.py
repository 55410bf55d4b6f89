import numpy as np

dtype = np.dtype([('name', 'U10'), ('age', 'i4'), ('weight', 'f4')])
people = np.array([('Rex', 9, 81.0), ('Fido', 3, 27.5), ('Ünal', 5, 30.25)], dtype=dtype)
print(people)
print(people['age'], people[people['age'] > 4]['name'], dtype.itemsize, dtype.names, dtype.fields['age'])
print(np.sort(people, order='age'))
people['weight'] *= 2
print(repr(people[0]), people[1]['weight'], people[['name', 'age']])
rec = people.view(np.recarray)
print(rec.name, rec.age.mean().round(4))
aligned = np.dtype([('a', 'u1'), ('b', 'f8'), ('c', 'i2')], align=True)
print(aligned, aligned.itemsize, aligned.alignment, np.dtype('>i4'), np.dtype('3f4, U2'))
raw = np.array([1, 256], dtype='<u2').tobytes()
print(raw, np.frombuffer(raw, dtype='>u2'), np.array([1], '>i4').byteswap().view('<i4'))
people.tofile('people.bin')
print(np.fromfile('people.bin', dtype=dtype)[2])
np.savetxt('ages.csv', people[['age', 'weight']], delimiter=',', fmt=['%d', '%.2f'], header='age,weight', comments='')
print(open('ages.csv').read())
print(np.genfromtxt('ages.csv', delimiter=',', names=True, dtype=None))
print(np.loadtxt('ages.csv', delimiter=',', skiprows=1, unpack=True))
print(np.dtype('datetime64[ms]'), np.dtype(('i4', (2, 3))), np.dtype([('x', 'i4', (2,))]))
for action in (lambda: people['height'], lambda: np.dtype('banana'), lambda: np.loadtxt(['1 2', '3'])):
    try:
        action()
    except Exception as e:
        print(type(e).__name__, e)
