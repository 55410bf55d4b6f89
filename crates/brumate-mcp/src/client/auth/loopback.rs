//! Pages that a person visits, and the port of this machine to which the browser comes back (RFC 8252).

use super::AuthError;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// Time that a person has to agree.
const PATIENCE: Duration = Duration::from_secs(300);

/// The largest head of a request, in bytes.
const MAX_HEAD: usize = 16 << 10;

/// Time that a browser has to send the head of its request, and to take the answer.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections that are read at a time; further ones wait.
const MAX_CONNECTIONS: usize = 16;

/// Time that a function of the program has to bring the answer.
const VISIT_TIMEOUT: Duration = Duration::from_secs(600);

const PATH: &str = "/callback";

const DONE: &str = "<!doctype html><meta charset=utf-8><title>Authorized</title><p>This window can be closed.</p>";

type Show = Arc<dyn Fn(&str) + Send + Sync>;
type Visit = Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, AuthError>> + Send + Sync>;

/// The way to have a page visited.
#[derive(Clone)]
pub(super) enum Pages {
    /// The page is shown to a person. The browser comes back to a port of this machine.
    Loopback(Show),
    /// A function of the program visits the page. It returns the address that the browser came back to.
    Visited(Url, Visit),
}

/// A page that can be visited, with the address for its answer.
pub(super) enum Page {
    Loopback { show: Show, listener: TcpListener, redirect: String },
    Visited { visit: Visit, redirect: String },
}

impl Pages {
    pub(super) fn loopback(show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::Loopback(Arc::new(show))
    }

    pub(super) fn visited<F, Fut>(redirect: Url, visit: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        Self::Visited(redirect, Arc::new(move |url| Box::pin(visit(url))))
    }

    /// Prepares the address for the answer. It is the one that the client was registered with, if its port is free.
    pub(super) async fn prepare(&self, before: Option<&str>) -> Result<Page, AuthError> {
        match self {
            Self::Visited(redirect, visit) => {
                Ok(Page::Visited { visit: visit.clone(), redirect: redirect.to_string() })
            }
            Self::Loopback(show) => {
                let port = before.and_then(|before| Url::parse(before).ok()?.port()).unwrap_or(0);
                let listener = match TcpListener::bind(("127.0.0.1", port)).await {
                    Ok(listener) => listener,
                    Err(_) => TcpListener::bind(("127.0.0.1", 0)).await.map_err(AuthError::of)?,
                };
                let redirect = format!("http://{}{PATH}", listener.local_addr().map_err(AuthError::of)?);
                Ok(Page::Loopback { show: show.clone(), listener, redirect })
            }
        }
    }
}

impl Page {
    /// Returns the address that the browser is sent back to.
    pub(super) fn redirect(&self) -> &str {
        let (Self::Loopback { redirect, .. } | Self::Visited { redirect, .. }) = self;
        redirect
    }

    /// Has a page visited; returns the address that the browser came back to.
    pub(super) async fn visit(self, url: &str) -> Result<String, AuthError> {
        match self {
            Self::Visited { visit, .. } => tokio::time::timeout(VISIT_TIMEOUT, visit(url.to_owned()))
                .await
                .unwrap_or_else(|_| Err(AuthError::new("nobody has agreed within ten minutes"))),
            Self::Loopback { show, listener, redirect } => {
                show(url);
                let answer = tokio::time::timeout(PATIENCE, accept(&listener));
                let target = answer.await.map_err(|_| AuthError::new("nobody has agreed within five minutes"))??;
                let base = Url::parse(&redirect).map_err(AuthError::of)?;
                Ok(base.join(&target).map_err(AuthError::of)?.to_string())
            }
        }
    }
}

/// Waits for the request that brings the answer; others are refused. Returns its target. Browsers open connections that they send
/// nothing on: several are read at a time.
async fn accept(listener: &TcpListener) -> Result<String, AuthError> {
    let mut open = FuturesUnordered::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if open.len() < MAX_CONNECTIONS => {
                let (stream, _) = accepted.map_err(AuthError::of)?;
                open.push(converse(stream));
            }
            Some(Some(target)) = open.next() => return Ok(target),
        }
    }
}

/// Reads a request, and answers it. Returns its target if it brings the answer of an authorization server.
async fn converse(mut stream: TcpStream) -> Option<String> {
    let head = tokio::time::timeout(HEAD_TIMEOUT, head(&mut stream)).await.ok().flatten()?;
    let target = head.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
    let wanted = target.filter(|target| target.split('?').next() == Some(PATH));
    let (status, body) = if wanted.is_some() { ("200 OK", DONE) } else { ("404 Not Found", "") };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nReferrer-Policy: no-referrer\r\n\
         Content-Security-Policy: default-src 'none'\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = tokio::time::timeout(HEAD_TIMEOUT, stream.write_all(answer.as_bytes())).await;
    wanted.map(str::to_owned)
}

/// Reads the head of a request.
async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut part = [0; 1024];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut part).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&part[..read]);
        if bytes.len() > MAX_HEAD {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_answer_comes_to_a_port_of_this_machine() {
        let shown = Arc::new(std::sync::Mutex::new(None));
        let keep = shown.clone();
        let pages = Pages::loopback(move |url| *keep.lock().unwrap() = Some(url.to_owned()));
        let page = pages.prepare(None).await.unwrap();
        let redirect = page.redirect().to_owned();
        let address = redirect.strip_prefix("http://").unwrap().strip_suffix(PATH).unwrap().to_owned();
        let get = |target: &str| {
            let (address, request) = (address.clone(), format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
            async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.write_all(request.as_bytes()).await.unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).await.unwrap();
                answer
            }
        };
        let visiting = tokio::spawn(async move { page.visit("https://issuer/authorize?x").await });
        // A connection that says nothing holds nobody up.
        let _silent = TcpStream::connect(&address).await.unwrap();
        assert!(get("/favicon.ico").await.starts_with("HTTP/1.1 404"));
        let answer = get("/callback?code=c&state=s").await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("no-referrer"), "{answer}");
        assert_eq!(visiting.await.unwrap().unwrap(), format!("{redirect}?code=c&state=s"));
        assert_eq!(shown.lock().unwrap().as_deref(), Some("https://issuer/authorize?x"));
        // The same port, where the client was registered with it.
        assert_eq!(pages.prepare(Some(&redirect)).await.unwrap().redirect(), redirect);
    }
}
