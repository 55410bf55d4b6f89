"""Traits as plain attributes: those that every cell reads, nobody configures and nobody watches. Reading a trait is two
calls."""

from ..pristine import __builtins__


def settle(holder, *names):
    """Makes these traits of one object plain attributes with the values they have."""
    values = {name: getattr(holder, name) for name in names}
    kind = type(holder)
    hidden = dict.fromkeys(names)
    described = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    # A trait comes before an object's own attributes; a plain attribute of the class does not.
    holder.__class__ = type(kind)(kind.__name__, (kind,), {**described, **hidden})
    vars(holder).update(values)


def value_of(holder, name):
    """The value of a trait that stays one."""
    values = holder._trait_values
    return values[name] if name in values else getattr(holder, name)
