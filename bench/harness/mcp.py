"""A client of the Model Context Protocol as thin as it can be: JSON-RPC on pipes, so that the server is measured."""

import json
import time

from .processes import Failed, Partner

PROTOCOL = "2025-06-18"
# The parameters of `initialize`.
INITIALIZE = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Client(Partner):
    """A server process and the connection to it."""

    def __init__(self, command):
        super().__init__(command)
        self.last = 0
        self.request("initialize", INITIALIZE)
        self.answer()
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method, params):
        self.last += 1
        self.write({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        return self.last

    def answer(self):
        """The next response; notifications are passed over."""
        while True:
            message = self.read()
            if "error" in message:
                raise Failed(f"the server answered {message['error']}")
            if "result" in message:
                return message

    def start_call(self, code):
        return self.request("tools/call", {"name": "run_python_code", "arguments": {"python_code": code}})

    def call(self, code, expected):
        """Runs code; the text of the result must hold `expected`. Returns seconds."""
        start = time.perf_counter()
        self.start_call(code)
        message = self.answer()
        seconds = time.perf_counter() - start
        check(message, expected)
        return seconds

    def tool(self, name, arguments):
        """Calls a tool; returns seconds, and the structure of its answer."""
        start = time.perf_counter()
        self.request("tools/call", {"name": name, "arguments": arguments})
        message = self.answer()
        seconds = time.perf_counter() - start
        # Some servers put structures that have no schema into the text alone.
        result = message["result"]
        return seconds, result.get("structuredContent") or json.loads(result["content"][0]["text"])

    def calls(self, code, expected, count, in_flight):
        """Makes `count` calls, `in_flight` of them always open; returns seconds for all."""
        start = time.perf_counter()
        opened = {self.start_call(code) for _ in range(in_flight)}
        for done in range(count):
            message = self.answer()
            check(message, expected)
            opened.remove(message["id"])
            if done + in_flight < count:
                opened.add(self.start_call(code))
        return time.perf_counter() - start


def check(message, expected):
    text = message["result"]["content"][0]["text"]
    if "<status>success</status>" not in text or expected not in text:
        raise Failed(f"the server said {text!r}")
