"""Requests of a Jupyter frontend: replies, and messages meanwhile."""

import base64
import importlib.util
import json
import unittest

from support import run


def request(kind, buffers=(), **content):
    """A request of a frontend, as the host passes it."""
    message = {
        "type": kind,
        "content": content,
        "parent": {"header": {"msg_id": "m1", "msg_type": kind}},
        "metadata": {},
        "buffers": [base64.b64encode(buffer).decode() for buffer in buffers],
        "comms": True,
    }
    return {"code": json.dumps(message), "mode": "frontend"}


def execute(code, **options):
    return request("execute_request", code=code, **options)


def replies(result):
    """The contents of all replies."""
    return [json.loads(ended["Returned"]["json"]) for ended in result.all]


def messages(result, *kinds):
    """Kinds and contents of the messages, of these kinds or of all but `execute_input`."""
    sent = [(event["Frontend"]["kind"], event["Frontend"]["content"]) for event in result.events if "Frontend" in event]
    return [(kind, content) for kind, content in sent if (kind in kinds if kinds else kind != "execute_input")]


@unittest.skipIf(importlib.util.find_spec("IPython") is None, "IPython is not installed")
class Cells(unittest.TestCase):
    def test_a_value_and_its_number(self):
        result = run(execute("1 + 1"), execute("x = 3"), execute("x", silent=True), execute("x", store_history=False))
        self.assertEqual([reply["execution_count"] for reply in replies(result)], [1, 2, 2, 2])
        self.assertEqual({reply["status"] for reply in replies(result)}, {"ok"})
        self.assertEqual(
            messages(result, "execute_result", "execute_input"),
            [
                ("execute_input", {"code": "1 + 1", "execution_count": 1}),
                ("execute_result", {"data": {"text/plain": "2"}, "metadata": {}, "execution_count": 1}),
                ("execute_input", {"code": "x = 3", "execution_count": 2}),
                ("execute_input", {"code": "x", "execution_count": 3}),
                ("execute_result", {"data": {"text/plain": "3"}, "metadata": {}, "execution_count": 2}),
            ],
        )

    def test_displays_are_updated_and_cleared(self):
        code = """
            from IPython.display import HTML, Image, JSON, clear_output, display
            handle = display(HTML("<b>1</b>"), display_id="d", metadata={"a": 1})
            handle.update(JSON({"x": [1.5, float("nan")]}))
            display({"image/png": b"\\x89PNG"}, raw=True)
            clear_output(wait=True)
        """
        result = run(execute("\n".join(line.strip() for line in code.splitlines())))
        kinds = [kind for kind, _ in messages(result)]
        self.assertEqual(kinds, ["display_data", "update_display_data", "display_data", "clear_output"])
        first, update, picture, cleared = [content for _, content in messages(result)]
        self.assertEqual(first["data"]["text/html"], "<b>1</b>")
        self.assertEqual((first["transient"], update["transient"]), ({"display_id": "d"}, {"display_id": "d"}))
        self.assertEqual(update["data"]["application/json"], {"x": [1.5, "nan"]})
        self.assertEqual((picture["data"], cleared), ({"image/png": "iVBORw=="}, {"wait": True}))

    def test_an_error_is_sent_once_and_is_the_reply(self):
        result = run(execute("def f():\n    1 / 0\nf()", user_expressions={"a": "1"}), execute("%tb"))
        errors = messages(result, "error")
        reply = replies(result)[0]
        self.assertEqual(
            (reply["status"], reply["ename"], reply["evalue"]), ("error", "ZeroDivisionError", "division by zero")
        )
        self.assertEqual(errors[0][1], {name: reply[name] for name in ("ename", "evalue", "traceback")})
        self.assertIn("\x1b[", "".join(reply["traceback"]))
        self.assertEqual((result.output, len(errors)), ("", 2))
        self.assertEqual(replies(result)[1]["status"], "ok")

    def test_errors_before_the_code_runs(self):
        result = run(execute("1 +"), execute("%no_such_magic"), execute("raise SystemExit(3)"), execute("exit"))
        names = [reply.get("ename") for reply in replies(result)]
        self.assertEqual(names, ["SyntaxError", "UsageError", "SystemExit", None])
        self.assertIn("UsageError: Line magic function `%no_such_magic` not found.", result.output)
        self.assertEqual(replies(result)[3]["payload"], [{"source": "ask_exit", "keepkernel": False}])

    def test_expressions_are_evaluated_after_the_cell(self):
        result = run(execute("x = [1]", user_expressions={"good": "x", "bad": "y"}))
        found = replies(result)[0]["user_expressions"]
        self.assertEqual(found["good"], {"status": "ok", "data": {"text/plain": "[1]"}, "metadata": {}})
        self.assertEqual((found["bad"]["status"], found["bad"]["ename"]), ("error", "NameError"))

    def test_a_pager_and_the_next_cell_are_payloads(self):
        result = run(execute("len?"), execute("get_ipython().set_next_input('x = 1')"))
        page, following = [reply["payload"][0] for reply in replies(result)]
        self.assertEqual((page["source"], page["start"], result.output), ("page", 0, ""))
        self.assertIn("Return the number of items", page["data"]["text/plain"])
        self.assertEqual(following, {"source": "set_next_input", "text": "x = 1", "replace": False})

    def test_what_is_too_large_is_left_out_and_said(self):
        result = run(execute("from IPython.display import HTML\nHTML('x' * (17 << 20))"))
        self.assertEqual(messages(result), [])
        self.assertIn("[a message of the kind execute_result was left out", result.output)

    def test_a_failing_command_at_the_end_fails_no_cell(self):
        result = run(execute("!ls /no/such/file"), execute("_exit_code != 0"))
        self.assertEqual([reply["status"] for reply in replies(result)], ["ok", "ok"])
        self.assertEqual(messages(result, "execute_result")[0][1]["data"]["text/plain"], "True")

    def test_exceptions_that_code_handles_itself_are_not_sent(self):
        handler = "get_ipython().set_custom_exc((ValueError,), lambda *a, tb_offset=None: print('handled'))"
        result = run(execute(handler), execute("raise ValueError(1)"), execute("raise KeyError(2)"))
        self.assertEqual([content["ename"] for _, content in messages(result, "error")], ["KeyError"])
        self.assertEqual((result.output, replies(result)[1]["status"]), ("handled\n", "error"))

    def test_groups_and_cancelled_tasks_are_sent_once(self):
        group = execute("raise ExceptionGroup('g', [ValueError(1)])")
        cancelled = execute("import asyncio\nraise asyncio.CancelledError()")
        result = run(group, cancelled)
        self.assertEqual(
            [content["ename"] for _, content in messages(result, "error")], ["ExceptionGroup", "CancelledError"]
        )

    def test_libraries_find_a_kernel(self):
        code = "s = get_ipython()\n('IPKernelApp' in s.config, s.parent_header['header']['msg_id'], s.get_parent() is not None)"
        result = run(execute(code))
        self.assertEqual(messages(result)[0][1]["data"]["text/plain"], "(True, 'm1', True)")

    def test_clients_without_a_frontend_get_what_they_got(self):
        cell = {"code": "display(1)\n1 / 0", "mode": "notebook_cell"}
        result = run(execute("1"), cell)
        self.assertEqual(
            [event for event in result.events if "DisplayData" in event][0]["DisplayData"]["data"]["text/plain"], "1"
        )
        self.assertNotIn("\x1b[", result.raised["traceback"])


