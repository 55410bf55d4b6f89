"""Changes to modules of libraries, made when they are imported. Code that imports none of them pays nothing."""

from .pristine import __builtins__

import functools
import sys

# Functions that take a module that has just been imported, by its name.
_HOOKS = {}


def after_import(name, hook):
    """Calls `hook` with the module of this name when it is imported, or now if it is there."""
    _HOOKS[name] = hook
    if name in sys.modules:
        hook(sys.modules[name])


class Finder:
    """On `sys.meta_path`: finds the modules that have a hook as they would be found without it."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        hook = _HOOKS.get(name)
        if hook is None:
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, hook)
        return spec

    @staticmethod
    def invalidate_caches():
        pass


class WrappedLoader:
    """A loader that does as another one. Its subclasses have an `exec_module` of their own."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)


class _Loader(WrappedLoader):
    """Another loader, with something to do afterwards."""

    def __init__(self, loader, hook):
        super().__init__(loader)
        self._hook = hook

    def exec_module(self, module):
        self._loader.exec_module(module)
        self._hook(module)


def follow_rewriting(module):
    """Runs hooks also after modules whose assertions pytest rewrites: it loads these itself."""
    kind = getattr(module, "AssertionRewritingHook", None)
    if kind is None:
        return
    execute = kind.exec_module

    @functools.wraps(execute)
    def exec_module(self, module):
        execute(self, module)
        hook = _HOOKS.get(module.__name__)
        if hook is not None:
            hook(module)

    kind.exec_module = exec_module


def stand_in(module, original, line, **names):
    """A function for the place of a function of a library. `line` is its body, one line of code: `a` and `k` are the
    arguments, `original` is the function, `names` are further ones.

    The frame is the library's: warnings that a library places at its caller would be placed at ours otherwise.
    """
    code = original.__code__
    source = "\n" * (code.co_firstlineno - 1) + f"def {original.__name__}(*a, **k): {line}"
    space = {"__name__": module.__name__, "original": original, **names}
    exec(compile(source, code.co_filename, "exec", dont_inherit=True), space)
    return functools.wraps(original)(space[original.__name__])


def install():
    """Done once, at boot."""
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
