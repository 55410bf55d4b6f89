"""What the files here share."""

import contextlib
import errno


@contextlib.contextmanager
def raises(kind, text="", error=None):
    """Expects an exception of this kind whose text contains `text`, and with `error` this errno by name."""
    try:
        yield
    except kind as caught:
        assert text in str(caught), f"{text!r} is not in {caught}"
        if error is not None:
            assert errno.errorcode[caught.errno] == error, f"{error} expected: {caught!r}"
        return
    raise AssertionError(f"no {kind}")


def equal(found, expected):
    assert found == expected, f"{found!r} instead of {expected!r}"
