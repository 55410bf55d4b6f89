"""What uvloop offers: the sandbox has one kind of event loop, asyncio's. The interface is that of uvloop 0.23."""

import asyncio
from asyncio import AbstractEventLoop as _AbstractEventLoop

__version__ = "0.23.0"

Loop = asyncio.SelectorEventLoop


def new_event_loop():
    """Returns a new loop of asyncio's."""
    return Loop()


def install():
    """Does nothing: the loop is asyncio's already."""


def run(main, *, loop_factory=new_event_loop, debug=None, **options):
    """Runs a coroutine as `asyncio.run` does."""
    return asyncio.run(main, loop_factory=loop_factory, debug=debug)


class EventLoopPolicy:
    """A policy that makes loops of asyncio's."""

    def __init__(self):
        self._loop = None

    def get_event_loop(self) -> _AbstractEventLoop:
        """Returns the loop that was set."""
        if self._loop is None:
            raise RuntimeError("There is no current event loop")
        return self._loop

    def set_event_loop(self, loop):
        """Sets the current loop."""
        self._loop = loop

    def new_event_loop(self):
        """Returns a new loop."""
        return new_event_loop()


__all__ = ("EventLoopPolicy", "Loop", "install", "new_event_loop", "run")
