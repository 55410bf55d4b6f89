//! Packages of servers that have compiled parts: the sandbox stands in for some of them.

use serde_json::json;

use super::server::Server;

/// Uses each package that the sandbox stands in for.
const STAND_INS: &str = r#"
import asyncio
import pathlib

import caio
import psutil
import uvloop
import watchfiles
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("stand-ins")


@mcp.tool()
async def use() -> dict[str, object]:
    file = pathlib.Path("/tmp/watched/a.txt")
    file.parent.mkdir()
    watching = watchfiles.awatch(file.parent, poll_delay_ms=1)
    change = asyncio.ensure_future(anext(watching))
    await asyncio.sleep(0)
    file.write_bytes(b"hello")
    [(kind, path)] = await change
    async with caio.AsyncioContext() as context:
        with file.open("rb") as opened:
            data = await context.read(3, opened.fileno(), 1)
    try:
        import httptools
    except ModuleNotFoundError as error:
        missing = error.name
    loop = type(asyncio.get_running_loop())
    return {"change": [kind.name, path], "data": data.decode(), "missing": missing, "loop": issubclass(loop, uvloop.Loop)}
"#;

/// A server of the newest `fastmcp`, which requires `watchfiles` and `caio`.
const FASTMCP: &str = r#"
import fastmcp

mcp = fastmcp.FastMCP("newest")


@mcp.tool
def version() -> str:
    return fastmcp.__version__
"#;

#[test]
fn packages_with_stand_ins_need_no_network() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("server.py");
    std::fs::write(&file, STAND_INS).unwrap();
    let packages = ["caio", "httptools>=0.6", "psutil", "uvloop", "watchfiles>=1"];
    let options: Vec<&str> = packages.into_iter().flat_map(|package| ["--with", package]).collect();
    let mut server = Server::of(&options, file.to_str().unwrap(), &[]);
    let used = json!({"change": ["added", "/tmp/watched/a.txt"], "data": "ell", "missing": "httptools", "loop": true});
    assert_eq!(server.value("use", &json!({})), used);
}

#[test]
fn the_newest_fastmcp_can_be_installed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("server.py");
    std::fs::write(&file, FASTMCP).unwrap();
    let mut server = Server::online(&["--with", "fastmcp>=4", "--no-learned-images"], file.to_str().unwrap());
    let version = server.value("version", &json!({}));
    assert!(version.as_str().is_some_and(|version| version.starts_with('4')), "{version}");
    assert_eq!(server.about["serverInfo"]["name"], "newest");
}
