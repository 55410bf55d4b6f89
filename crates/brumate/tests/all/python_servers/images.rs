//! Images that servers start in: `mcp` is imported and used in them already.

use std::path::Path;
use std::time::{Duration, Instant};

use brumate_test_support::cache_directory;
use serde_json::{Value, json};

use super::server::Server;
use crate::support::caches::{copy, files};

/// Time after which a test fails. It measures nothing.
const PATIENCE: Duration = Duration::from_secs(120);

/// Says what was there before the first line of the program.
const BEFORE: &str = r#"
import asyncio
import logging
import sys

BEFORE = {
    "modules": [name for name in ("anyio._backends._asyncio", "mcp", "uvicorn") if name in sys.modules],
    "handlers": len(logging.getLogger().handlers),
    "loop": asyncio._get_running_loop() is not None,
}
"#;
const TOOL: &str = r#"
import importlib.metadata

@mcp.tool()
async def facts() -> dict[str, object]:
    return {**BEFORE, "version": importlib.metadata.version("mcp")[0]}
"#;

fn write(file: &Path, server: &str) {
    std::fs::write(file, format!("{BEFORE}\n{server}\n{TOOL}")).unwrap();
}

/// Starts the server and returns its facts.
fn facts(file: &Path, cache: &Path) -> (Server, Value) {
    let options = ["--cache-dir", cache.to_str().unwrap()];
    let mut server = Server::online(&options, file.to_str().unwrap());
    let facts = server.value("facts", &json!({}));
    (server, facts)
}

#[test]
fn servers_of_other_versions_of_mcp_get_images_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let (cache, file) = (directory.path().join("cache"), directory.path().join("server.py"));
    copy(&cache_directory(), &cache);
    let second = "from mcp.server.mcpserver import MCPServer\nmcp = MCPServer('images')";
    let nothing = json!({"modules": [], "handlers": 0, "loop": false, "version": "2"});
    let used = ["anyio._backends._asyncio", "mcp"];
    write(&file, second);
    let (server, first) = facts(&file, &cache);
    assert_eq!(first["version"], "2");
    // It builds the image while it serves.
    let deadline = Instant::now() + PATIENCE;
    while !cache.join("servers.json").exists() {
        assert!(Instant::now() < deadline, "no image was built");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(server);
    let (_, again) = facts(&file, &cache);
    assert_eq!(again, json!({"modules": used, "handlers": 0, "loop": false, "version": "2"}));
    // The same file needs other packages now: those of the image are not found.
    write(&file, "from mcp.server.fastmcp import FastMCP\nmcp = FastMCP('images')");
    let (_, other) = facts(&file, &cache);
    assert_eq!(other["version"], "1");
    // An image that is gone is missed by nobody. All go: another test may have built one that is newer.
    write(&file, second);
    for image in files(&cache, "image", |_| true) {
        std::fs::remove_file(image).unwrap();
    }
    let (_, without) = facts(&file, &cache);
    assert_eq!(without, nothing);
}

#[test]
fn servers_of_the_bundled_version_start_where_it_was_used() {
    let directory = tempfile::tempdir().unwrap();
    let (cache, file) = (directory.path().join("cache"), directory.path().join("server.py"));
    copy(&cache_directory(), &cache);
    write(&file, "from mcp.server.fastmcp import FastMCP\nmcp = FastMCP('images')");
    let deadline = Instant::now() + PATIENCE;
    let used = json!({
        "modules": ["anyio._backends._asyncio", "mcp"], "handlers": 0, "loop": false, "version": "1",
    });
    // The first one builds the image while it serves, unless an earlier one has done so.
    let (_server, mut found) = facts(&file, &cache);
    while found != used {
        assert!(Instant::now() < deadline, "no image was built: {found}");
        std::thread::sleep(Duration::from_secs(1));
        found = facts(&file, &cache).1;
    }
    assert!(!cache.join("servers.json").exists(), "it needs no image of its own");
}
