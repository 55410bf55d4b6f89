//! A package index for the code of native kernels: pip and uv in a jail reach the operator's sources through it, and nothing else.
//!
//! The server accepts on a listener that was made inside of a jail's network namespace, so each connection is of one session. It speaks
//! HTTP/1.1 and has three kinds of resources; it is no proxy:
//!
//! | path | content |
//! |---|---|
//! | `/simple/NAME/` | the files of a distribution that the rules allow, as JSON (PEP 691) or HTML (PEP 503) |
//! | `/files/NAME/FILE`, `/files/NAME/FILE.metadata` | such a file, and its metadata (PEP 658) |
//! | `/reasons` | why earlier requests of this session were refused, each once, as text |
//!
//! Pages and files come with the indexes, credentials, certificates, proxies and rules of the package service. Links lead back to the
//! gateway. The code is hostile: the constants of this module bound everything that it can make the server hold or fetch.

mod body;
mod listing;
mod page;
mod path;
mod session;

use std::sync::Arc;
use std::time::Duration;

use brumate_packages::resolver::Resolver;
use futures::future::BoxFuture;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::JoinSet;

use super::{PackageError, Packages};
use listing::Listings;
use session::GatewaySession;

/// Connections of a session. Further ones wait until one ends.
const MAX_CONNECTIONS: usize = 16;
/// Connections of a session that stay open after an answer. Further ones end with their answer: an installer that opens many and keeps
/// them would wait for itself.
const MAX_KEPT_CONNECTIONS: usize = 4;
/// Longest head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// Fields of a head.
const MAX_HEAD_FIELDS: usize = 64;
/// Time in which the head of a request arrives. A connection that sends nothing ends after it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest life of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Time that a file, metadata or a long page waits for code that does not read, in all. It grows by a second with each [`TAKE_RATE`] bytes.
const TAKE_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes that code reads in a second, at least.
const TAKE_RATE: u64 = 1 << 20;
/// Longest page of a distribution, in bytes.
const MAX_PAGE_BYTES: usize = 16 << 20;
/// Longest file, in bytes; the rules may allow less.
const MAX_FILE_BYTES: u64 = 2 << 30;
/// Bytes of all files of a session; the rules may allow less.
const MAX_SESSION_BYTES: u64 = 8 << 30;
/// Requests of a session for pages, files and metadata.
const MAX_SESSION_REQUESTS: usize = 20_000;
/// Files, metadata and long pages that are fetched or sent for all sessions at the same time; others wait.
const MAX_DOWNLOADS: usize = 32;
/// Files, metadata and long pages that are fetched or sent for one session at the same time; others wait.
const MAX_SESSION_DOWNLOADS: usize = 8;
/// Pages that are fetched for all sessions at the same time; others wait.
const MAX_LISTINGS: usize = 8;

/// Serves packages to the code of native kernels. Clones share their state.
#[derive(Debug, Clone)]
pub struct PackageGateway {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    packages: Packages,
    resolver: OnceCell<Resolver>,
    listings: Listings,
    downloads: Arc<Semaphore>,
}

impl Inner {
    /// Returns the client of the sources. It has connections of its own, and rules for the places that the sources lead to: code gets the
    /// bytes that are there.
    async fn resolver(&self) -> Result<&Resolver, PackageError> {
        let make = || self.packages.make_resolver(|settings| settings.confines_links = true);
        self.resolver.get_or_try_init(make).await
    }
}

impl PackageGateway {
    /// Makes a gateway to the sources of `packages`. The first request reads their settings.
    pub fn new(packages: Packages) -> Self {
        let inner = Inner {
            packages,
            resolver: OnceCell::new(),
            listings: Listings::default(),
            downloads: Arc::new(Semaphore::new(MAX_DOWNLOADS)),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Serves a session on its listener. Everything ends when the future is dropped.
    pub fn serve(&self, listener: TcpListener) -> BoxFuture<'static, ()> {
        let session = Arc::new(GatewaySession::new(Arc::clone(&self.inner)));
        Box::pin(serve(session, listener))
    }
}

async fn serve(session: Arc<GatewaySession>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= MAX_CONNECTIONS {
            connections.join_next().await;
        }
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "the gateway for packages cannot accept");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let session = Arc::clone(&session);
        let service = service_fn(move |request| {
            let session = Arc::clone(&session);
            async move { Ok::<_, std::convert::Infallible>(session.answer(&request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .keep_alive(connections.len() < MAX_KEPT_CONNECTIONS)
            .max_buf_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEAD_FIELDS)
            .serve_connection(TokioIo::new(stream), service);
        // Broken connections are the code's own affair.
        connections.spawn(async move {
            let _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

#[cfg(test)]
mod tests;
