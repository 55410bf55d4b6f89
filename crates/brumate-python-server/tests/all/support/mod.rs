//! Services for tests, and their clients.

pub(crate) mod fake_guest;
pub(crate) mod python;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use brumate_mcp::HttpOptions;
use brumate_python_server::http::{HttpLimits, HttpServeError, HttpService};
use brumate_python_server::{Launcher, StartedMachine};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) use python::PythonLauncher;

/// A test that waits longer hangs.
pub(crate) const HANG: Duration = Duration::from_secs(60);

/// A service, until it is stopped.
pub(crate) struct Served<L> {
    pub(crate) launcher: Arc<L>,
    pub(crate) address: SocketAddr,
    shutdown: CancellationToken,
    task: JoinHandle<Result<(), HttpServeError>>,
}

/// A response that has been read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// Limits for tests: nothing waits long for what does not come.
pub(crate) fn limits() -> HttpLimits {
    HttpLimits { start_timeout: HANG, shutdown_grace: Duration::from_secs(5), ..HttpLimits::default() }
}

/// Serves an ASGI application that is the global `app` of a source text.
pub(crate) async fn serve_app(source: &str) -> Served<PythonLauncher> {
    serve_app_by(source, HttpService::new(HttpOptions::new()).limits(limits())).await
}

pub(crate) async fn serve_app_by(source: &str, service: HttpService) -> Served<PythonLauncher> {
    let source = format!("{source}\nimport uvicorn\nuvicorn.run(app)\n");
    Served::start(PythonLauncher::new(&source), service).await
}

impl<L: Launcher> Served<L> {
    pub(crate) async fn start(launcher: L, service: HttpService) -> Self {
        let launcher = Arc::new(launcher);
        let first = StartedMachine::start_within(&*launcher, HANG).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let launching: Arc<dyn Launcher> = Arc::<L>::clone(&launcher);
        let task = tokio::spawn(service.serve(launching, first, listener, shutdown.clone()));
        Self { launcher, address, shutdown, task }
    }

    /// Returns how the service ended.
    pub(crate) async fn ended(self) -> Result<(), HttpServeError> {
        tokio::time::timeout(HANG, self.task).await.expect("the service ends").unwrap()
    }

    /// Tells the service to stop.
    pub(crate) fn begin_stop(&self) {
        self.shutdown.cancel();
    }

    /// Stops the service.
    pub(crate) async fn stop(self) -> Result<(), HttpServeError> {
        self.shutdown.cancel();
        self.ended().await
    }

    /// Sends a request on a connection of its own, and returns the response with its body unread.
    pub(crate) async fn send(&self, request: Request<Body>) -> Response<Incoming> {
        self.try_send(request).await.unwrap()
    }

    pub(crate) async fn try_send(&self, mut request: Request<Body>) -> hyper::Result<Response<Incoming>> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let host = self.address.to_string().parse().unwrap();
        request.headers_mut().entry("host").or_insert(host);
        tokio::time::timeout(HANG, sender.send_request(request)).await.expect("the service answers")
    }

    /// Sends a request and reads the response.
    pub(crate) async fn ask(&self, request: Request<Body>) -> Answer {
        read(self.send(request).await).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Request::get(path).body(Body::empty()).unwrap()).await
    }
}

pub(crate) async fn read(response: Response<Incoming>) -> Answer {
    let (head, body) = response.into_parts();
    let body = tokio::time::timeout(HANG, body.collect()).await.expect("the response ends").unwrap().to_bytes();
    Answer { status: head.status, headers: head.headers, body: String::from_utf8_lossy(&body).into_owned() }
}

/// Waits until `condition` holds.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    let holds = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(HANG, holds).await.expect("the condition holds in the end");
}
