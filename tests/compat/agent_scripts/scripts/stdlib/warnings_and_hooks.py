import gc
import sys
import warnings
import weakref


class Api:
    @warnings.deprecated('use new() instead') if hasattr(warnings, 'deprecated') else (lambda f: f)
    def old(self):
        return 1

    def __del__(self):
        print('api deleted')


def hook(kind, value, tb):
    print(f'caught by hook: {kind.__name__}: {value}')


api = Api()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    api.old()
    warnings.warn('careful', UserWarning, stacklevel=1)
    eval('"\\d"')
    eval('1 is 1')
    print([(w.category.__name__, str(w.message)) for w in caught])
with warnings.catch_warnings():
    warnings.filterwarnings('error', message='.*careful.*')
    try:
        warnings.warn('be careful here')
    except UserWarning as e:
        print('raised', repr(e))
reference = weakref.ref(api, lambda r: print('reference died'))
table = weakref.WeakValueDictionary(a=api)
weakref.finalize(api, print, 'finalized')
del api
print(reference(), len(table), gc.isenabled(), gc.get_threshold()[0])


class Cycle:
    def __init__(self):
        self.me = self


Cycle()
print(gc.collect() > 0, gc.garbage, sys.getrefcount(object()) < 3)
warnings.warn('visible at the end', RuntimeWarning)
warnings.warn('future', FutureWarning)
warnings.warn('hidden unless main', DeprecationWarning)
warnings.warn('never shown', ImportWarning)
sys.excepthook = hook
raise ValueError('unhandled thing')
