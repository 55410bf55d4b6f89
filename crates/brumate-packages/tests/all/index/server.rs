//! Small HTTP/1.1 server whose responses a test controls to the byte.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// Received request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Path with query.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: HashMap<String, String>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// Response.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Value of `Content-Length` instead of the body's length.
    pub(crate) announced: Option<usize>,
    /// Wait before the body.
    pub(crate) silence: Duration,
}

impl Reply {
    pub(crate) fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("Content-Type".to_owned(), content_type.to_owned())];
        Self { status, headers, body: body.into(), announced: None, silence: Duration::ZERO }
    }

    pub(crate) fn json(body: &str) -> Self {
        Self::new(200, "application/vnd.pypi.simple.v1+json", body)
    }

    pub(crate) fn html(body: &str) -> Self {
        Self::new(200, "text/html; charset=utf-8", body)
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::new(status, "text/plain", "")
    }

    pub(crate) fn redirect(to: &str) -> Self {
        Self::status(302).header("Location", to)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the range that a `Range` header requests, or the whole file.
    pub(crate) fn file(request: &Request, bytes: &[u8]) -> Self {
        let Some(range) = request.header("range").strip_prefix("bytes=") else {
            return Self::new(200, "application/octet-stream", bytes);
        };
        let (first, last) = range.split_once('-').expect("one range");
        let end = bytes.len() - 1;
        let (first, last) = if first.is_empty() {
            (bytes.len().saturating_sub(last.parse().expect("a number")), end)
        } else {
            (first.parse().expect("a number"), last.parse::<usize>().map_or(end, |last| last.min(end)))
        };
        Self::new(206, "application/octet-stream", &bytes[first..=last])
            .header("Content-Range", &format!("bytes {first}-{last}/{}", bytes.len()))
    }
}

/// Server on its own port; ends with the test's runtime.
pub(crate) struct Server {
    pub(crate) url: Url,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub(crate) async fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = Url::parse(&format!("http://{}/", listener.local_addr().expect("bound"))).expect("a URL");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let answer = Arc::new(answer);
        let log = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, log) = (answer.clone(), log.clone());
                tokio::spawn(async move {
                    // A client may close the connection at any time.
                    let _ = serve(stream, answer.as_ref(), &log).await;
                });
            }
        });
        Self { url, requests }
    }

    /// Returns the requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("not poisoned").clone()
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.requests().into_iter().map(|request| request.path).collect()
    }
}

async fn serve(
    stream: TcpStream,
    answer: &(impl Fn(&Request) -> Reply + Send + Sync),
    log: &Mutex<Vec<Request>>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let request = Request { path, headers };
        let reply = answer(&request);
        log.lock().expect("not poisoned").push(request);
        let length = reply.announced.unwrap_or(reply.body.len());
        let mut head = format!("HTTP/1.1 {} X\r\n", reply.status);
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if reply.status != 304 {
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).await?;
        tokio::time::sleep(reply.silence).await;
        stream.write_all(&reply.body).await?;
        stream.flush().await?;
        if length != reply.body.len() {
            return Ok(());
        }
    }
}
