//! Load for servers of one tool, `echo`, over streamable HTTP; and such a server. `bench/run.py` runs both.
//!
//! - `load serve`: the server, with sessions and JSON responses; its URL on standard error.
//! - `load calls ADDRESS CONNECTIONS SECONDS`: calls at `http://ADDRESS/mcp`, one after the other on each connection,
//!   each connection with a session. Prints JSON: calls, seconds, and percentiles of a call in microseconds.
//! - `load idle ADDRESS SESSIONS`: opens sessions, each with a connection on which it listens; says `open`, and closes
//!   them when its standard input ends.

use std::error::Error;
use std::io::Write as _;
use std::time::{Duration, Instant};

use brumate_mcp::{App, HttpOptions, Server, tool};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const PROTOCOL: &str = "2025-06-18";
/// Connections that are opened at the same time.
const OPENING: usize = 64;

/// Gives back a message.
#[tool]
async fn echo(message: String) -> String {
    message
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // A server has all processors, its load one.
    let mut runtime = match words[..] {
        ["serve"] => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    runtime.enable_all().build()?.block_on(async {
        match words[..] {
            ["serve"] => serve().await,
            ["calls", address, connections, seconds] => {
                calls(address, connections.parse()?, Duration::from_secs_f64(seconds.parse()?)).await
            }
            ["idle", address, sessions] => idle(address, sessions.parse()?).await,
            _ => Err("serve | calls ADDRESS CONNECTIONS SECONDS | idle ADDRESS SESSIONS".into()),
        }
    })
}

async fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stderr(), "http://{}", listener.local_addr()?)?;
    let options = HttpOptions::new().json_responses().max_sessions(20_000);
    let app = App::new().mount("", Server::new("Echo").tool(echo), options);
    app.serve(listener, std::future::pending()).await?;
    Ok(())
}

/// A connection, and the session that it has begun.
struct Client {
    sender: SendRequest<Full<Bytes>>,
    address: String,
    session: String,
}

impl Client {
    async fn open(address: &str) -> Result<Client> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let mut client = Client { sender, address: address.to_owned(), session: String::new() };
        let initialize = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{PROTOCOL}","capabilities":{{}},"clientInfo":{{"name":"load","version":"1"}}}}}}"#
        );
        let answer = client.send("POST", initialize).await?;
        let session = answer.headers().get("mcp-session-id").ok_or("no session")?;
        client.session = session.to_str()?.to_owned();
        answer.into_body().collect().await?;
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned();
        client.send("POST", initialized).await?.into_body().collect().await?;
        Ok(client)
    }

    async fn send(&mut self, method: &str, body: String) -> Result<Response<Incoming>> {
        let mut request = Request::builder()
            .method(method)
            .uri("/mcp")
            .header("host", &self.address)
            .header("accept", if method == "GET" { "text/event-stream" } else { "application/json, text/event-stream" })
            .header("mcp-protocol-version", PROTOCOL);
        if method == "POST" {
            request = request.header("content-type", "application/json");
        }
        if !self.session.is_empty() {
            request = request.header("mcp-session-id", &self.session);
        }
        self.sender.ready().await?;
        let answer = self.sender.send_request(request.body(Full::new(Bytes::from(body)))?).await?;
        match answer.status() {
            StatusCode::OK | StatusCode::ACCEPTED => Ok(answer),
            status => Err(format!("{method}: {status}").into()),
        }
    }

    async fn call(&mut self, number: u64) -> Result<()> {
        let message = format!("message {number}");
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"echo","arguments":{{"message":"{message}"}}}}}}"#
        );
        let answer = self.send("POST", body).await?.into_body().collect().await?.to_bytes();
        let answer = String::from_utf8_lossy(&answer);
        if answer.contains(&format!(r#""{message}""#)) { Ok(()) } else { Err(answer.into_owned().into()) }
    }
}

async fn calls(address: &str, connections: usize, time: Duration) -> Result<()> {
    let mut clients = Vec::new();
    for _ in 0..connections {
        clients.push(Client::open(address).await?);
    }
    let begin = Instant::now();
    let mut running = JoinSet::new();
    for mut client in clients {
        running.spawn(async move {
            let mut times = Vec::new();
            while begin.elapsed() < time {
                let before = Instant::now();
                client.call(times.len() as u64 + 1).await?;
                times.push(before.elapsed());
            }
            Ok::<_, Box<dyn Error + Send + Sync>>(times)
        });
    }
    let mut times = Vec::new();
    while let Some(ended) = running.join_next().await {
        times.extend(ended??);
    }
    let seconds = begin.elapsed().as_secs_f64();
    times.sort_unstable();
    let percentile = |share: usize| times.get(times.len() * share / 100).map_or(0, Duration::as_micros);
    let (count, median, slow) = (times.len(), percentile(50), percentile(99));
    writeln!(std::io::stdout(), r#"{{"calls":{count},"seconds":{seconds:.3},"p50":{median},"p99":{slow}}}"#)?;
    Ok(())
}

async fn idle(address: &str, sessions: usize) -> Result<()> {
    let mut open = Vec::new();
    let mut opening = JoinSet::new();
    for number in 0..sessions {
        let address = address.to_owned();
        opening.spawn(async move {
            let mut client = Client::open(&address).await?;
            let listens = client.send("GET", String::new()).await?;
            Ok::<_, Box<dyn Error + Send + Sync>>((client, listens))
        });
        if opening.len() >= OPENING || number + 1 == sessions {
            while opening.len() >= OPENING || (number + 1 == sessions && !opening.is_empty()) {
                if let Some(opened) = opening.join_next().await {
                    open.push(opened??);
                }
            }
        }
    }
    writeln!(std::io::stdout(), "open")?;
    tokio::task::spawn_blocking(|| std::io::stdin().lines().for_each(drop)).await?;
    Ok(())
}
