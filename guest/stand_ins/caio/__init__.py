"""What caio offers: its package has no wheel for the sandbox. An operation is done at once.

The interface is that of caio 0.12; aiofile uses it.
"""

from .asyncio_base import AsyncioContextBase

__version__ = "0.12.10"


class AsyncioContext(AsyncioContextBase):
    """Reads and writes descriptors for the tasks of a loop."""


__all__ = ("AsyncioContext", "__version__")
