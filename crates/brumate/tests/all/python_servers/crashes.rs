//! Servers that die, or break the protocol: the calls are answered, and the next message finds a new server.

use std::process::Stdio;

use serde_json::json;

use super::server::{Server, binary};

#[test]
fn a_server_that_exits_is_started_again() {
    let mut server = Server::start(&[]);
    let waiting = server.begin_call("wait", &json!({}));
    let text = server.failure("die", &json!({"status": 3}));
    assert!(text.contains("exit status 3"), "{text}");
    // The other call is answered as well.
    assert_eq!(server.answer(waiting)["result"]["isError"], true);
    server.check();
    let end = server.end();
    assert_eq!(end.status, Some(0), "{}", end.log);
    assert!(end.log.contains("exit status 3"), "{}", end.log);
}

#[test]
fn a_server_that_exits_again_and_again_is_started_again_more_slowly() {
    let mut server = Server::start(&[]);
    for _ in 0..4 {
        server.failure("die", &json!({"status": 3}));
    }
    server.check();
    assert_eq!(server.end().status, Some(0));
}

#[test]
fn a_server_that_cannot_be_started_again_ends_with_its_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("server.py");
    std::fs::copy(super::server::abuse(), &file).unwrap();
    let mut server = Server::of(&[], file.to_str().unwrap(), &[]);
    std::fs::write(&file, "raise ExceptionGroup('all', [LookupError('inner')])\n").unwrap();
    let text = server.failure("die", &json!({"status": 3}));
    assert!(text.contains("exit status 3"), "{text}");
    for _ in 0..3 {
        let text = server.failure("add", &json!({"a": 1, "b": 2}));
        assert!(text.contains("cannot be started"), "{text}");
    }
    let end = server.end();
    assert_eq!(end.status, Some(1), "{}", end.log);
    for part in ["could not be started again 3 times", "cannot be started again: LookupError: inner"] {
        assert!(end.log.contains(part), "{part} is not in {}", end.log);
    }
}

#[test]
fn what_is_no_message_ends_the_machine() {
    let mut server = Server::start(&[]);
    for (text, part) in [
        ("junk\n", "a line that is no message"),
        ("{\"jsonrpc\":\"2.0\",\"id\":987654,\"result\":{}}\n", "which is no open request"),
    ] {
        let said = server.failure("litter", &json!({"text": text}));
        assert!(said.contains(part), "{said}");
        server.check();
    }
    let end = server.end();
    assert_eq!(end.status, Some(0), "{}", end.log);
    assert!(end.rest.is_empty(), "{:?}", end.rest);
}

#[test]
fn a_server_that_raises_while_it_starts_shows_its_traceback() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("raising.py");
    std::fs::write(&file, "def begin():\n    raise LookupError('there is no such thing')\n\n\nbegin()\n").unwrap();
    let output =
        binary().args(["run", "--offline"]).arg(&file).stdin(Stdio::null()).stdout(Stdio::piped()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(output.stdout.is_empty());
    for part in ["raising.py\", line 2, in begin", "LookupError: there is no such thing"] {
        assert!(errors.contains(part), "{part} is not in {errors}");
    }
}

#[test]
fn a_file_that_serves_nothing_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("nothing.py");
    std::fs::write(&file, "x = 1\n").unwrap();
    let output = binary().args(["run", "--offline"]).arg(&file).stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("nothing.py serves nothing"), "{errors}");
    let output = binary().args(["run", "/nonexistent/server.py"]).stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && errors.contains("/nonexistent/server.py"), "{errors}");
}