@unittest.skipIf(importlib.util.find_spec("IPython") is None, "IPython is not installed")
@unittest.skipIf(importlib.util.find_spec("matplotlib") is None, "matplotlib is not installed")
class Pictures(unittest.TestCase):
    def shown(self, *codes):
        return [content for kind, content in messages(run(*map(execute, codes))) if kind != "error"]

    def test_formats_and_sizes(self):
        plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
        (png,) = self.shown(plot)
        self.assertEqual((sorted(png["data"]), png["metadata"]), (["image/png", "text/plain"], {}))
        (retina,) = self.shown("%config InlineBackend.figure_format = 'retina'", plot)
        width = retina["metadata"]["image/png"]["width"]
        self.assertEqual(int.from_bytes(base64.b64decode(retina["data"]["image/png"])[16:20], "big") // 2, width)
        (svg,) = self.shown("%config InlineBackend.figure_format = 'svg'", plot)
        self.assertEqual(sorted(svg["data"]), ["image/svg+xml", "text/plain"])
        # As ipykernel shows it: the value of the cell, and the open figure at the cell's end.
        for empty in self.shown("import matplotlib.pyplot as plt\nplt.figure()"):
            self.assertEqual(empty["data"], {"text/plain": "<Figure size 640x480 with 0 Axes>"})

    def test_formats_that_code_sets(self):
        choose = "from matplotlib_inline.backend_inline import set_matplotlib_formats\nset_matplotlib_formats('svg')"
        _, picture = self.shown(f"{choose}\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])")
        self.assertEqual(sorted(picture["data"]), ["image/svg+xml", "text/plain"])

    @unittest.skipIf(importlib.util.find_spec("plotly") is None, "plotly is not installed")
    def test_a_figure_of_plotly_is_json(self):
        for code in ("go.Figure(go.Scatter(y=[1, 2]))", "go.Figure(go.Scatter(y=[1, 2])).show()"):
            (figure,) = self.shown(f"import plotly.graph_objects as go\n{code}")
            self.assertEqual(figure["data"]["application/vnd.plotly.v1+json"]["data"][0]["type"], "scatter")
            self.assertNotIn("text/html", figure["data"])

    @unittest.skipIf(importlib.util.find_spec("plotly") is None, "plotly is not installed")
    def test_a_large_figure_is_json_too(self):
        (figure,) = self.shown("import plotly.graph_objects as go\ngo.Figure(go.Scatter(text=['x' * 100] * 50_000))")
        self.assertEqual(len(figure["data"]["application/vnd.plotly.v1+json"]["data"][0]["text"]), 50_000)

    @unittest.skipIf(importlib.util.find_spec("plotly") is None, "plotly is not installed")
    def test_a_renderer_that_code_chooses(self):
        *_library, figure = self.shown(
            "import plotly.graph_objects as go\ngo.Figure(go.Scatter(y=[1, 2])).show('notebook')"
        )
        self.assertIn("Plotly.newPlot", figure["data"]["text/html"])


@unittest.skipIf(importlib.util.find_spec("IPython") is None, "IPython is not installed")
class Requests(unittest.TestCase):
    def test_completions(self):
        result = run(
            execute("value_one = value_two = 1"), request("complete_request", code="print(value_", cursor_pos=12)
        )
        reply = replies(result)[1]
        self.assertEqual(reply["matches"], ["value_one", "value_two"])
        self.assertEqual((reply["cursor_start"], reply["cursor_end"], reply["status"]), (6, 12, "ok"))

    def test_inspection(self):
        known, unknown = replies(
            run(
                request("inspect_request", code="len(", cursor_pos=4),
                request("inspect_request", code="nothing", cursor_pos=3),
            )
        )
        self.assertIn("Return the number of items", known["data"]["text/plain"])
        self.assertEqual((known["found"], unknown["found"], unknown["data"]), (True, False, {}))

    def test_whether_a_cell_is_complete(self):
        asked = [request("is_complete_request", code=code) for code in ("1", "for i in x:", "1 +* 2", "raise = 2")]
        found = replies(run(*asked))
        self.assertEqual([reply["status"] for reply in found], ["complete", "incomplete", "invalid", "invalid"])
        self.assertEqual(found[1]["indent"], "    ")

    def test_history(self):
        cells = [execute("a = 1"), execute("b = 2\nb")]
        tail = request("history_request", hist_access_type="tail", n=1, raw=True, output=False)
        span = request("history_request", hist_access_type="range", session=0, start=1, stop=3, raw=True, output=True)
        search = request("history_request", hist_access_type="search", pattern="a*", raw=True, output=False)
        found = [reply["history"] for reply in replies(run(*cells, tail, span, search))[2:]]
        self.assertEqual(found[0], [[0, 2, "b = 2\nb"]])
        self.assertEqual(found[1], [[0, 1, ["a = 1", None]], [0, 2, ["b = 2\nb", "2"]]])
        self.assertEqual(found[2], [[0, 1, "a = 1"]])

    def test_a_comm_without_a_target_is_closed(self):
        result = run(request("comm_open", comm_id="c", target_name="t", data={}), request("comm_info_request"))
        self.assertEqual(messages(result), [("comm_close", {"comm_id": "c", "data": {}})])
        self.assertEqual(replies(result)[1], {"status": "ok", "comms": {}})


@unittest.skipIf(importlib.util.find_spec("IPython") is None, "IPython is not installed")
@unittest.skipIf(importlib.util.find_spec("ipywidgets") is None, "ipywidgets is not installed")
class Widgets(unittest.TestCase):
    def test_a_widget_is_moved_by_the_frontend(self):
        code = "import ipywidgets\ns = ipywidgets.IntSlider(value=3)\ns.observe(lambda c: print('now', c['new']), 'value')\ns"
        result = run(execute(code))
        shown = [content["data"] for kind, content in messages(result, "execute_result")]
        self.assertIn("application/vnd.jupyter.widget-view+json", shown[0])
        opened = [content for _, content in messages(result, "comm_open")]
        self.assertEqual({content["target_name"] for content in opened}, {"jupyter.widget"})
        moved = (
            "import json\nfrom IPython import get_ipython\nlast = s.comm.comm_id\n"
            "get_ipython().kernel.comm_manager.get_comm(last) is s.comm"
        )
        result = run(execute(code), execute(moved))
        self.assertEqual(messages(result, "execute_result")[-1][1]["data"]["text/plain"], "True")

    def test_messages_of_a_comm_reach_its_code(self):
        code = (
            "from comm import get_comm_manager\ndef opened(comm, message):\n"
            "    comm.on_msg(lambda m: (print(m['content']['data'], bytes(m['buffers'][0])), comm.send({'got': 1}, buffers=[b'z'])))\n"
            "get_comm_manager().register_target('t', opened)"
        )
        result = run(
            execute(code),
            request("comm_open", comm_id="c", target_name="t", data={}),
            request("comm_msg", [b"ab"], comm_id="c", data={"x": 1}),
            request("comm_info_request", target_name="t"),
        )
        self.assertEqual(result.output, "{'x': 1} b'ab'\n")
        self.assertEqual(messages(result, "comm_msg"), [("comm_msg", {"data": {"got": 1}, "comm_id": "c"})])
        sent = [event["Frontend"] for event in result.events if "Frontend" in event][-1]
        self.assertEqual(sent["buffers"], ["eg=="])
        self.assertEqual(replies(result)[3]["comms"], {"c": {"target_name": "t"}})


if __name__ == "__main__":
    unittest.main()
