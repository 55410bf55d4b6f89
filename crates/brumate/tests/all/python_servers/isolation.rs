//! Sessions over HTTP that have an interpreter each (`--isolate session`).

use brumate_mcp::Client;

use super::own_client::start;

/// A server with a counter, and with a module that it imports late.
const SERVER: &str = r#"
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("isolated")
calls = 0


@mcp.tool()
def count() -> int:
    global calls
    calls += 1
    return calls


@mcp.tool()
def late() -> str:
    import late

    return late.TEXT
"#;

#[tokio::test]
async fn sessions_share_no_state_and_keep_their_modules() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("server.py");
    std::fs::write(&file, SERVER).unwrap();
    std::fs::write(directory.path().join("late.py"), "TEXT = 'imported'").unwrap();
    let words = ["--offline", "--isolate", "session", "-t", "streamable-http"].map(str::to_owned);
    let file = file.to_str().unwrap().to_owned();
    let (_server, address) = start(|port| words.into_iter().chain(["--port".to_owned(), port, file]).collect());
    let connect = async || Client::http(format!("{address}/mcp")).connect().await.unwrap();
    let (first, second) = (connect().await, connect().await);
    for _ in 0..2 {
        first.call("count").await.unwrap();
    }
    assert_eq!(first.call("count").await.unwrap().parse::<i64>().unwrap(), 3);
    assert_eq!(second.call("count").await.unwrap().parse::<i64>().unwrap(), 1);
    // The machine of the second session was started after that of the first one, and has ended.
    second.close().await;
    assert_eq!(first.call("late").await.unwrap().text(), "imported");
    let third = connect().await;
    assert_eq!(third.call("late").await.unwrap().text(), "imported");
    first.close().await;
    third.close().await;
}
