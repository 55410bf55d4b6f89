"""`anyio` without worker threads: what would run in one runs in the loop's thread, after the other tasks had a turn.

The call finds what it would find in a thread: no running loop, so that `asyncio.run` works in it, and
`anyio.from_thread`, for whose calls the loop runs on inside the call.
"""

from ..pristine import __builtins__

import functools
from asyncio import events, tasks
from contextvars import copy_context


class _Waiting:
    """The loop that waits for the innermost call; None outside of calls."""

    loop = None


def change(module):
    """Changes `anyio._backends._asyncio`."""
    backend = module.AsyncIOBackend

    async def run_sync_in_worker_thread(cls, func, args, abandon_on_cancel=False, limiter=None):
        await cls.checkpoint()
        async with limiter or cls.current_default_thread_limiter():
            with module.CancelScope(shield=not abandon_on_cancel) as scope:
                # As anyio does: the scope that `from_thread.check_cancelled` looks at.
                outer = getattr(scope, "_parent_scope", None)
                seen = scope if abandon_on_cancel or outer is None else outer
                context = copy_context()
                _name_library(module, context, None)
                with _OutsideLoop(module, seen):
                    try:
                        return context.run(func, *args)
                    except StopIteration as error:  # which a coroutine cannot raise
                        raise RuntimeError("coroutine raised StopIteration") from error

    def run_async_from_thread(cls, func, args, token=None):
        return _run_in_loop(module, token, func, args, awaits=True)

    def run_sync_from_thread(cls, func, args, token=None):
        return _run_in_loop(module, token, func, args, awaits=False)

    for function in (run_sync_in_worker_thread, run_async_from_thread, run_sync_from_thread):
        original = getattr(backend, function.__name__, None)
        if original is not None:
            setattr(backend, function.__name__, classmethod(functools.wraps(original.__func__)(function)))


def _name_library(module, context, name):
    """Says which asynchronous library runs in a context; older versions of anyio do not ask."""
    setter = getattr(module, "set_current_async_library", None)
    if setter is not None:
        context.run(setter, name)


class _OutsideLoop:
    """Inside, there is no running loop and no current task, as in another thread."""

    def __init__(self, module, scope):
        self._scope = scope
        self._locals = getattr(module, "threadlocals", None)

    def __enter__(self):
        self._outer = _Waiting.loop
        self._loop = _Waiting.loop = events._get_running_loop()
        self._task = tasks.current_task(self._loop)
        if self._locals is not None:
            self._saved = dict(vars(self._locals))
            self._locals.current_cancel_scope = self._scope
            try:
                from anyio.lowlevel import current_token

                self._locals.current_token = current_token()
            except (ImportError, AttributeError):  # an older version
                self._locals.loop = self._loop
        if self._task is not None:
            tasks._leave_task(self._loop, self._task)
        events._set_running_loop(None)

    def __exit__(self, *_error):
        # `asyncio.run` in the call has left none.
        events.set_event_loop(self._loop)
        events._set_running_loop(self._loop)
        if self._task is not None:
            tasks._enter_task(self._loop, self._task)
        if self._locals is not None:
            vars(self._locals).clear()
            vars(self._locals).update(self._saved)
        _Waiting.loop = self._outer


def _run_in_loop(module, token, func, args, awaits):
    """Calls a function in a task of the waiting loop, and returns what it returns."""
    loop = _Waiting.loop if token is None else token
    if loop is None:
        raise RuntimeError("not inside a call that takes the place of a worker thread")
    if loop.is_closed():
        raise RuntimeError("the event loop has ended")

    async def call():
        result = func(*args)
        return await result if awaits else result

    context = copy_context()
    _name_library(module, context, "asyncio")
    task = loop.create_task(call(), context=context)
    _run_until_done(loop, task)
    return task.result()


def _run_until_done(loop, task):
    """Runs a loop, which waits further up the stack, until a task is done."""
    outer = events._get_running_loop()
    current = tasks.current_task(outer) if outer is not None else None
    if current is not None:
        tasks._leave_task(outer, current)
    waiting, _Waiting.loop = _Waiting.loop, None
    # Callbacks that the turn further up has counted, and will take one by one.
    counted = len(loop._ready)
    events._set_running_loop(loop)
    try:
        while not task.done():
            loop._run_once()
            if loop._stopping and not task.done():
                raise RuntimeError("the event loop has ended")
    finally:
        for _ in range(counted - len(loop._ready)):
            loop._ready.append(_nothing(loop))
        events._set_running_loop(outer)
        _Waiting.loop = waiting
        if current is not None:
            tasks._enter_task(outer, current)


def _nothing(loop):
    """Returns a callback that was cancelled before it ran."""
    handle = events.Handle(int, (), loop)
    handle.cancel()
    return handle
