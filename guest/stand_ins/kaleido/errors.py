"""Errors of kaleido."""


class KaleidoError(Exception):
    """A figure cannot be drawn."""


class JavascriptError(RuntimeError):
    """No JavaScript runs here, so nothing raises this."""


class ChromeNotFoundError(Exception):
    """No browser is here."""


class BrowserFailedError(RuntimeError):
    """No browser runs here, so nothing raises this."""


class BrowserClosedError(RuntimeError):
    """No browser runs here, so nothing raises this."""
