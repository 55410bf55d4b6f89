"""IPython's kernel, as sessions use it.

The first part of the zygote's program. Its functions run in a child of the zygote, behind all walls, before any code of a stranger.
"""

import importlib.util
import json
import os
import signal
import site
import sys
import warnings

DIRECT = "brumate"
"""Key in the metadata of requests that come from a tool, and not from a frontend of Jupyter."""
UNREAD = 1 << 20
"""Characters that are written before the writer waits until they are sent."""
STREAMS = ("stdout", "stderr")
"""Standard streams."""
OPTIONS = ["--HistoryManager.enabled=False"]
"""Options of the kernel. A history in a file costs time for each cell, and nobody reads it."""
REASONS = '''
import atexit

def tell():
    import os, sys, urllib.request
    index = os.environ.get("PIP_INDEX_URL", "").partition("/simple")[0]
    try:
        text = urllib.request.urlopen(index + "/reasons", timeout=5).read(1 << 16).decode()
    except Exception:
        return
    for line in text.splitlines():
        print("Brumate:", line, file=sys.stderr)

atexit.register(tell)
'''
"""Module of a session's own environment. After pip it tells why the index has refused a package: pip does not."""


def make_app():
    """Makes the application of kernels, with its options read. The zygote has it before it forks: reading takes as long as a fork."""
    from ipykernel.kernelapp import IPKernelApp
    app = IPKernelApp.instance()
    app.parse_command_line(OPTIONS)
    return app


def set_up(app):
    """Changes what a session's kernel does otherwise than a kernel that belongs to one person at one frontend."""
    keep_order()
    end_cells(app)
    wake_at_signals()
    report_errors_once(app)
    if "matplotlib.pyplot" in sys.modules:
        skip_saved_figures()
        # Its renderer was chosen for the figure of the zygote.
        app.shell.enable_matplotlib("inline")
    sys.meta_path.insert(0, AfterImport("plotly.graph_objects", lambda: show_plotly_as_page(app)))


def keep_all_messages(app):
    """Lets sockets drop nothing at a high-water mark: the server reads all of it. A connection has the mark of its socket at the time of
    `bind`.
    """
    import zmq
    bind = app._bind_socket

    def bind_socket(socket, port):
        socket.setsockopt(zmq.SNDHWM, 0)
        return bind(socket, port)

    app._bind_socket = bind_socket


def keep_order():
    """Lets text of the two streams arrive in the order in which it was written, and writers wait for slow readers."""
    last, waiting = [None], [0]
    for name in STREAMS:
        stream = getattr(sys, name)
        write = stream.write

        def ordered(text, name=name, write=write):
            if last[0] not in (None, name):
                getattr(sys, last[0]).flush()
            last[0] = name
            waiting[0] += len(text)
            written = write(text)
            if waiting[0] > UNREAD:
                # The kernel keeps the rest in its memory, and answers nothing before it is sent.
                waiting[0] = 0
                getattr(sys, name).flush()
            return written

        stream.write = ordered


def end_cells(app):
    """Lets `exit()` end its cell. The server ends the kernel."""
    shell = app.shell
    shell.unobserve_all("exit_now")

    def leave():
        raise SystemExit

    shell.ask_exit = leave
    warnings.filterwarnings("ignore", message="To exit: use")


def wake_at_signals():
    """Lets an interrupt end a cell that awaits.

    The handler of ipykernel (7.4) leaves the cancellation to the loop, and does not wake it. Every signal wakes a loop that handles one.
    """
    from tornado.ioloop import IOLoop
    IOLoop.current().asyncio_loop.add_signal_handler(signal.SIGWINCH, lambda: None)


def report_errors_once(app):
    """Leaves out texts that a tool's answer has as the error of the cell."""
    shell, kernel = app.shell, app.kernel
    show = shell.show_usage_error

    def is_direct():
        try:
            return bool(kernel.get_parent("shell").get("metadata", {}).get(DIRECT))
        except Exception:
            return False

    def show_usage_error(error):
        if not is_direct():
            show(error)

    shell.show_usage_error = show_usage_error
    showtraceback = shell.showtraceback

    def show_traceback(exc_tuple=None, *arguments, **options):
        if isinstance(sys.exc_info()[1], SystemExit) and is_direct():
            return
        showtraceback(exc_tuple, *arguments, **options)

    shell.showtraceback = show_traceback


class AfterImport:
    """Calls a function when a module has been imported (a finder of `sys.meta_path`)."""

    def __init__(self, name, function):
        self.name, self.function = name, function

    def find_spec(self, name, path=None, target=None):
        """Finds the module as the other finders do, and adds the call to its loader."""
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                try:
                    self.function()
                except Exception:
                    # The library works without.
                    pass

            spec.loader.exec_module = exec_module
        return spec


