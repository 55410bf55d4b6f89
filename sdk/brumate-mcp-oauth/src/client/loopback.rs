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

/// How long a person has to agree.
const AGREE_TIMEOUT: Duration = Duration::from_secs(300);

/// The largest head of a request, in bytes.
const MAX_HEAD: usize = 16 << 10;

/// How long a browser may take to send the head of its request, and to read the answer.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The most connections that are read at a time. Further ones wait.
const MAX_CONNECTIONS: usize = 16;

/// How long a function of the program may take to bring the answer.
const VISIT_TIMEOUT: Duration = Duration::from_secs(600);

const PATH: &str = "/callback";

const DONE: &str = "<!doctype html><meta charset=utf-8><title>Authorized</title><p>This window can be closed.</p>";

type ShowPage = Arc<dyn Fn(&str) + Send + Sync>;
type VisitPage = Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, AuthError>> + Send + Sync>;

/// How pages are visited.
#[derive(Clone)]
pub(super) enum PageVisitor {
    /// A person opens the page. The browser comes back to a port of this machine.
    Loopback(ShowPage),
    /// A function of the program visits the page. It returns the URL that the browser was redirected to.
    Program(Url, VisitPage),
}

/// A page that can be visited, with the URL for its answer.
pub(super) enum PreparedPage {
    Loopback { show: ShowPage, listener: TcpListener, redirect: String },
    Program { visit: VisitPage, redirect: String },
}

impl PageVisitor {
    pub(super) fn loopback(show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::Loopback(Arc::new(show))
    }

    pub(super) fn visited<F, Fut>(redirect: Url, visit: F) -> Self
    where
        F: FnOnce(String) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<String, AuthError>> + Send + 'static,
    {
        Self::Program(redirect, Arc::new(move |url| Box::pin(visit.clone()(url))))
    }

    /// Prepares the address for the answer. It is the one that the client was registered with, if its port is free.
    pub(super) async fn prepare(&self, before: Option<&str>) -> Result<PreparedPage, AuthError> {
        match self {
            Self::Program(redirect, visit) => {
                Ok(PreparedPage::Program { visit: visit.clone(), redirect: redirect.to_string() })
            }
            Self::Loopback(show) => {
                let port = before.and_then(|before| Url::parse(before).ok()?.port()).unwrap_or(0);
                let listener = match TcpListener::bind(("127.0.0.1", port)).await {
                    Ok(listener) => listener,
                    Err(_) => TcpListener::bind(("127.0.0.1", 0)).await.map_err(AuthError::of)?,
                };
                let redirect = format!("http://{}{PATH}", listener.local_addr().map_err(AuthError::of)?);
                Ok(PreparedPage::Loopback { show: show.clone(), listener, redirect })
            }
        }
    }
}

impl PreparedPage {
    /// Returns the address that the browser is sent back to.
    pub(super) fn redirect(&self) -> &str {
        let (Self::Loopback { redirect, .. } | Self::Program { redirect, .. }) = self;
        redirect
    }

    /// Has the page visited. Returns the URL that the browser was redirected to.
    pub(super) async fn visit(self, url: &str) -> Result<String, AuthError> {
        match self {
            Self::Program { visit, .. } => tokio::time::timeout(VISIT_TIMEOUT, visit(url.to_owned()))
                .await
                .unwrap_or_else(|_| Err(AuthError::new("nobody has agreed within ten minutes"))),
            Self::Loopback { show, listener, redirect } => {
                show(url);
                let answer = tokio::time::timeout(AGREE_TIMEOUT, accept(&listener));
                let target = answer.await.map_err(|_| AuthError::new("nobody has agreed within five minutes"))??;
                let base = Url::parse(&redirect).map_err(AuthError::of)?;
                Ok(base.join(&target).map_err(AuthError::of)?.to_string())
            }
        }
    }
}

/// Waits for the request that brings the answer; others are refused. Returns its target. Browsers open connections that
/// they send nothing on: several are read at a time.
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
        let pages = PageVisitor::loopback(move |url| *keep.lock().unwrap() = Some(url.to_owned()));
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
