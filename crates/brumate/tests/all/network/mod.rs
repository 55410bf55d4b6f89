//! Connections of sandboxes to other machines: hosts that a rule names are reached, and nothing else is.

mod gateway;
mod names;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use async_trait::async_trait;
use brumate_engine::api::{MachineSpec, NetworkAccess, Session as _};
use brumate_engine::client::EngineError;
use brumate_gateway::client::{Gateway, NameSettings};
use brumate_network::rules::Rules;

use crate::support::brumate;
use crate::support::sessions::{cell, sandbox, say};

/// A server on the loopback interface of this machine; each connection has a thread.
struct Server {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Server {
    fn start(serve: impl Fn(std::net::TcpStream) + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        thread::spawn(move || {
            let serve = Arc::new(serve);
            for stream in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
                let (stream, serve) = (stream.unwrap(), serve.clone());
                thread::spawn(move || serve(stream));
            }
        });
        Server { port, connections }
    }

    /// Returns how many connections there were.
    fn count(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Answers each request of HTTP with the path and the body that it had.
fn http(mut stream: std::net::TcpStream) {
    let mut received = Vec::new();
    let mut buffer = [0; 65536];
    loop {
        let Some(head) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(count) => received.extend(&buffer[..count]),
            }
            continue;
        };
        let text = String::from_utf8_lossy(&received[..head]).to_ascii_lowercase();
        let length =
            text.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
        while received.len() < head + 4 + length {
            let count = stream.read(&mut buffer).unwrap();
            received.extend(&buffer[..count]);
        }
        let path = text.split(' ').nth(1).unwrap().to_owned();
        let body = match path.strip_prefix("/bytes/") {
            Some(count) => vec![b'x'; count.parse().unwrap()],
            None => [path.as_bytes(), b" ", &received[head + 4..head + 4 + length]].concat(),
        };
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        if stream.write_all(&[answer.as_bytes(), &body].concat()).is_err() {
            return;
        }
        received.drain(..head + 4 + length);
    }
}

/// Runs a program in a sandbox that may reach `hosts`. `PORT` in it is the port. Returns what it has printed.
fn run(hosts: &[&str], port: u16, program: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("program.py");
    std::fs::write(&file, program.replace("PORT", &port.to_string())).unwrap();
    let hosts: Vec<String> =
        hosts.iter().flat_map(|host| ["--allow-net".to_owned(), host.replace("PORT", &port.to_string())]).collect();
    let mut line = vec!["exec", "--offline"];
    line.extend(hosts.iter().map(String::as_str));
    line.push(file.to_str().unwrap());
    let (status, output, errors) = brumate(&line);
    assert_eq!(status, Some(0), "{output}{errors}");
    output
}