def skip_saved_figures():
    """Shows no figure that was saved to a file and not changed since: the file is its picture."""
    from matplotlib import figure
    from matplotlib._pylab_helpers import Gcf
    save = figure.Figure.savefig

    def savefig(self, *arguments, **options):
        result = save(self, *arguments, **options)
        self._brumate_saved = True
        # Changes set it again.
        self.stale = False
        return result

    figure.Figure.savefig = savefig

    def close_saved():
        for manager in Gcf.get_all_fig_managers():
            drawn = manager.canvas.figure
            if getattr(drawn, "_brumate_saved", False) and not drawn.stale:
                Gcf.destroy(manager)

    from IPython import get_ipython
    from matplotlib_inline import backend_inline
    show = backend_inline.show

    def show_unsaved(*arguments, **options):
        close_saved()
        return show(*arguments, **options)

    show_unsaved._to_draw = show._to_draw
    show_unsaved._draw_called = show._draw_called
    backend_inline.show = show_unsaved
    # Ahead of the function that shows the figures that are open.
    get_ipython().events.callbacks["post_execute"].insert(0, close_saved)


def show_plotly_as_page(app):
    """Shows plotly's figures as a page beside their JSON: a picture would need a browser."""
    import plotly.io
    from plotly.basedatatypes import BaseFigure

    def page(figure):
        return figure.to_html(full_html=True, include_plotlyjs=True)

    app.shell.display_formatter.formatters["text/html"].for_type(BaseFigure, page)
    renderers = plotly.io.renderers
    if renderers.default in ("", "plotly_mimetype", "plotly_mimetype+notebook"):
        from plotly.io.base_renderers import MimetypeRenderer

        class PageRenderer(MimetypeRenderer):
            """Gives the JSON and a page."""

            def to_mimebundle(self, fig_dict):
                from plotly.graph_objects import Figure
                data = json.loads(plotly.io.to_json(fig_dict, validate=False))
                return {"application/vnd.plotly.v1+json": data, "text/html": page(Figure(fig_dict))}

        renderers["brumate"] = PageRenderer()
        renderers.default = "brumate"


def make_environment(root):
    """Makes a virtual environment for this session: `pip install` changes it, and the environment of the host stays as it is.

    Its packages come before those of the host's environment, which a `.pth` file names.
    """
    version = "{}.{}".format(*sys.version_info)
    own = f"{root}/lib/python{version}/site-packages"
    program = getattr(sys, "_base_executable", None) or os.path.realpath(sys.executable)
    os.makedirs(own)
    os.makedirs(f"{root}/bin")
    with open(f"{root}/pyvenv.cfg", "w") as file:
        file.write(f"home = {os.path.dirname(program)}\ninclude-system-site-packages = false\nversion = {version}\n")
    with open(f"{own}/_host.pth", "w") as file:
        file.writelines(f"import site; site.addsitedir({path!r})\n" for path in site.getsitepackages())
    if "PIP_INDEX_URL" in os.environ:
        with open(f"{own}/_brumate_pip.py", "w") as file:
            file.write(REASONS)
        with open(f"{own}/_brumate_pip.pth", "w") as file:
            starts = ("-m pip", f"{root}/bin/pip")
            file.write("import sys; ' '.join(getattr(sys, 'orig_argv', [])[1:3]).startswith"
                       f"({starts!r}) and __import__('_brumate_pip')\n")
    for name in ("python", "python3", f"python{version}"):
        os.symlink(program, f"{root}/bin/{name}")
    for name in ("pip", "pip3"):
        script = f"{root}/bin/{name}"
        with open(script, "w") as file:
            file.write(f"#!{root}/bin/python\nimport sys\nfrom pip._internal.cli.main import main\nsys.exit(main())\n")
        os.chmod(script, 0o755)
    sys.executable = f"{root}/bin/python"
    sys.path.insert(0, own)
    os.environ["VIRTUAL_ENV"] = root
    os.environ["PATH"] = f"{root}/bin:{os.environ['PATH']}"


def serve_kernel(app, order, answers):
    """Runs the kernel of an order until it ends."""
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = ["ipykernel_launcher", "-f", order["connection_file"]]
    make_environment(f"{os.environ['HOME']}/environment")
    sys.path[:0] = [""]
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    app.connection_file = order["connection_file"]
    app.parse_command_line = lambda argv=None: None
    keep_all_messages(app)
    app.initialize()
    set_up(app)
    answers.send(b'{"ready": true}')
    answers.close()
    app.start()
