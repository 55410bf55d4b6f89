//! Connections: their number is bounded, and so is how long each may keep the server waiting.

use super::tls::Tls;
use super::write_timeout::{WRITE_TIMEOUT, WriteTimeout};
use axum::Router;
use axum::extract::ConnectInfo;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

/// The most connections at the same time. Others wait in the system's queue.
pub(crate) const MAX_CONNECTIONS: usize = 16 * 1024;
/// How long a client may take for the head of a request, and may be silent between two requests.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the TLS handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest head of a request, and the buffer of one HTTP/1 connection. Larger heads are answered with 431.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// The most requests at the same time on one HTTP/2 connection.
const MAX_STREAMS: u32 = 256;
/// Bytes of a response that one HTTP/2 stream holds while the client does not read.
const MAX_SEND_BYTES: usize = 32 * 1024;
/// Bytes that an HTTP/2 client may send on one stream, and on all streams of a connection, before the server has read
/// them.
const RECEIVE_WINDOW: u32 = 256 * 1024;
/// The interval of pings to a silent HTTP/2 client, and how long it has to answer.
const PING: Duration = Duration::from_secs(30);
/// How long to wait when the system has no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves the connections of `listener` until `ending` fires. Connections then end with their current request.
/// Connections that have not ended when `closing` fires are cut off.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    router: Router,
    ending: CancellationToken,
    closing: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let connections = TaskTracker::new();
    loop {
        let accepted = async {
            let place = places.clone().acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            accepted = accepted => accepted,
            () = ending.cancelled() => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // The failure of one connection must not stop the others.
                tracing::debug!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (tls, router) = (tls.clone(), router.clone());
        let (ending, closing) = (ending.clone(), closing.clone());
        connections.spawn(async move {
            let _place = place;
            let served = carry(stream, address, tls, router, ending);
            tokio::select! {
                () = served => {}
                () = closing.cancelled() => {}
            }
        });
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

/// Serves one connection, from its first byte to its last.
async fn carry(stream: TcpStream, address: SocketAddr, tls: Option<Tls>, router: Router, ending: CancellationToken) {
    // Sends small messages at once. Without it the connection is only slower.
    let _ = stream.set_nodelay(true);
    let stream = WriteTimeout::new(stream, WRITE_TIMEOUT);
    let Some(tls) = tls else {
        return speak(stream, address, false, router, ending).await;
    };
    let shaken = tokio::select! {
        shaken = timeout(HANDSHAKE_TIMEOUT, tls.acceptor().accept(stream)) => shaken,
        () = ending.cancelled() => return,
    };
    match shaken {
        Ok(Ok(stream)) => {
            let second = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            speak(stream, address, second, router, ending).await;
        }
        Ok(Err(error)) => tracing::debug!(%error, %address, "a client did not agree on TLS"),
        Err(_) => tracing::debug!(%address, "a client did not agree on TLS in time"),
    }
}

/// Speaks HTTP/1, or HTTP/2 if `second`, on one connection.
pub(crate) async fn speak<S>(stream: S, address: SocketAddr, second: bool, router: Router, ending: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(address));
        router.clone().oneshot(request.map(axum::body::Body::new))
    });
    let stream = TokioIo::new(stream);
    // The same for both versions, whose builders and connections are different types.
    macro_rules! until_the_end {
        ($connection:expr) => {{
            let connection = $connection;
            tokio::pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = ending.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, %address, "a connection ended early");
            }
        }};
    }
    if second {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_send_buf_size(MAX_SEND_BYTES)
            .initial_stream_window_size(RECEIVE_WINDOW)
            .initial_connection_window_size(RECEIVE_WINDOW)
            .max_header_list_size(MAX_HEAD_BYTES as u32)
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING);
        until_the_end!(builder.serve_connection(stream, service));
    } else {
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD_BYTES);
        // A router of the program may speak another protocol after its answer, such as WebSocket.
        until_the_end!(builder.serve_connection(stream, service).with_upgrades());
    }
}
