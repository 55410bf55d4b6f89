"""One `Execute` from its request to its answer (JSON in, JSON out; the shapes are those of `brumate-engine-api`)."""

from .pristine import __builtins__

import asyncio
import atexit
import sys
import types

from . import (
    channel,
    display,
    ending,
    figures,
    idle_threads,
    interrupts,
    loops,
    notebook,
    on_demand,
    packages,
    pristine,
    recursion,
    reports,
    saved_figures,
    space,
    stdin,
    streams,
    thread_stacks,
    values,
)
from .source import Program
from .text import parse, quote

# Given back when memory is exhausted, so that the report of it can be made.
RESERVE_BYTES = 256 << 10

# Exit status of a script that ends with KeyboardInterrupt: 128 and the number of SIGINT.
_INTERRUPTED = 130

_exec = exec
_eval = eval
_Coroutine = types.CoroutineType
_Future = asyncio.Future
_run_exit_functions = atexit._run_exitfuncs
_EXCEPT_HOOK = sys.excepthook


class _Reserve:
    memory = None


def give_memory_back():
    """Makes room for the report of a `MemoryError`."""
    _Reserve.memory = None


def prepare():
    """Done once, at boot."""
    _Reserve.memory = bytearray(RESERVE_BYTES)


def execute(request_json):
    """Runs one request; returns `{"ended": ..., "printed": ...}` as JSON text. Never raises."""
    try:
        interrupts.install()
        request = parse(request_json)
        execution = _Execution(request)
        ended, printed = execution.run(), execution.printed
    except BaseException as error:
        ended, printed = _raised(reports.describe_safely(error)), False
    interrupts.forget()
    return f'{{"ended":{ended},"printed":{"true" if printed else "false"}}}'


