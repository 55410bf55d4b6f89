"""The kernel API over HTTP: kernels and their clients, clients of other people, and hostile clients."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
import uuid
from pathlib import Path

import aiohttp
import requests
import websocket
import websockets
from client import HANG_SECONDS, results_of, text_of
from gateway_client import ADA, BOB, URL, V1, Channels, Kernel, call, kernel_of, until
from jupyter_kernel_client import JupyterKernelClient
from jupyter_server.services.kernels.connection.base import serialize_msg_to_ws_v1

ENDLESS = "print('begun')\nwhile True: pass"


class Kernels(unittest.TestCase):
    def test_both_forms_carry_cells_and_buffers(self):
        for form in (None, V1):
            with self.subTest(form), Kernel() as kernel, kernel.connect(form) as client:
                reply, messages = client.run("print('é'); 6 * 7")
                self.assertEqual((reply["status"], text_of(messages), results_of(messages)), ("ok", "é\n", ["42"]))
                content = {"comm_id": "c", "target_name": "t", "data": {}}
                opened = client.send("comm_open", content, buffers=[b"", b"\0\xff"])
                closed = client.wait_for("comm_close", comm_id="c")
                self.assertEqual(closed["parent_header"]["msg_id"], opened)

    def test_the_model_of_a_kernel_is_true(self):
        with Kernel() as kernel:
            before = kernel_of(kernel.id)
            self.assertEqual((before["execution_state"], before["connections"]), ("idle", 0))
            with kernel.connect() as client:
                client.execute(ENDLESS)
                client.wait_for("stream")
                during = kernel_of(kernel.id)
                self.assertEqual((during["execution_state"], during["connections"]), ("busy", 1))
                self.assertGreater(during["last_activity"], before["last_activity"])
                self.assertEqual(call("GET", "api/status").json()["connections"], 1)
                self.assertEqual(call("POST", f"api/kernels/{kernel.id}/interrupt").status_code, 204)
                self.assertEqual(client.wait_for("execute_reply")["content"]["ename"], "KeyboardInterrupt")
                client.wait_for("status", execution_state="idle")
                self.assertEqual(kernel_of(kernel.id)["execution_state"], "idle")
            until(lambda: kernel_of(kernel.id)["connections"] == 0, "the client is gone")

    def test_a_kernel_outlives_its_clients(self):
        with Kernel() as kernel:
            with kernel.connect() as client:
                client.run("kept = 7")
                client.execute("import time\nfor number in range(3): time.sleep(0.1)\nkept = 8")
            with kernel.connect(V1) as client:
                self.assertEqual(results_of(client.run("kept")[1]), ["8"])

    def test_several_clients_share_a_kernel(self):
        with Kernel() as kernel, kernel.connect() as one, kernel.connect(V1) as other:
            request = one.execute("print('for all')\ninput('who? ')", allow_stdin=True)
            question = one.wait_for("input_request")
            self.assertEqual((question["channel"], question["content"]["prompt"]), ("stdin", "who? "))
            # Another client's answer is none.
            other.send("input_reply", {"value": "other"}, "stdin")
            other.send("kernel_info_request", {}, "control")
            self.assertEqual(other.wait_for("kernel_info_reply")["channel"], "control")
            one.send("input_reply", {"value": "one"}, "stdin")
            found = one.messages_of(request)
            self.assertIn("execute_reply", [message["msg_type"] for message in found])
            self.assertEqual(results_of([(m["msg_type"], m["content"]) for m in found]), ["'one'"])
            other.send("kernel_info_request", {})
            kinds = []
            while "kernel_info_reply" not in kinds:
                kinds.append(other.read()["msg_type"])
            self.assertIn("execute_result", kinds)
            self.assertNotIn("execute_reply", kinds)
            self.assertNotIn("input_request", kinds)

    def test_a_question_ends_when_its_client_leaves(self):
        with Kernel() as kernel, kernel.connect() as other:
            with kernel.connect() as one:
                one.execute("input('never answered')", allow_stdin=True)
                one.wait_for("input_request")
            self.assertEqual(other.wait_for("error")["content"]["ename"], "EOFError")

    def test_a_restart_has_the_same_id_and_tells_its_clients(self):
        with Kernel() as kernel, kernel.connect() as client:
            client.run("name = 1")
            client.execute(ENDLESS)
            client.wait_for("stream")
            answer = call("POST", f"api/kernels/{kernel.id}/restart")
            self.assertEqual((answer.status_code, answer.json()["id"]), (200, kernel.id))
            # JupyterLab takes `restarting` for the sign of a kernel that has died.
            states = []
            while "starting" not in states:
                states.append(client.wait_for("status")["content"]["execution_state"])
            self.assertNotIn("restarting", states)
            self.assertEqual(client.run("name")[0]["ename"], "NameError")
            # By a message nobody has asked the server, so it tells all.
            client.send("shutdown_request", {"restart": True}, "control")
            for state in ("restarting", "starting"):
                client.wait_for("status", execution_state=state)
            self.assertEqual(results_of(client.run("1 + 1")[1]), ["2"])

    def test_deleted_kernels_end_their_cells_and_tell_their_clients(self):
        for delete in ("request", "message"):
            with self.subTest(delete), Kernel() as kernel, kernel.connect() as client:
                client.execute(ENDLESS)
                client.wait_for("stream")
                if delete == "request":
                    self.assertEqual(call("DELETE", f"api/kernels/{kernel.id}").status_code, 204)
                else:
                    client.send("shutdown_request", {"restart": False}, "control")
                client.wait_for("status", execution_state="dead")
                self.assertEqual(client.closed()[0], 1000)
                until(lambda: call("GET", f"api/kernels/{kernel.id}").status_code == 404, "the kernel is gone")

    def test_sessions_are_documents_and_their_kernels(self):
        body = {"path": "a.ipynb", "name": "a", "type": "notebook", "kernel": {"name": "python3"}}
        made = call("POST", "api/sessions", json=body)
        session = made.json()
        self.assertEqual((made.status_code, made.headers["Location"]), (201, f"/api/sessions/{session['id']}"))
        self.assertEqual(session["notebook"], {"path": "a.ipynb", "name": "a"})
        self.assertEqual(call("POST", "api/sessions", json=body).json()["id"], session["id"])
        changed = call("PATCH", f"api/sessions/{session['id']}", json={"path": "b.ipynb"}).json()
        self.assertEqual((changed["path"], changed["kernel"]["id"]), ("b.ipynb", session["kernel"]["id"]))
        self.assertEqual([found["id"] for found in call("GET", "api/sessions").json()], [session["id"]])
        self.assertEqual(call("GET", f"api/sessions/{session['id']}", BOB).status_code, 404)
        self.assertEqual(call("DELETE", f"api/sessions/{session['id']}").status_code, 204)
        self.assertEqual(call("GET", f"api/kernels/{session['kernel']['id']}").status_code, 404)

    def test_outputs_are_passive(self):
        with Kernel() as kernel, kernel.connect() as client:
            _, messages = client.run("from IPython.display import HTML; HTML('<b>a</b><script>1</script>')")
            (shown,) = [content["data"] for kind, content in messages if kind == "execute_result"]
            self.assertEqual(shown["text/html"], "<b>a</b>")


class Clients(unittest.TestCase):
    """Programs of other people, as their packages are."""

    def test_jupyter_kernel_client(self):
        with JupyterKernelClient(server_url=URL, token=ADA) as client:
            outputs = client.execute("print('hi'); 1 + 1")["outputs"]
            self.assertEqual([output.get("text") or output["data"]["text/plain"] for output in outputs], ["hi\n", "2"])
            client.execute("name = 5")
            self.assertIn("name", [variable["name"] for variable in client.list_variables()])
            client.restart()
            self.assertEqual(client.execute("name")["status"], "error")
            # Closing a connection that is open still takes this client up to ten seconds.
            call("DELETE", f"api/kernels/{client.id}")

    def test_jupyter_server_with_a_gateway(self):
        with tempfile.TemporaryDirectory() as home, socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
            free.close()
            line = [sys.executable, "-m", "jupyter_server", "--allow-root", "--no-browser", f"--port={port}"]
            line += [f"--gateway-url={URL}", "--IdentityProvider.token=own", f"--ServerApp.root_dir={home}"]
            environment = {**os.environ, "JUPYTER_GATEWAY_AUTH_TOKEN": ADA, "HOME": home}
            server = subprocess.Popen(line, env=environment, stderr=subprocess.DEVNULL)
            try:
                local = f"http://127.0.0.1:{port}"

                def is_up():
                    try:
                        return requests.get(f"{local}/api", timeout=HANG_SECONDS).ok
                    except requests.ConnectionError:
                        return False

                until(is_up, "the server starts")
                headers = {"Authorization": "token own"}
                specs = requests.get(f"{local}/api/kernelspecs", headers=headers, timeout=HANG_SECONDS).json()
                self.assertEqual(specs["default"], "python3")
                body = {"path": "a.ipynb", "name": "a", "type": "notebook", "kernel": {"name": "python3"}}
                made = requests.post(f"{local}/api/sessions", json=body, headers=headers, timeout=HANG_SECONDS)
                kernel = made.json()["kernel"]["id"]
                self.assertIn(kernel, [model["id"] for model in call("GET", "api/kernels").json()])
                with Channels(kernel, token="own", url=local) as client:
                    self.assertEqual(results_of(client.run("1 + 1")[1]), ["2"])
                    client.execute(ENDLESS)
                    client.wait_for("stream")
                    requests.post(f"{local}/api/kernels/{kernel}/interrupt", headers=headers, timeout=HANG_SECONDS)
                    self.assertEqual(client.wait_for("execute_reply")["content"]["ename"], "KeyboardInterrupt")
                path = f"{local}/api/sessions/{made.json()['id']}"
                self.assertEqual(requests.delete(path, headers=headers, timeout=HANG_SECONDS).status_code, 204)
                self.assertEqual(call("GET", f"api/kernels/{kernel}").status_code, 404)
            finally:
                server.terminate()
                server.wait(HANG_SECONDS)

    def test_the_calls_of_open_webui(self):
        """Its code interpreter sends the token in the query, and no body."""

        async def run(code):
            found, token = [], {"token": ADA}
            async with aiohttp.ClientSession(base_url=f"{URL}/") as session:
                async with session.post(url="api/kernels", params=token) as answer:
                    answer.raise_for_status()
                    kernel = (await answer.json())["id"]
                address = f"{URL.replace('http', 'ws', 1)}/api/kernels/{kernel}/channels?token={ADA}"
                async with websockets.connect(address, additional_headers={}) as channels:
                    request = uuid.uuid4().hex
                    header = {"msg_id": request, "msg_type": "execute_request", "username": "user", "version": "5.3"}
                    header |= {"session": uuid.uuid4().hex, "date": ""}
                    message = {"header": header, "parent_header": {}, "metadata": {}, "channel": "shell"}
                    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
                    await channels.send(json.dumps({**message, "content": content}))
                    while ("status", {"execution_state": "idle"}) not in found:
                        read = json.loads(await asyncio.wait_for(channels.recv(), HANG_SECONDS))
                        if read.get("parent_header", {}).get("msg_id") == request:
                            found.append((read["msg_type"], read["content"]))
                async with session.delete(f"api/kernels/{kernel}", params=token) as answer:
                    answer.raise_for_status()
            return found

        found = asyncio.run(run("print('hi')\n1 + 1"))
        self.assertEqual((text_of(found), results_of(found)), ("hi\n", ["2"]))


class Hostile(unittest.TestCase):
    def error(self, answer, status):
        """Checks an error: it is Jupyter's JSON."""
        self.assertEqual(
            (answer.status_code, answer.headers["Content-Type"]), (status, "application/json"), answer.text
        )
        self.assertEqual(set(answer.json()), {"message", "reason"})
        return answer.json()["message"]

    def refused(self, status, kernel, **options):
        """Checks that no WebSocket opens."""
        with self.assertRaises(websocket.WebSocketBadStatusException) as raised:
            Channels(kernel, **options)
        self.assertEqual(raised.exception.status_code, status)

    def test_without_a_valid_token_nothing_is_answered(self):
        with Kernel() as kernel:
            paths = ["api", "api/me", "api/kernelspecs", "api/kernels", f"api/kernels/{kernel.id}", "api/sessions"]
            for token in (None, "wrong", ADA[:-1]):
                for path in paths:
                    self.error(call("GET", path, token), 401)
                self.error(call("POST", "api/kernels", token), 401)
                self.refused(401, kernel.id, token=token)
            self.error(call("GET", f"api/kernels?token={BOB}", ADA), 400)
            self.error(call("GET", "api/kernels?token=wrong", None), 401)
            self.error(call("GET", "api/kernels", None, {"Authorization": f"Basic {ADA}"}), 401)
            self.assertEqual(call("GET", "api/kernels", None, {"Authorization": f"Bearer {ADA}"}).status_code, 200)

    def test_kernels_of_others_are_not_there(self):
        with Kernel() as kernel:
            path = f"api/kernels/{kernel.id}"
            for method, end in (("GET", ""), ("DELETE", ""), ("POST", "/interrupt"), ("POST", "/restart")):
                theirs = self.error(call(method, path + end, BOB), 404)
                nobodys = self.error(call(method, f"api/kernels/{uuid.UUID(int=0)}{end}", BOB), 404)
                self.assertEqual(theirs.replace(kernel.id, ""), nobodys.replace(str(uuid.UUID(int=0)), ""))
            self.refused(404, kernel.id, token=BOB)
            self.assertEqual(call("GET", "api/kernels", BOB).json(), [])
            body = {"path": "a", "type": "console", "kernel": {"id": kernel.id}}
            self.error(call("POST", "api/sessions", BOB, json=body), 404)
            self.assertEqual(call("GET", "api/status", BOB).json()["kernels"], 0)

    def test_web_pages_of_others_are_refused(self):
        with Kernel() as kernel:
            for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example"):
                self.error(call("GET", "api/kernels", headers={"Origin": origin}), 403)
                self.error(call("POST", "api/kernels", headers={"Origin": origin}), 403)
                self.refused(403, kernel.id, origin=origin)
            self.error(call("GET", "api/kernels", headers={"Host": "evil.example"}), 403)
            self.refused(403, kernel.id, host="evil.example")

    def test_frames_that_are_no_message_end_their_websocket_alone(self):
        header = json.dumps({"msg_id": "a", "msg_type": "execute_request"}).encode()
        good = serialize_msg_to_ws_v1([header, b"{}", b"{}", b'{"code": "1"}'], "shell")

        def with_number(index, number):
            return good[: 8 * index] + (number % 2**64).to_bytes(8, "little") + good[8 * (index + 1) :]

        broken = [with_number(index, number) for index in range(7) for number in (-1, 0, 2**63, len(good) + 1)]
        broken += [b"", b"\0", good[:40], os.urandom(100), with_number(3, len(good))]
        message = {"header": {"msg_id": "a", "msg_type": "execute_request"}, "content": {}, "channel": "shell"}
        texts = ["", "[]", "{", '{"header": 1}', json.dumps({**message, "content": []}), '{"a":' * 10_000]
        with Kernel() as kernel, kernel.connect() as other:
            for frame in broken:
                with kernel.connect(V1) as client:
                    client.socket.send_binary(frame)
                    self.assertEqual(client.closed()[0], 1007, frame)
                with kernel.connect() as client:
                    client.socket.send_binary(frame)
                    self.assertEqual(client.closed()[0], 1007, frame)
            for text in texts:
                for form in (None, V1):
                    with kernel.connect(form) as client:
                        client.socket.send(text)
                        self.assertEqual(client.closed()[0], 1007, text)
            for channel in ("iopub", "hb", "", "shell "):
                for form in (None, V1):
                    with kernel.connect(form) as client:
                        client.send("execute_request", {"code": "1"}, channel)
                        self.assertEqual(client.closed()[0], 1008)
            self.assertEqual(results_of(other.run("1 + 1")[1]), ["2"])

    def test_sizes_and_numbers_are_bounded(self):
        with Kernel() as kernel, kernel.connect() as other:
            with kernel.connect() as client:
                # The server may have closed before all is sent.
                try:
                    client.execute("#" * (17 << 20))
                    self.assertEqual(client.closed()[0], 1009)
                except (ConnectionError, websocket.WebSocketException):
                    pass
            self.error(call("POST", "api/kernels", json={"name": "a" * 100_000}), 413)
            self.error(call("POST", "api/kernels", data="{"), 400)
            self.error(call("POST", "api/kernels", json={"name": "julia"}), 404)
            self.error(call("PUT", "api/kernels"), 405)
            clients = [kernel.connect() for _ in range(31)]
            self.refused(429, kernel.id)
            for client in clients:
                client.socket.shutdown()
            self.assertEqual(results_of(other.run("1 + 1")[1]), ["2"])
        # The tokens file gives Bob three sessions.
        kernels = [Kernel(BOB) for _ in range(3)]
        self.assertIn("3 sessions", self.error(call("POST", "api/kernels", BOB), 429))
        for kernel in kernels:
            with kernel:
                pass
        with Kernel(BOB):
            pass


