"""The operations, for tasks of asyncio."""

import asyncio
import os


class AsyncioContextBase:
    """Reads and writes descriptors at positions. Other tasks run before each operation."""

    MAX_REQUESTS_DEFAULT = 512

    def __init__(self, max_requests=None, loop=None, deferred=False, **options):
        self.loop = loop or asyncio.get_running_loop()
        self.max_requests = max_requests or self.MAX_REQUESTS_DEFAULT
        self.deferred = deferred

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        self.close()

    def close(self):
        """Does nothing: no operation is under way."""

    async def read(self, nbytes, fd, offset, priority=0):
        """Returns at most `nbytes` bytes from a position."""
        await asyncio.sleep(0)
        return os.pread(fd, nbytes, offset)

    async def write(self, payload, fd, offset, priority=0):
        """Writes bytes to a position, and returns how many."""
        await asyncio.sleep(0)
        return os.pwrite(fd, payload, offset)

    async def fsync(self, fd):
        """Has a file written to the disk."""
        await asyncio.sleep(0)
        os.fsync(fd)

    async def fdsync(self, fd):
        """Has the content of a file written to the disk."""
        await asyncio.sleep(0)
        os.fdatasync(fd)
