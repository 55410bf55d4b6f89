import copy
import copyreg
import dbm
import dbm.dumb
import marshal
import pickle
import pickletools
import shelve
import weakref
from pathlib import Path


class Node:
    def __init__(self, name: str, parent: 'Node | None' = None):
        self.name, self.children, self._cache = name, [], object()
        self.parent = weakref.ref(parent) if parent else None

    def __getstate__(self):
        return {'name': self.name, 'children': self.children}

    def __setstate__(self, state):
        self.__dict__.update(state, parent=None, _cache=None)


root = Node('root')
root.children.append(Node('leaf', root))
for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    print(
        protocol,
        pickle.loads(pickle.dumps(root, protocol)).children[0].name,
        len(pickle.dumps([1.5, 'a', None], protocol)),
    )
print(pickle.DEFAULT_PROTOCOL, pickletools.optimize(pickle.dumps({'a': [1, 2]})))
with shelve.open('cache') as shelf:
    shelf['numbers'] = [1, 2, 3]
    shelf['root'] = root
with shelve.open('cache', flag='r') as shelf:
    print(sorted(shelf), shelf['numbers'], shelf['root'].name)
print(dbm.whichdb('cache'), sorted(p.name for p in Path().glob('cache*')))
with dbm.open('names', 'c') as db:
    db['é'] = 'value'
    print(db.keys(), db.get('missing', b'default'), db['é'])
with dbm.dumb.open('plain', 'n') as db:
    db[b'k'] = b'v' * 10
print(sorted(p.name for p in Path().glob('plain*')), marshal.loads(marshal.dumps((1, {'x': [2.5]}))))
print(copy.deepcopy({'a': [1, {2}]}), copy.copy([root])[0] is root, copyreg.dispatch_table is not None)
for thing in (lambda: 1, (i for i in range(3)), open(__file__), Node, weakref.ref(root), print, iter([1, 2])):
    try:
        print('ok', len(pickle.dumps(thing)) > 0)
    except Exception as e:
        print(type(e).__name__, str(e).split(' at 0x')[0].split('<function')[0])
for bad in (b'', b'garbage', b'\x80\x04]', b'cos\nno_such\n.'):
    try:
        pickle.loads(bad)
    except Exception as e:
        print(type(e).__name__, e)
with shelve.open('absent', flag='r') as shelf:
    print(len(shelf))
