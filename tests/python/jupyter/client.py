"""A client of a kernel for the tests: one request after the other, with all that is sent meanwhile."""

import contextlib
import queue
import tempfile
import time

from jupyter_client.manager import KernelManager

# A request that takes longer hangs.
HANG_SECONDS = 120


class Client:
    """A kernel and a client of it. `transport` is `tcp` or `ipc`."""

    def __init__(self, name="brumate", transport="tcp"):
        self.manager = KernelManager(kernel_name=name, transport=transport)
        if transport == "ipc":
            # jupyter_client's own names of sockets are in the working directory, which other tests have as well.
            self.sockets = tempfile.TemporaryDirectory(prefix="kernel-")
            self.manager.ip = f"{self.sockets.name}/socket"
        self.manager.start_kernel()
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=HANG_SECONDS)

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, code, answers=(), interrupt=False, **options):
        """Runs a cell. Returns the content of the reply, and kinds and contents of the messages on iopub.

        With `interrupt` the cell is interrupted when it has printed something.
        """
        answers = list(answers)
        request = self.client.execute(code, allow_stdin=bool(answers), **options)
        messages = self.messages(request, answers, interrupt)
        return self.reply(request), messages

    def reply(self, request):
        """The content of the reply to a request."""
        reply = self.client.get_shell_msg(timeout=HANG_SECONDS)
        while reply["msg_type"] == "kernel_info_reply":
            # `wait_for_ready` asks again when the answer takes long.
            reply = self.client.get_shell_msg(timeout=HANG_SECONDS)
        assert reply["parent_header"]["msg_id"] == request, reply
        return reply["content"]

    def messages(self, request, answers=(), interrupt=False):
        """The messages on iopub that belong to a request, up to its end. Questions are answered."""
        found, until = [], time.monotonic() + HANG_SECONDS
        while True:
            assert time.monotonic() < until, f"the kernel hangs; so far: {found}"
            if answers:
                with contextlib.suppress(queue.Empty):
                    question = self.client.get_stdin_msg(timeout=0.02)
                    found.append((question["msg_type"], question["content"]))
                    self.client.input(answers.pop(0))
            try:
                message = self.client.get_iopub_msg(timeout=0.05 if answers else 1)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["msg_type"] != "status":
                found.append((message["msg_type"], message["content"]))
                if interrupt and message["msg_type"] == "stream":
                    interrupt = False
                    self.manager.interrupt_kernel()
            elif message["content"]["execution_state"] == "idle":
                return found


def text_of(messages, name="stdout"):
    """All text of a stream."""
    return "".join(content["text"] for kind, content in messages if kind == "stream" and content["name"] == name)


def results_of(messages):
    """The texts of the values."""
    return [content["data"]["text/plain"] for kind, content in messages if kind == "execute_result"]
