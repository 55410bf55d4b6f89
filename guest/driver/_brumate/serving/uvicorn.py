"""A stand-in for `uvicorn`: serves ASGI applications to the host, which has the sockets."""

from ..pristine import __builtins__

import asyncio
import importlib
import importlib.machinery
import inspect
import os
import sys

from .bridge import Bridge
from .wire import Current, ServingError

# The version whose interface this is.
VERSION = "0.54.0"

# Equal to uvicorn's, for programs that copy and change it.
LOGGING_CONFIG = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "default": {"()": "logging.Formatter", "fmt": "%(levelname)s: %(message)s"},
        "access": {"()": "logging.Formatter", "fmt": "%(levelname)s: %(message)s"},
    },
    "handlers": {
        "default": {"formatter": "default", "class": "logging.StreamHandler", "stream": "ext://sys.stderr"},
        "access": {"formatter": "access", "class": "logging.StreamHandler", "stream": "ext://sys.stderr"},
    },
    "loggers": {
        "uvicorn": {"handlers": ["default"], "level": "INFO", "propagate": False},
        "uvicorn.error": {"level": "INFO"},
        "uvicorn.access": {"handlers": ["access"], "level": "INFO", "propagate": False},
    },
}


class Config:
    """An application and its address: the options of `uvicorn.Config`. The host ignores most of them."""

    def __init__(self, app, host="127.0.0.1", port=8000, **options):
        self.app = app
        self.host = host
        self.port = port
        self.options = options
        self.factory = options.get("factory", False)
        self.root_path = options.get("root_path", "")
        self.lifespan = options.get("lifespan", "auto")
        self.log_level = options.get("log_level")
        self.log_config = options.get("log_config")
        self.headers = options.get("headers") or []
        self.timeout_graceful_shutdown = options.get("timeout_graceful_shutdown")
        self.reload = False
        self.workers = 1
        self.loaded = False
        self.loaded_app = None

    def __getattr__(self, name):
        try:
            return self.__dict__["options"][name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def is_ssl(self):
        return False

    @property
    def should_reload(self):
        return False

    def configure_logging(self):
        """Does nothing: logging is as the program sets it up."""

    def setup_event_loop(self):
        """Does nothing: there is one kind of loop."""

    def get_loop_factory(self):
        return None

    def load(self):
        """Imports `module:name`, calls factories, and returns the application."""
        app = self.app
        if isinstance(app, str):
            app = _imported(app)
        if self.factory:
            app = app()
        self.loaded_app = _as_asgi3(app)
        self.loaded = True
        return self.loaded_app


def _imported(text):
    name, _, path = text.partition(":")
    if not path:
        raise ServingError(f'Error loading ASGI app: import string "{text}" must be in format "module:attribute"')
    value = _main_module(name) or importlib.import_module(name)
    for part in path.split("."):
        value = getattr(value, part)
    return value


def _main_module(name):
    """Returns the program itself when a name means it: `uvicorn.run("server:app")` must not run it again."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    if file and os.path.splitext(os.path.basename(file))[0] == name:
        return main
    return None


def _as_asgi3(app):
    """Returns an application with the interface of ASGI 3, also for one of ASGI 2."""
    if not inspect.isclass(app):
        is_coroutine = inspect.iscoroutinefunction(app) or inspect.iscoroutinefunction(type(app).__call__)
        if is_coroutine or len(inspect.signature(app).parameters) != 1:
            return app

    async def call_both(scope, receive, send):
        await app(scope)(receive, send)

    return call_both


class Server:
    """Serves an application to the host: the interface of `uvicorn.Server`."""

    def __init__(self, config):
        self.config = config
        self.started = False
        self.force_exit = False
        self.servers = []
        self._exit = asyncio.Event()

    @property
    def should_exit(self):
        """Whether the server ends. Programs set it."""
        return self._exit.is_set()

    @should_exit.setter
    def should_exit(self, value):
        if value:
            self._exit.set()
        else:
            self._exit.clear()

    async def wait_for_exit(self):
        """Waits until a program ends the server."""
        await self._exit.wait()

    def run(self, sockets=None):
        """Serves until the host ends it."""
        return asyncio.run(self.serve(sockets))

    async def serve(self, sockets=None):
        """Serves until the host ends it."""
        if not self.config.loaded:
            self.config.load()
        await Bridge(Current.wire, self.config, self).run()

    async def startup(self, sockets=None):
        self.started = True

    async def shutdown(self, sockets=None):
        self.should_exit = True

    async def main_loop(self):
        await self.serve()


def run(app, *, host="127.0.0.1", port=8000, **options):
    """Serves an application until the host ends it."""
    Server(Config(app, host=host, port=port, **options)).run()


# The names of uvicorn's modules.
_NAMES = {
    "uvicorn": {"Config": Config, "Server": Server, "run": run, "main": run, "__version__": VERSION},
    "uvicorn.config": {"Config": Config, "LOGGING_CONFIG": LOGGING_CONFIG},
    "uvicorn.server": {"Server": Server},
    "uvicorn.main": {"run": run, "main": run},
}


def fill(module):
    """Fills one of uvicorn's modules. Modules that have no stand-in (`uvicorn.logging`) are as installed."""
    vars(module).update(_NAMES[module.__name__])
    if module.__name__ == "uvicorn":
        spec = importlib.machinery.PathFinder.find_spec("uvicorn")
        if spec is not None and spec.submodule_search_locations:
            module.__path__ = list(spec.submodule_search_locations)
