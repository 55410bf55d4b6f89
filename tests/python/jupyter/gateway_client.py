"""A client of the kernel API over HTTP for the tests. Frames are written and read by Jupyter Server's own functions."""

import json
import os
import time
import uuid

import requests
import websocket
from client import HANG_SECONDS
from jupyter_server.services.kernels.connection.base import (
    deserialize_binary_message,
    deserialize_msg_from_ws_v1,
    serialize_binary_message,
    serialize_msg_to_ws_v1,
)

URL = os.environ["BRUMATE_TEST_GATEWAY"]
# Two principals.
ADA, BOB = os.environ["BRUMATE_TEST_TOKENS"].split(",")
V1 = "v1.kernel.websocket.jupyter.org"


def call(method, path, token=ADA, headers=None, **options):
    """Sends a request. The token is in the header, as Jupyter's clients send it."""
    headers = {**({"Authorization": f"token {token}"} if token else {}), **(headers or {})}
    return requests.request(method, f"{URL}/{path}", headers=headers, timeout=HANG_SECONDS, **options)


def kernel_of(kernel):
    """The model of a kernel."""
    return call("GET", f"api/kernels/{kernel}").json()


def until(condition, what):
    """Waits until something holds, and returns it."""
    end = time.monotonic() + HANG_SECONDS
    while not (found := condition()):
        assert time.monotonic() < end, f"this does not happen: {what}"
        time.sleep(0.02)
    return found


class Kernel:
    """A kernel that is deleted at the end."""

    def __init__(self, token=ADA):
        answer = call("POST", "api/kernels", token, json={"name": "python3"})
        assert answer.status_code == 201, answer.text
        self.id, self.token = answer.json()["id"], token

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        call("DELETE", f"api/kernels/{self.id}", self.token)

    def connect(self, form=None, **options):
        """Opens a WebSocket in one of the forms: the default, or `V1`."""
        return Channels(self.id, form, token=self.token, **options)


class Channels:
    """A WebSocket of a kernel."""

    def __init__(self, kernel, form=None, token=ADA, url=URL, **options):
        address = f"{url.replace('http', 'ws', 1)}/api/kernels/{kernel}/channels"
        header = {"Authorization": f"token {token}"} if token else {}
        self.socket = websocket.create_connection(
            address, header=header, subprotocols=[form] if form else None, timeout=HANG_SECONDS, **options
        )
        self.form = form
        assert self.socket.subprotocol == form, self.socket.subprotocol

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.socket.close()

    def send(self, kind, content, channel="shell", buffers=()):
        """Sends a message. Returns its id."""
        header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": "s", "date": "", "version": "5.4"}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
        if self.form == V1:
            parts = [json.dumps(message[part]).encode() for part in ("header", "parent_header", "metadata", "content")]
            self.socket.send_binary(serialize_msg_to_ws_v1([*parts, *buffers], channel))
        elif buffers:
            self.socket.send_binary(serialize_binary_message({**message, "channel": channel, "buffers": list(buffers)}))
        else:
            self.socket.send(json.dumps({**message, "channel": channel}))
        return header["msg_id"]

    def read(self):
        """The next message, with its channel. `None`: the server has ended the WebSocket."""
        end = time.monotonic() + HANG_SECONDS
        while True:
            assert time.monotonic() < end, "no message comes"
            kind, frame = self.socket.recv_data(control_frame=True)
            if kind == websocket.ABNF.OPCODE_CLOSE:
                return None
            if kind in (websocket.ABNF.OPCODE_TEXT, websocket.ABNF.OPCODE_BINARY):
                break
        if self.form == V1:
            channel, parts = deserialize_msg_from_ws_v1(frame)
            names = ("header", "parent_header", "metadata", "content")
            message = {name: json.loads(part) for name, part in zip(names, parts, strict=False)}
            return {**message, "msg_type": message["header"]["msg_type"], "channel": channel, "buffers": parts[4:]}
        return deserialize_binary_message(frame) if kind == websocket.ABNF.OPCODE_BINARY else json.loads(frame)

    def closed(self):
        """The code and the reason with which the server ends the WebSocket. Messages before are dropped."""
        end = time.monotonic() + HANG_SECONDS
        while True:
            assert time.monotonic() < end, "the WebSocket does not end"
            kind, frame = self.socket.recv_data(control_frame=True)
            if kind == websocket.ABNF.OPCODE_CLOSE:
                return int.from_bytes(frame[:2], "big"), frame[2:].decode()

    def wait_for(self, kind, **content):
        """The first message of this kind with this content. Others are dropped."""
        while True:
            message = self.read()
            assert message, f"the WebSocket ended before {kind}"
            if message["msg_type"] == kind and content.items() <= message["content"].items():
                return message

    def messages_of(self, request):
        """All messages that belong to a request, up to its reply and its end."""
        found, open_ends = [], {"reply", "idle"}
        while open_ends:
            message = self.read()
            assert message, f"the WebSocket ended; so far: {found}"
            if message["parent_header"].get("msg_id") != request:
                continue
            found.append(message)
            if message["channel"] == "shell":
                open_ends.discard("reply")
            elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                open_ends.discard("idle")
        return found

    def execute(self, code, **content):
        """Sends a cell. Returns the id of the request."""
        return self.send("execute_request", {"code": code, "allow_stdin": False, **content})

    def run(self, code, **content):
        """Runs a cell. Returns the content of the reply, and kinds and contents of the other messages."""
        messages = self.messages_of(self.execute(code, **content))
        (reply,) = [message["content"] for message in messages if message["channel"] == "shell"]
        return reply, [(message["msg_type"], message["content"]) for message in messages]
