"""A code interpreter as MCP Python Code Interpreter documents it: FastMCP, and a Jupyter kernel for each session.

The package itself is not on PyPI; this stands for it. It speaks over standard input and output, which takes less than
the HTTP of the original, and keeps the wait that each call of the original has.
"""

import asyncio
import os
import secrets
import tempfile
from pathlib import Path

from jupyter_client.manager import AsyncKernelManager
from mcp.server.fastmcp import FastMCP

# Seconds that each call waits for files to appear.
FIXED_WAIT = 0.2
# Longest time that one message of a kernel is waited for.
KERNEL_TIMEOUT = 10

server = FastMCP("Python Code Interpreter")
sessions = {}


async def open_session():
    session_id = secrets.token_urlsafe(12)
    directory = tempfile.TemporaryDirectory()
    manager = AsyncKernelManager(kernel_name="python3")
    await manager.start_kernel(cwd=directory.name)
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready(timeout=KERNEL_TIMEOUT)
    sessions[session_id] = (directory, manager, client)
    return session_id


@server.tool()
async def execute_code(code: str, session_id: str = "") -> dict:
    created = session_id in ("", "0")
    if created:
        session_id = await open_session()
    directory, _, client = sessions[session_id]
    answer = {
        "success": True,
        "output": [],
        "result": None,
        "error": None,
        "traceback": [],
        "files": [],
        "session_info": None,
    }
    request = client.execute(code)
    while True:
        message = await client.get_iopub_msg(timeout=KERNEL_TIMEOUT)
        if message["parent_header"].get("msg_id") != request:
            continue
        content = message["content"]
        match message["msg_type"]:
            case "stream":
                answer["output"].append(content["text"])
            case "execute_result":
                answer["result"] = content["data"]["text/plain"]
            case "error":
                answer.update(
                    success=False, error=f"{content['ename']}: {content['evalue']}", traceback=content["traceback"]
                )
            case "status" if content["execution_state"] == "idle":
                break
    await asyncio.sleep(FIXED_WAIT)
    for path in Path(directory.name).iterdir():
        answer["files"].append(
            {"uri": f"kernel://{session_id}/{path.name}", "name": path.name, "size": path.stat().st_size}
        )
    if created:
        answer["session_info"] = {
            "session_id": session_id,
            "instructions": "Use this `session_id` in subsequent requests",
        }
    return answer


@server.tool()
async def clear_session(session_id: str) -> dict:
    directory, manager, client = sessions.pop(session_id)
    client.stop_channels()
    await manager.shutdown_kernel(now=True)
    directory.cleanup()
    return {"success": True, "message": f"Session {session_id} cleared and all files deleted"}


os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
server.run("stdio")
