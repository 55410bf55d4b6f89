"""asyncio inside the sandbox: no signals, one loop for the cells of a session."""

from .pristine import __builtins__

import _thread
import asyncio
import contextvars
import selectors
import sys
import threading
from asyncio import base_events, events, runners, selector_events, tasks

from .reports import guest_part
from .source import is_coroutine

_eval = eval
_run = asyncio.run
_cancel_all = runners._cancel_all_tasks
_stop_when_done = base_events._run_until_complete_cb
_create_task = asyncio.create_task
_get_running_loop = events._get_running_loop
_set_running_loop = events._set_running_loop
_get_event_loop = events.get_event_loop


def patch():
    """Makes asyncio work inside of running cells, and without signals."""
    loop = selector_events.BaseSelectorEventLoop
    asyncio.run = runners.run = _nested_run
    runners._cancel_all_tasks = _cancel_all_tasks
    asyncio.create_task = tasks.create_task = create_task
    asyncio.get_event_loop = events.get_event_loop = get_event_loop
    loop.add_signal_handler = _add_signal_handler
    unix_events = sys.modules.get("asyncio.unix_events")
    if unix_events is not None:
        unix_events._UnixSelectorEventLoop.add_signal_handler = _add_signal_handler


def _add_signal_handler(loop, sig, callback, *args):
    """Refuses: nobody outside can send this program a signal; the loop's own are those of timers."""
    raise NotImplementedError("add_signal_handler: a loop in this sandbox gets no signals; use signal.signal()")


def _others_are_waited_for():
    """Whether there are other threads that are no daemons."""
    return _thread._count() and any(
        not (thread.daemon or thread is threading.current_thread()) for thread in threading.enumerate()
    )


class _Ending:
    """Inside, a loop that nothing can wake any more stops, with a RuntimeError of `run_until_complete`: an interrupt
    that arrives between two callbacks takes the one along that comes next, and whoever waits for it would wait for
    ever."""

    def __init__(self, loop):
        self.loop = loop
        selector = getattr(loop, "_selector", None)
        # Programs may have put something else in its place.
        self.selector = selector if isinstance(selector, selectors.BaseSelector) else None

    def __enter__(self):
        if self.selector is not None:
            self.selector.select = self.select

    def __exit__(self, *_error):
        if self.selector is not None:
            # What its class has.
            vars(self.selector).pop("select", None)

    def select(self, timeout=None):
        # The loop's own sockets are always there.
        alone = len(self.selector.get_map()) <= self.loop._internal_fds
        if timeout is None and alone and not _others_are_waited_for():
            self.loop.stop()
            return []
        return type(self.selector).select(self.selector, timeout)


def _is_left(task):
    """Whether a task has not ended, though its loop has; it is not said again when it is deleted."""
    if task.done():
        return False
    task._log_destroy_pending = False
    return True


def _cancel_all_tasks(loop):
    """As asyncio's own, which waits until they have ended; for those that cannot end nobody waits."""
    waiting = tasks.all_tasks(loop)
    try:
        with _Ending(loop):
            _cancel_all(loop)
    except RuntimeError:
        if not [task for task in waiting if _is_left(task)]:
            raise


def _nested_run(main, **options):
    """`asyncio.run`, also below a top-level `await`: the sandbox's own loop then waits until `main` is done."""
    outer = _get_running_loop()
    if outer is None or outer is not _Current.loop:
        return _run(main, **options)
    task = tasks.current_task(outer)
    if task is not None:
        tasks._leave_task(outer, task)
    _set_running_loop(None)
    try:
        return _run(main, **options)
    finally:
        events.set_event_loop(outer)
        _set_running_loop(outer)
        if task is not None:
            tasks._enter_task(outer, task)


_nested_run.__name__ = _nested_run.__qualname__ = "run"
_nested_run.__module__ = "asyncio.runners"
_nested_run.__doc__ = _run.__doc__


def create_task(coro, **kwargs):
    """`asyncio.create_task`, also in code that does not await: the task goes on when a later line or cell does, as in a
    notebook."""
    if _get_running_loop() is None and _is_kept_here():
        return open_loop().create_task(coro, **kwargs)
    return _create_task(coro, **kwargs)


