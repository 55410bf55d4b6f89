"""What frontends rely on beyond single requests: input, interrupts, restarts, aborted cells, comms; and a hostile guest."""

import contextlib
import os
import socket
import time
import unittest
from pathlib import Path

from client import HANG_SECONDS, Client, results_of, text_of
from jupyter_client.session import Session


def directory_of(manager):
    """The directory of a running kernel: it has a file there locked. Other tests have kernels in the same cache."""
    names = []
    for descriptor in Path(f"/proc/{manager.provisioner.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            names.append(Path(os.readlink(descriptor)))
    (lock,) = [name for name in names if name.name == "lock" and name.parent.name.startswith("kernel-")]
    return lock.parent


class Cells(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = Client(transport="ipc")

    @classmethod
    def tearDownClass(cls):
        cls.kernel.__exit__()

    def test_input_is_answered(self):
        code = "import getpass\na = input('name? ')\nb = getpass.getpass()\nprint(a, b)"
        reply, messages = self.kernel.run(code, answers=["ada", "secret"])
        asked = [content for kind, content in messages if kind == "input_request"]
        self.assertEqual(asked, [{"prompt": "name? ", "password": False}, {"prompt": "Password: ", "password": True}])
        self.assertEqual((reply["status"], text_of(messages)), ("ok", "ada secret\n"))
        reply, _ = self.kernel.run("input('a')")
        self.assertEqual(reply["ename"], "StdinNotImplementedError")

    def test_interrupts_end_cells_and_keep_names(self):
        for code in (
            "kept = 7\nprint()\nwhile True: pass",
            "import time\nprint()\ntime.sleep(100)",
            "import asyncio\nprint()\nawait asyncio.sleep(100)",
        ):
            with self.subTest(code):
                reply, messages = self.kernel.run(code, interrupt=True)
                self.assertEqual((reply["status"], reply["ename"]), ("error", "KeyboardInterrupt"))
                self.assertEqual(
                    [content["ename"] for kind, content in messages if kind == "error"], ["KeyboardInterrupt"]
                )
        self.assertEqual(results_of(self.kernel.run("kept")[1]), ["7"])

    def test_an_interrupt_of_nothing_does_nothing(self):
        self.kernel.manager.interrupt_kernel()
        time.sleep(0.2)
        self.assertEqual(results_of(self.kernel.run("1 + 1")[1]), ["2"])

    def test_a_question_is_interrupted(self):
        request = self.kernel.client.execute("input('never answered')", allow_stdin=True)
        self.kernel.client.get_stdin_msg(timeout=HANG_SECONDS)
        self.kernel.manager.interrupt_kernel()
        self.kernel.messages(request)
        self.assertEqual(
            self.kernel.client.get_shell_msg(timeout=HANG_SECONDS)["content"]["ename"], "KeyboardInterrupt"
        )

    def test_cells_behind_a_failed_one_are_aborted(self):
        client = self.kernel.client
        for code in ("import time; time.sleep(0.5); 1 / 0", "print('no')", "2"):
            client.execute(code)
        client.complete("zi")
        replies = [client.get_shell_msg(timeout=HANG_SECONDS) for _ in range(4)]
        self.assertEqual([reply["content"]["status"] for reply in replies], ["error", "aborted", "aborted", "ok"])
        first = client.execute("1 / 0", stop_on_error=False)
        second = client.execute("3")
        self.kernel.messages(first)
        self.assertEqual(results_of(self.kernel.messages(second)), ["3"])
        self.assertEqual(
            [client.get_shell_msg(timeout=HANG_SECONDS)["content"]["status"] for _ in range(2)], ["error", "ok"]
        )

    def test_a_cell_that_ends_its_interpreter_is_undone(self):
        self.kernel.run("before = 1")
        for code in ("before = 2\nimport os\nos.abort()", "before = 2\nimport os\nos._exit(3)"):
            reply, messages = self.kernel.run(code)
            self.assertEqual((reply["status"], reply["ename"]), ("error", "SandboxError"))
            self.assertEqual([content["ename"] for kind, content in messages if kind == "error"], ["SandboxError"])
            self.assertEqual(results_of(self.kernel.run("before")[1]), ["1"])

    def test_checkpoints_are_kept_and_resumed(self):
        with Client() as kernel:
            kernel.run("x = [1]\nopen('file', 'w').write('one')")
            self.assertEqual(text_of(kernel.run("%checkpoint before")[1]), "checkpoint 'before' is kept\n")
            kernel.run("x.append(2)\nopen('file', 'w').write('two')")
            kernel.run("%checkpoint")
            kernel.run("del x")
            for name, found in (
                ("before", "[1] one"),
                ("last", "[1, 2] two"),
                ("", "[1, 2] two"),
                ("before", "[1] one"),
            ):
                reply, _ = kernel.run(f"%rollback {name}")
                self.assertEqual(reply["status"], "ok", reply)
                self.assertEqual(text_of(kernel.run("print(x, open('file').read())")[1]), f"{found}\n")
                kernel.run("x.append(3)\nopen('file', 'w').write('three')")
            for code, reason in (
                ("%rollback nothing", "there is no checkpoint `nothing`; the checkpoints are before, last"),
                ("%checkpoint " + "x" * 65, "a checkpoint's name has at most 64 bytes"),
                ("x = 1\n%checkpoint a", "the only line of its cell"),
            ):
                reply, _ = kernel.run(code)
                self.assertEqual(reply["status"], "error")
                self.assertIn(reason, reply["evalue"] + str(_), code)
            for number in range(14):
                self.assertEqual(kernel.run(f"%checkpoint {number}")[0]["status"], "ok")
            self.assertIn("16 checkpoints, which is the most", kernel.run("%checkpoint more")[0]["evalue"])
            self.assertEqual(kernel.run("%checkpoint 3")[0]["status"], "ok")

    def test_messages_that_code_forges_are_none(self):
        code = (
            "import _brumate.channel as channel\n"
            "for kind in ('status', 'execute_reply', 'input_request', 'shutdown_reply', 'x'):\n"
            "    channel.send(kind, '{}', '{}', [])\n"
            "for text in ('1', '[', '{' * 1000, '{\"a\":' * 200 + '1' + '}' * 200):\n"
            "    channel.send('display_data', text, '{}', [])\n"
            "channel.send('display_data', '{}', '{}', ['no base64'])\n"
            "print('end')"
        )
        reply, messages = self.kernel.run(code)
        self.assertEqual((reply["status"], text_of(messages)), ("ok", "end\n"))
        self.assertEqual([kind for kind, _ in messages], ["execute_input", "stream"])

    def test_much_output_arrives_whole(self):
        _, messages = self.kernel.run("for i in range(50_000): print(i)")
        self.assertEqual(text_of(messages), "".join(f"{i}\n" for i in range(50_000)))

    def test_debuggers_and_unknown_requests_get_an_answer(self):
        session, channel = self.kernel.client.session, self.kernel.client.control_channel
        for kind, content, expected in (
            (
                "debug_request",
                {"seq": 4, "command": "initialize", "type": "request"},
                {"success": False, "request_seq": 4},
            ),
            ("create_subshell_request", {}, {"status": "error", "ename": "NotImplementedError"}),
        ):
            channel.send(session.msg(kind, content))
            reply = channel.get_msg(timeout=HANG_SECONDS)
            self.assertEqual(reply["msg_type"], kind.replace("request", "reply"))
            self.assertLessEqual(expected.items(), reply["content"].items())

    def test_a_comm_without_a_target_is_closed(self):
        client = self.kernel.client
        message = client.session.msg("comm_open", {"comm_id": "c", "target_name": "none", "data": {}})
        client.shell_channel.send(message)
        self.assertEqual(
            self.kernel.messages(message["header"]["msg_id"]), [("comm_close", {"comm_id": "c", "data": {}})]
        )


class Life(unittest.TestCase):
    def test_messages_with_another_key_are_ignored(self):
        with Client() as kernel:
            channel = kernel.client.shell_channel
            real = channel.session
            channel.session = Session(key=b"another", session=real.session)
            kernel.client.execute("forged = 1")
            channel.session = real
            self.assertEqual(kernel.run("'forged' in globals()")[1][-1][1]["data"]["text/plain"], "False")

    def test_bytes_that_are_no_message_end_nothing(self):
        with Client() as kernel:
            ports = kernel.manager.get_connection_info()
            for port in ("shell_port", "control_port", "stdin_port", "iopub_port", "hb_port"):
                for data in (
                    b"GET / HTTP/1.1\r\n\r\n",
                    b"\xff" * 100,
                    b"\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL" + b"\0" * 60,
                ):
                    with socket.create_connection((ports["ip"], ports[port]), timeout=10) as stream:
                        stream.sendall(data)
            self.assertEqual(results_of(kernel.run("1 + 1")[1]), ["2"])

    def test_restarts_begin_anew_and_leave_nothing_behind(self):
        directories = []
        with Client() as kernel:
            for _ in range(3):
                directories.append(directory_of(kernel.manager))
                self.assertEqual(kernel.run("'x' in globals()")[1][-1][1]["data"]["text/plain"], "False")
                kernel.run("x = 1")
                kernel.manager.restart_kernel(now=False)
                kernel.client.wait_for_ready(timeout=HANG_SECONDS)
            directories.append(directory_of(kernel.manager))
            kernel.manager.restart_kernel(now=True)
            kernel.client.wait_for_ready(timeout=HANG_SECONDS)
            self.assertEqual(results_of(kernel.run("1")[1]), ["1"])
            directories.append(directory_of(kernel.manager))
            kernel.client.shutdown()
            until = time.monotonic() + HANG_SECONDS
            while kernel.manager.is_alive() and time.monotonic() < until:
                time.sleep(0.05)
            self.assertFalse(kernel.manager.is_alive())
        # The killed kernel's directory was removed by the next.
        self.assertEqual(len(set(directories)), 5)
        self.assertEqual([path for path in directories if path.exists()], [])


if __name__ == "__main__":
    unittest.main()