class Active(unittest.TestCase):
    """With a server whose outputs are active."""

    def test_html_is_as_it_is_and_comms_carry_buffers(self):
        # The bundle has no package for comms.
        code = """
from IPython.display import HTML
from _brumate.notebook.frontend import send
send("comm_msg", {"comm_id": "c", "data": {}}, buffers=[b"", bytes([0, 255])])
HTML("<script>1</script>")"""
        for form in (None, V1):
            with self.subTest(form), Kernel() as kernel, kernel.connect(form) as client:
                messages = client.messages_of(client.execute(code))
                (sent,) = [message for message in messages if message["msg_type"] == "comm_msg"]
                self.assertEqual((sent["content"]["comm_id"], sent["buffers"]), ("c", [b"", b"\0\xff"]))
                (shown,) = [message for message in messages if message["msg_type"] == "execute_result"]
                self.assertEqual(shown["content"]["data"]["text/html"], "<script>1</script>")


class Open(unittest.TestCase):
    """With a server without tokens."""

    def test_programs_of_this_machine_are_let_in_and_foreign_web_pages_are_not(self):
        kernel = Kernel(None)
        with kernel.connect() as client:
            self.assertEqual(results_of(client.run("1 + 1")[1]), ["2"])
        for options in ({"origin": "https://evil.example"}, {"origin": "null"}, {"host": "evil.example"}):
            with self.assertRaises(websocket.WebSocketBadStatusException) as raised:
                kernel.connect(**options)
            self.assertEqual(raised.exception.status_code, 403)
            headers = {name.title(): value for name, value in options.items()}
            self.assertEqual(call("POST", "api/kernels", None, headers).status_code, 403)
        self.assertEqual(len(call("GET", "api/kernels", None).json()), 1)


