"""A Jupyter kernel of native CPython, and its client."""

from contextlib import contextmanager

from jupyter_client.manager import KernelManager


@contextmanager
def started_kernel():
    """Starts a kernel; gives its client when the kernel is ready. The kernel ends with the block."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=120)
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