#[test]
fn clients_reach_a_host_that_a_rule_names() {
    let server = Server::start(http);
    let program = r#"
import asyncio, http.client, json, socket, urllib.request
URL = "http://host.brumate.internal:PORT"
print(urllib.request.urlopen(URL + "/a").read())
connection = http.client.HTTPConnection("host.brumate.internal", PORT)
for number in range(3):
    connection.request("POST", f"/{number}", json.dumps(number))
    print(connection.getresponse().read())
big = urllib.request.urlopen(URL + "/bytes/20000000").read()
print(len(big), set(big))
sent = "y" * 5_000_000
print(len(urllib.request.urlopen(URL + "/b", sent.encode()).read()))

async def fetch(number):
    reader, writer = await asyncio.open_connection("host.brumate.internal", PORT)
    writer.write(b"GET /%d HTTP/1.1\r\n\r\n" % number)
    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.readexactly(len(str(number)) + 2)
    writer.close()
    return body

async def main():
    return await asyncio.gather(*map(fetch, range(20)))

print(asyncio.run(main()) == [b"/%d " % number for number in range(20)])

import requests
with requests.Session() as session:
    print([session.get(f"{URL}/r{number}").text for number in range(3)])
import threading
texts = []
threads = [threading.Thread(target=lambda n=n: texts.append(requests.get(f"{URL}/t{n}").text)) for n in range(8)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
print(sorted(texts))
"#;
    let printed = run(&["host.brumate.internal:PORT"], server.port, program);
    let expected = "b'/a '\nb'/0 0'\nb'/1 1'\nb'/2 2'\n20000000 {120}\n5000003\nTrue\n['/r0 ', '/r1 ', '/r2 ']\n\
                    ['/t0 ', '/t1 ', '/t2 ', '/t3 ', '/t4 ', '/t5 ', '/t6 ', '/t7 ']\n";
    assert_eq!(printed, expected);
    assert!(server.count() >= 30);
}

#[test]
fn streams_end_as_the_host_ends_them() {
    let server = Server::start(|mut stream| {
        let mut first = [0];
        stream.read_exact(&mut first).unwrap();
        match &first {
            // Sends what it has got when the client has shut its side.
            b"e" => {
                let mut all = Vec::new();
                stream.read_to_end(&mut all).unwrap();
                stream.write_all(&all).unwrap();
            }
            // Unread bytes make the kernel reset the connection.
            b"r" => std::thread::sleep(std::time::Duration::from_millis(200)),
            // Never answers.
            _ => std::thread::sleep(std::time::Duration::from_secs(60)),
        }
    });
    let program = r#"
import errno, select, socket, time
HOST = "host.brumate.internal", PORT
with socket.create_connection(HOST) as s:
    s.sendall(b"e" + b"abc" * 1000)
    s.shutdown(socket.SHUT_WR)
    got = b""
    while piece := s.recv(1000):
        got += piece
    print(got == b"abc" * 1000, s.getpeername()[1] == PORT, s.getsockname()[1] > 0)
with socket.create_connection(HOST) as s:
    s.sendall(b"r" + b"abc" * 1000)
    try:
        print(s.recv(10))
    except ConnectionResetError as error:
        print(type(error).__name__, error.errno == errno.ECONNRESET)
with socket.create_connection(HOST) as s:
    s.sendall(b"n")
    s.settimeout(0.1)
    try:
        s.recv(1)
    except TimeoutError as error:
        print(error)
    print(select.select([s], [s], [], 0) == ([], [s], []))
try:
    socket.create_connection(("host.brumate.internal", 1))
except OSError as error:
    print("NetworkRefused" in str(error), "rule 1" in str(error))
"#;
    let printed = run(&["host.brumate.internal:PORT"], server.port, program);
    assert_eq!(printed, "True True True\nConnectionResetError True\ntimed out\nTrue\nTrue True\n");
}

#[test]
fn other_hosts_are_refused_with_the_reason() {
    let server = Server::start(http);
    let program = r#"
import socket, urllib.request
def attempt(host, port=PORT):
    try:
        socket.create_connection((host, port), 5).close()
        print(host, "connected")
    except OSError as error:
        print(host, type(error).__name__, str(error).partition(": ")[2])
for host in "127.0.0.1", "localhost", "::1", "0.0.0.0", "2130706433":
    attempt(host)
for host in "api.example.com", "169.254.169.254", "10.0.0.1":
    attempt(host)
try:
    urllib.request.urlopen("http://api.example.com/")
except OSError as error:
    print(error)
"#;
    let own =
        ["127.0.0.1", "localhost", "::1", "0.0.0.0", "2130706433"].map(|host| format!("{host} ConnectionRefusedError"));
    for rules in [&["host.brumate.internal:PORT"][..], &[]] {
        let printed = run(rules, server.port, program);
        let lines: Vec<&str> = printed.lines().collect();
        // The loopback addresses are the sandbox's own: nobody listens there.
        for (line, own) in lines.iter().zip(&own) {
            assert!(line.starts_with(own.as_str()), "{printed}");
        }
        assert!(!printed.contains(" connected"), "{printed}");
        let named = lines[5];
        assert!(named.contains("api.example.com") && named.contains("--allow-net api.example.com"), "{printed}");
        assert!(lines[6].contains(&format!("`--allow-net 169.254.169.254:{}`", server.port)), "{printed}");
        assert!(lines[8].contains("NetworkRefused: api.example.com"), "{printed}");
    }
    assert_eq!(server.count(), 0);
}

#[test]
fn rules_that_cannot_work_are_refused() {
    for (rule, reason) in [
        ("127.0.0.1:80", "host.brumate.internal:80"),
        ("localhost:8080", "host.brumate.internal:8080"),
        ("*.com", "top-level domain"),
        ("a:b", "no port"),
        ("http://a", "no port"),
        ("10.0.0.1/8:80", "10.0.0.0/8"),
    ] {
        let (status, _, errors) = brumate(&["exec", "--allow-net", rule, "-c", "1"]);
        assert!(status == Some(2) && errors.contains("`--allow-net`") && errors.contains(reason), "{rule}: {errors}");
    }
}

/// The way of a session to one port of this machine.
#[derive(Debug)]
struct OnePort {
    gateway: Gateway,
    rules: Rules,
}

impl OnePort {
    fn new(port: u16) -> Arc<OnePort> {
        let names = NameSettings::default();
        let gateway = Gateway::new(env!("CARGO_BIN_EXE_brumate").into(), names, Arc::new(|_| {}));
        let rule = format!("host.brumate.internal:{port}").parse().unwrap();
        Arc::new(OnePort { gateway, rules: Rules::new(vec![rule], "`--allow-net HOST`").unwrap() })
    }
}

#[async_trait]
impl NetworkAccess for OnePort {
    async fn open(&self) -> Result<OwnedFd, String> {
        self.gateway.serve(1, "ada", &self.rules).await
    }
}

/// Opens a connection that answers with what it is sent.
const OPEN: &str = "
import socket
def open_one():
    s = socket.create_connection(('host.brumate.internal', PORT), 10)
    s.sendall(b'hello')
    print(s.recv(5))
    return s
s = open_one()
";

/// Shows that the connection of [`OPEN`] is lost, and that another one is made.
const LOST: &str = "
try:
    s.sendall(b'again')
    print(s.recv(5))
except OSError as error:
    print(type(error).__name__)
s = open_one()
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_reset_when_a_session_goes_on_in_another_process() {
    let server = Server::start(|mut stream| {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            stream.write_all(&buffer[..count]).unwrap();
        }
    });
    let (open, alive) = (OPEN.replace("PORT", &server.port.to_string()), "s.sendall(b'still'); print(s.recv(5))");
    let network = OnePort::new(server.port);
    let spec = || MachineSpec { network: Some(network.clone()), ..MachineSpec::default() };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("session");
    let sandbox = sandbox(0).await;
    let session = sandbox.session(spec()).await.unwrap();
    assert_eq!(say(&session, &open).await, "b'hello'\n");
    // It lives on from cell to cell.
    assert_eq!(say(&session, alive).await, "b'still'\n");
    let lost = "ConnectionResetError\nb'hello'\n";
    // A checkpoint takes the machine's place.
    let (outcome, _) = cell(&session, "import os\nos._exit(1)").await;
    assert!(matches!(outcome, Err(EngineError::RolledBack { .. })), "{outcome:?}");
    assert_eq!(say(&session, LOST).await, lost);
    // A fork has none of it, and the session keeps it.
    let copy = session.fork().await.unwrap();
    assert_eq!(say(&copy, LOST).await, lost);
    assert_eq!(say(&session, alive).await, "b'still'\n");
    // A file has none of it.
    session.write_to(&file).await.unwrap();
    let (resumed, _) = sandbox.resume_session(&file, spec()).await.unwrap();
    assert_eq!(say(&resumed, LOST).await, lost);
    // The gateway dies, and the session does not.
    let gateway = network.gateway.process_id().await.unwrap();
    rustix::process::kill_process(gateway, rustix::process::Signal::KILL).unwrap();
    assert_eq!(say(&session, LOST).await, lost);
    assert_eq!(say(&session, alive).await, "b'still'\n");
    // Without a network nothing is reached, and the error says why.
    let (lonely, _) = sandbox.resume_session(&file, MachineSpec::default()).await.unwrap();
    let refused = "try:\n    open_one()\nexcept OSError as error:\n    print(error)";
    let text = say(&lonely, refused).await;
    assert!(text.contains("host.brumate.internal cannot be reached: this sandbox has no network"), "{text}");
}