class _Execution:
    def __init__(self, request):
        self.request = request
        mode = request.get("mode")
        self.server = mode == "server"
        self.module = mode == "module"
        self.script = self.server or self.module or mode == "script"
        self.rich = request.get("rich") is True
        self.frontend = mode == "frontend"
        self.shell = self.frontend or mode == "notebook_cell"
        self.session = self.shell or mode == "cell"
        # A shell shows figures by itself; figures that a script leaves open are not shown anywhere.
        self.figures = request.get("figures") is not False and not self.shell and not self.script
        # Nothing runs here afterwards: the program ends as a process does.
        self.ends = request.get("ends_program") is True and not self.session
        self.program = None
        # Exception of the code, until it is reported: it keeps the frames alive, and their objects.
        self.error = None
        # Text for the user about the end, until it is printed; and whether it was.
        self.text = ""
        self.printed = False

    def run(self):
        """Executes; returns `Ended` as JSON text."""
        pristine.close_doors()
        channel.start_run()
        on_demand.start_run(self.request.get("states_requirements") is True)
        figures.start_run(self.script)
        streams.start_run()
        loops.keep(self.session)
        recursion.start_run()
        answer, self.error = interrupts.call(self._cell if self.shell else self._guest)
        on_demand.end_run()
        changed = pristine.repair()
        ended = self._conclude(answer)
        if self.session:
            interrupts.call(idle_threads.end)
            if changed:
                pristine.restore(changed)
            if _Reserve.memory is None:
                interrupts.call(prepare)
        return ended

    def _guest(self):
        """Everything that runs as the guest: interruptible, and what it raises is the guest's result."""
        request = self.request
        packages.ask_for(request.get("packages") or [])
        home = space.open_space(request, self.session, script=self.script and not self.server)
        code = request["code"]
        if self.module:
            return loops.in_context(_run_module, code)
        if request.get("source_bytes") is True:
            code = code.encode("latin-1")
        self.program = program = Program(home.file_name, code)
        program.register()
        if self.script:
            space.put_script(home.file_name, program.content())
            if self.server:
                from . import serving

                target = request["server"]
                sys.path[:0] = target["path"]
                return serving.run(home.file_name, target["object"] or None, target["transport"] or None)
        program.compile(self.script, home.futures)
        home.futures |= program.futures if self.session else 0
        namespace = home.namespace
        if request.get("allow_stdin") is True:
            stdin.answer = channel.ask
            with stdin.Asking():
                return self._evaluate(program, namespace)
        return self._evaluate(program, namespace)

    def _evaluate(self, program, namespace):
        if program.needs_loop:
            recursion.count_frames()
            value = loops.run(loops.run_program(program, namespace))
        else:
            value = loops.in_context(_evaluated, program, namespace)
        kind = type(value)
        if kind is _Coroutine or (issubclass(kind, _Future) and value.get_loop() is loops.current_loop()):
            value = loops.run(loops.finish(value))
        if value is None or self.script or not program.wanted:
            return None
        return loops.in_context(self._convert, value)

    def _cell(self):
        """A notebook's cell: IPython catches and words what it raises.

        The value of a frontend's request is the content of its reply.
        """
        if self.frontend:
            return f'{{"Returned":{{"json":{quote(notebook.serve_frontend(self.request))},"is_str":false}}}}'
        described = notebook.run_cell(self.request)
        return None if described is None else _raised(described)

    def _convert(self, value):
        if self.rich:
            streams.flush()
            channel.emit("ExecuteResult", display.bundle(value))
        is_str = "true" if issubclass(type(value), str) else "false"
        return f'{{"Returned":{{"json":{quote(values.to_json(value))},"is_str":{is_str}}}}}'

    def _conclude(self, answer):
        """Ends the run. What is left to do is guest code as well, but of it only an interrupt changes the result."""
        ended = answer or '{"Returned":null}'
        failed = self.error is not None
        if failed:
            ended = self._report(self.error)
            if self.script and self.ends and not self.server:
                self._print()
            if self.session:
                interrupts.call(reports.release_memory, self.error)
            self.error = None
        for step in self._last_steps():
            # Tasks of the loop enter the program's context themselves.
            _, late = interrupts.call(*((step,) if step is loops.close_loop else (loops.in_context, step)))
            if late is None:
                continue
            if not failed and isinstance(late, KeyboardInterrupt):
                failed = True
                ended = self._report(late)
            else:
                text = self._describe(late)[2]
                interrupts.call(streams.write_error, f"Exception ignored at the end of the run:\n{text}")
            late = None
        streams.flush()
        return ended

    def _print(self):
        """Prints why the program ends. CPython does so before exit functions run and objects go."""
        if not self.text:
            return
        text = self.text if self.text.endswith("\n") else self.text + "\n"
        _, failure = interrupts.call(streams.write_error, text)
        self.printed = failure is None

    def _last_steps(self):
        if not self.session and loops.current_loop() is not None:
            yield loops.close_loop
        if self.figures and "matplotlib.pyplot" in sys.modules:
            yield figures.show_open
        if self.ends:
            yield ending.run_exit_functions
        elif self.script:
            yield ending.join_threads
            yield _run_exit_functions
        if self.script:
            yield saved_figures.tell_unseen
            yield on_demand.tell_beyond
        yield streams.flush_guest
        if self.ends:
            give_memory_back()
            yield ending.release
            yield ending.finalize_kept
            yield streams.flush_guest

    def _report(self, error):
        """`Ended` for an exception that reached the top."""
        if isinstance(error, KeyboardInterrupt):
            interrupts.call(thread_stacks.tell_others)
        if isinstance(error, SystemExit):
            status, failure = interrupts.call(reports.exit_status, error)
            if failure is None:
                self.text = status[1]
                return f'{{"Exited":{{"code":{status[0]},"message":{quote(status[1])}}}}}'
        if self.program is not None:
            self.program.register()
        if self.script and sys.excepthook is not _EXCEPT_HOOK and not isinstance(error, SystemExit):
            _, failure = interrupts.call(_call_hook, error)
            if failure is None:
                return '{"Exited":{"code":1,"message":""}}'
        described = self._describe(error)
        self.text = described[2]
        if self.script and not self.server and type(error) is KeyboardInterrupt:
            # The status that a shell gives to a process that SIGINT ended.
            return f'{{"Exited":{{"code":{_INTERRUPTED},"message":{quote(described[2])}}}}}'
        return _raised(described)

    def _describe(self, error):
        if isinstance(error, MemoryError):
            give_memory_back()
        described, failure = interrupts.call(loops.in_context, reports.describe, error)
        if failure is None:
            return described
        if isinstance(failure, MemoryError):
            give_memory_back()
        return reports.describe_safely(error)


def _evaluated(program, namespace):
    recursion.count_frames()
    if program.body is not None:
        _exec(program.body, namespace)
    return None if program.last is None else _eval(program.last, namespace)


def _run_module(name):
    import runpy

    recursion.count_frames()
    runpy._run_module_as_main(name)


def _call_hook(error):
    reports.hide_driver(error)
    sys.excepthook(type(error), error, error.__traceback__)


def _raised(described):
    name, message, text = described
    return f'{{"Raised":{{"ename":{quote(name)},"evalue":{quote(message)},"traceback":{quote(text)}}}}}'