class Left(unittest.TestCase):
    """A kernel and a running cell that the server finds when it stops."""

    def test_a_kernel_is_left_alone(self):
        with Kernel().connect() as client:
            client.execute(ENDLESS)
            client.wait_for("stream")


class Expiry(unittest.TestCase):
    """With a server whose sessions expire after a second."""

    def test_kernels_that_are_not_used_end(self):
        with Kernel() as kernel, kernel.connect() as client:
            client.run("1")
            client.wait_for("status", execution_state="dead")
            self.assertEqual(client.closed()[0], 1000)
            self.assertEqual(call("GET", f"api/kernels/{kernel.id}").status_code, 404)


class Revocation(unittest.TestCase):
    """With a server whose tokens file is changed."""

    def test_websockets_of_a_revoked_token_end(self):
        kernel = Kernel(BOB)
        with kernel.connect() as client:
            client.execute(ENDLESS)
            client.wait_for("stream")
            tokens = Path(os.environ["BRUMATE_TEST_TOKENS_FILE"])
            tokens.write_text(tokens.read_text().partition("[principal.bob]")[0])
            os.kill(int(os.environ["BRUMATE_TEST_SERVER"]), signal.SIGHUP)
            self.assertEqual(client.closed()[0], 1008)
        self.assertEqual(call("GET", "api/kernels", BOB).status_code, 401)


if __name__ == "__main__":
    # Sockets of clients that were refused are closed by the collector.
    unittest.main(warnings="ignore")