def get_event_loop():
    """`asyncio.get_event_loop`, also in a cell that does not await: the loop of the session, as in a notebook."""
    if _get_running_loop() is None and _is_kept_here():
        try:
            return _get_event_loop()
        except RuntimeError:
            return open_loop()
    return _get_event_loop()


get_event_loop.__module__ = "asyncio"
get_event_loop.__doc__ = _get_event_loop.__doc__

create_task.__module__ = "asyncio.tasks"
create_task.__doc__ = _create_task.__doc__


class _Current:
    """The loop that runs top-level `await`s, while there is one."""

    loop = None
    # Whether it is kept for cells to come, which may await.
    kept = False
    # Context of the program's own code, whether it awaits or not; None until it runs.
    context = None


def _is_kept_here():
    """Whether the calling thread is the one whose loop is kept."""
    return _Current.kept and threading.current_thread() is threading.main_thread()


def keep(kept):
    """Whether tasks may wait for a later cell, and context variables keep their values until then."""
    if _Current.kept is not kept:
        _Current.kept = kept
    if not kept:
        _Current.context = None


def in_context(function, *arguments):
    """Calls a function of the program in the program's context."""
    context = _free_context()
    return function(*arguments) if context is None else context.run(function, *arguments)


def _free_context():
    """The program's context; None inside of it, where nothing can enter it once more."""
    context = _Current.context
    if context is None:
        context = _Current.context = contextvars.copy_context()
        return context
    try:
        context.run(bool)
    except RuntimeError:
        return None
    return context


def current_loop():
    """The loop that a session keeps between its cells, or None."""
    return _Current.loop


def open_loop():
    """The loop for top-level `await`s: the session's, or a new one."""
    loop = _Current.loop
    if loop is None or loop.is_closed():
        loop = _Current.loop = asyncio.new_event_loop()
        events.set_event_loop(loop)
    return loop


def close_loop():
    """Cancels what is left, like `asyncio.run` at its end, and closes the loop. Runs guest code."""
    loop, _Current.loop = _Current.loop, None
    if loop is None or loop.is_closed():
        return
    try:
        _cancel_all_tasks(loop)
        loop.run_until_complete(loop.shutdown_asyncgens())
        if loop._default_executor is not None:
            loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        events.set_event_loop(None)
        loop.close()


async def run_program(program, namespace):
    """Executes both parts of a program that awaits at its top level."""
    if program.body is not None:
        result = _eval(program.body, namespace)
        if is_coroutine(program.body):
            await result
    if program.last is None:
        return None
    value = _eval(program.last, namespace)
    if is_coroutine(program.last):
        value = await value
    return value


async def finish(awaitable):
    """Awaits the value of the last expression."""
    return await awaitable


def run(coroutine):
    """Runs a coroutine in the sandbox's loop. Runs guest code; raises what the coroutine raises.

    An interrupt that arrives while the loop idles is raised in the loop's own frames. The coroutine is then cancelled,
    so that its `finally` blocks run, and the interrupt takes the place of the cancellation in the traceback.
    """
    loop = open_loop()
    _forget_stops(loop)
    task = loop.create_task(coroutine, context=_free_context())
    try:
        return loop.run_until_complete(task)
    except KeyboardInterrupt as interrupt:
        if not task.done():
            task.cancel()
            try:
                with _Ending(loop):
                    loop.run_until_complete(task)
            except asyncio.CancelledError as cancelled:
                if guest_part(interrupt.__traceback__) is None:
                    interrupt.__traceback__ = cancelled.__traceback__
            except RuntimeError:
                if not _is_left(task):
                    raise
        raise interrupt from None


def _forget_stops(loop):
    """Takes away what would stop the loop at once: a task that ended just before an interrupt has asked for it, and the
    loop has not heard it."""
    for handle in getattr(loop, "_ready", ()):
        if handle._callback is _stop_when_done:
            handle.cancel()
