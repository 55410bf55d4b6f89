"""What caio offers: the sandbox has no threads and no asynchronous files, so an operation is done at once.

The interface is that of caio 0.12; aiofile uses it.
"""

from .asyncio_base import AsyncioContextBase

__version__ = "0.12.10"


class AsyncioContext(AsyncioContextBase):
    """Reads and writes descriptors for the tasks of a loop."""


__all__ = ("AsyncioContext", "__version__")
