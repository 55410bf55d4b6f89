//! A connection of HTTP/1 to a server with the defaults.
//!
//! No bytes make the server panic, and none that name a host other than this machine are answered with success. What pages may send
//! at all (`OPTIONS`) is told to everybody.

use brumate_mcp::fuzzing;

/// Holds the property for the bytes of one connection. Returns whether the first answer is a success.
///
/// # Panics
///
/// When it does not hold.
pub fn run(bytes: &[u8]) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap_or_else(|error| panic!("no runtime: {error}"));
    let answer = runtime.block_on(fuzzing::answer(bytes));
    let succeeded = answer.starts_with(b"HTTP/1.1 2");
    if succeeded && !bytes.trim_ascii_start().starts_with(b"OPTIONS ") {
        assert!(names_this_machine(bytes), "a success for {:?}", String::from_utf8_lossy(bytes));
    }
    succeeded
}

/// Whether the first head names this machine once, and nothing else.
fn names_this_machine(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    // Empty lines before a request are nothing.
    let text = text.trim_start_matches(['\r', '\n']);
    let mut lines = text.lines().take_while(|line| !line.trim().is_empty());
    let target = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    let absolute = target.split_once("://").map(|(_, rest)| rest.split(['/', '?']).next().unwrap_or_default());
    let headers = lines.filter_map(|line| line.split_once(':'));
    let hosts = headers.filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, value)| value.trim());
    let named: Vec<&str> = hosts.chain(absolute).collect();
    let is_here = |name: &str| {
        let name = name.to_ascii_lowercase();
        let host = ["localhost", "127.0.0.1", "[::1]"].iter().find_map(|host| name.strip_prefix(host));
        host.is_some_and(|port| {
            port.is_empty()
                || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        })
    };
    !named.is_empty() && named.iter().all(|name| is_here(name))
}
