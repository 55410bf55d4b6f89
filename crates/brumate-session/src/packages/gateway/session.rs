//! Requests of one session.

use std::collections::{HashSet, VecDeque};
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use brumate_packages::index::IndexError;
use brumate_packages::{DistributionName, Offer};
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::AbortOnDropHandle;

use super::super::PackageError;
use super::body::{Body, Download, PIECE_BYTES, Passing, whole};
use super::path::Resource;
use super::{
    Inner, MAX_FILE_BYTES, MAX_PAGE_BYTES, MAX_SESSION_BYTES, MAX_SESSION_DOWNLOADS, MAX_SESSION_REQUESTS, page,
};

/// Reasons that are kept until somebody reads them. The oldest ones go.
const MAX_REASONS: usize = 8;
/// Longest reason, in bytes.
const MAX_REASON_BYTES: usize = 1000;

/// One session at the gateway.
#[derive(Debug)]
pub(super) struct GatewaySession {
    gateway: Arc<Inner>,
    pub(super) requests: AtomicUsize,
    bytes: AtomicU64,
    downloads: Arc<Semaphore>,
    /// Distributions whose files were fetched.
    names: Mutex<HashSet<DistributionName>>,
    reasons: Mutex<VecDeque<String>>,
}

/// Right to one of the session's downloads, and to one of all sessions'.
type Slots = [OwnedSemaphorePermit; 2];

/// Answer that is no success.
pub(super) struct Refused {
    status: StatusCode,
    reason: String,
}

impl Refused {
    fn new(status: StatusCode, reason: impl Display) -> Self {
        Self { status, reason: reason.to_string() }
    }
}

impl From<PackageError> for Refused {
    fn from(error: PackageError) -> Self {
        match error {
            PackageError::Index(error) => error.into(),
            error => Self::new(StatusCode::FORBIDDEN, error),
        }
    }
}

impl From<IndexError> for Refused {
    fn from(error: IndexError) -> Self {
        let status = match &error {
            IndexError::NotFound { .. } => StatusCode::NOT_FOUND,
            // Installers repeat some other failures for a while; the gateway has done so.
            _ => StatusCode::GATEWAY_TIMEOUT,
        };
        Self::new(status, error)
    }
}

impl GatewaySession {
    pub(super) fn new(gateway: Arc<Inner>) -> Self {
        Self {
            gateway,
            requests: AtomicUsize::new(0),
            bytes: AtomicU64::new(0),
            downloads: Arc::new(Semaphore::new(MAX_SESSION_DOWNLOADS)),
            names: Mutex::default(),
            reasons: Mutex::default(),
        }
    }

    /// Answers a request. A request with a body is not read further, and its connection ends.
    pub(super) async fn answer<B>(self: &Arc<Self>, request: &Request<B>) -> Response<Body> {
        let answered = self.found(request).await;
        answered.unwrap_or_else(|refused| {
            if refused.status != StatusCode::NOT_FOUND {
                self.note(&refused.reason);
            }
            let mut response =
                response(refused.status, "text/plain; charset=utf-8", whole(format!("{}\n", refused.reason)));
            if refused.status == StatusCode::METHOD_NOT_ALLOWED {
                response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET"));
            }
            response
        })
    }

    async fn found<B>(self: &Arc<Self>, request: &Request<B>) -> Result<Response<Body>, Refused> {
        if request.method() != Method::GET {
            return Err(Refused::new(StatusCode::METHOD_NOT_ALLOWED, "this is a package index: it answers GET only"));
        }
        let uri = request.uri();
        // A form of requests that is meant for proxies.
        if uri.authority().is_some() || uri.scheme().is_some() {
            return Err(Refused::new(StatusCode::BAD_REQUEST, "this is a package index, and no proxy"));
        }
        let resource = Resource::of(uri.path()).ok_or_else(absent)?;
        if resource != Resource::Reasons && self.requests.fetch_add(1, Ordering::Relaxed) >= MAX_SESSION_REQUESTS {
            let reason = format!("this session has asked for packages {MAX_SESSION_REQUESTS} times, which is the most");
            return Err(Refused::new(StatusCode::FORBIDDEN, reason));
        }
        match resource {
            Resource::Reasons => {
                let reasons = std::mem::take(&mut *self.reasons.lock());
                let text: String = reasons.iter().map(|reason| format!("{reason}\n")).collect();
                Ok(response(StatusCode::OK, "text/plain; charset=utf-8", whole(text)))
            }
            Resource::Page(name) => self.page(&name, accepts_json(request)).await,
            Resource::File { name, filename } => self.file(&name, &filename).await,
            Resource::Metadata { name, filename } => {
                let offer = self.offer(&name, &filename).await?;
                let slots = self.slots().await?;
                let resolver = self.gateway.resolver().await?;
                let bytes = resolver.metadata_file(&offer).await?.ok_or_else(absent)?;
                self.count_bytes(bytes.len())?;
                self.text(slots, "application/octet-stream", bytes.to_vec().into()).await
            }
        }
    }

    async fn page(self: &Arc<Self>, name: &DistributionName, json: bool) -> Result<Response<Body>, Refused> {
        let listing = self.gateway.listings.of(&self.gateway, name, true).await?;
        if let Some(text) = &listing.left_out {
            self.note(text);
        }
        if listing.offers.is_empty() {
            return Err(absent());
        }
        let slots = self.slots().await?;
        let (content_type, text) = match json {
            true => (page::JSON, page::json(name, &listing.offers)),
            false => (page::HTML, page::html(name, &listing.offers)),
        };
        if text.len() > MAX_PAGE_BYTES {
            let reason = format!("`{name}` has more files than a page of {MAX_PAGE_BYTES} bytes can name");
            return Err(Refused::new(StatusCode::FORBIDDEN, reason));
        }
        self.text(slots, content_type, text.into()).await
    }

    /// Answers with a text. The slots are taken until the code has read a long one: it is in memory as long.
    async fn text(
        self: &Arc<Self>,
        slots: Slots,
        content_type: &'static str,
        text: Bytes,
    ) -> Result<Response<Body>, Refused> {
        let size = text.len();
        let body = if size <= PIECE_BYTES {
            whole(text)
        } else {
            self.passed(slots, move |mut sink| async move { sink.pass_all(text).await }).await?
        };
        Ok(sized(response(StatusCode::OK, content_type, body), size as u64))
    }

    /// Returns what `pass` gives to a sink as a body, while it gives it. The slots are taken as long.
    async fn passed<F>(self: &Arc<Self>, slots: Slots, pass: impl FnOnce(Passing) -> F) -> Result<Body, IndexError>
    where
        F: Future<Output = Result<(), IndexError>> + Send + 'static,
    {
        let (sink, pieces) = Passing::new(Arc::clone(self));
        let passing = pass(sink);
        let task = tokio::spawn(async move {
            let _slots = slots;
            passing.await
        });
        Download::new(Arc::clone(self), pieces, AbortOnDropHandle::new(task)).body().await
    }

    async fn offer(&self, name: &DistributionName, filename: &str) -> Result<Offer, Refused> {
        let listing = self.gateway.listings.of(&self.gateway, name, false).await?;
        let offer = listing.offers.iter().find(|offer| offer.file.filename == filename);
        offer.cloned().ok_or_else(absent)
    }

    async fn file(self: &Arc<Self>, name: &DistributionName, filename: &str) -> Result<Response<Body>, Refused> {
        let offer = self.offer(name, filename).await?;
        let count = {
            let mut names = self.names.lock();
            let is_new = !names.contains(name);
            let count = names.len() + usize::from(is_new);
            self.check_totals(count)?;
            names.insert(name.clone());
            count
        };
        tracing::debug!(package = %name, filename, count, "a native kernel fetches a package");
        let policy = &self.gateway.packages.inner.settings.policy;
        let limit = policy.max_wheel_bytes().unwrap_or(MAX_FILE_BYTES).min(MAX_FILE_BYTES);
        let slots = self.slots().await?;
        let resolver = self.gateway.resolver().await?.clone();
        let size = offer.file.size;
        let body = self
            .passed(slots, move |mut sink| async move { resolver.download(&offer, limit, &mut sink).await })
            .await?;
        let response = response(StatusCode::OK, "application/octet-stream", body);
        Ok(match size {
            Some(size) => sized(response, size),
            None => response,
        })
    }

    /// Waits until this session may fetch one more file, and then until the gateway may.
    pub(super) async fn slots(&self) -> Result<Slots, Refused> {
        let own = Arc::clone(&self.downloads).acquire_owned().await.map_err(internal)?;
        Ok([own, Arc::clone(&self.gateway.downloads).acquire_owned().await.map_err(internal)?])
    }

    /// Counts bytes of files.
    ///
    /// # Errors
    ///
    /// The session has had as many as it may.
    pub(super) fn count_bytes(&self, bytes: usize) -> Result<(), PackageError> {
        let bytes = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed).saturating_add(bytes as u64);
        if bytes > MAX_SESSION_BYTES {
            let text = format!("this session has fetched {MAX_SESSION_BYTES} bytes of packages, which is the most");
            return Err(PackageError::Requirement(text));
        }
        self.check_totals(0)
    }

    fn check_totals(&self, count: usize) -> Result<(), PackageError> {
        let policy = &self.gateway.packages.inner.settings.policy;
        Ok(policy.check_totals(count, self.bytes.load(Ordering::Relaxed))?)
    }

    /// Keeps a reason for the code.
    pub(super) fn note(&self, reason: &str) {
        let mut reasons = self.reasons.lock();
        let mut reason = reason.to_owned();
        reason.truncate(reason.floor_char_boundary(MAX_REASON_BYTES));
        if reasons.contains(&reason) {
            return;
        }
        if reasons.len() >= MAX_REASONS {
            reasons.pop_front();
        }
        reasons.push_back(reason);
    }
}

fn absent() -> Refused {
    Refused::new(StatusCode::NOT_FOUND, "there is no such package or file")
}

fn internal(error: impl Display) -> Refused {
    PackageError::internal(error).into()
}

/// Returns whether an installer reads pages in JSON.
fn accepts_json<B>(request: &Request<B>) -> bool {
    let accepted = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|text| text.contains(page::JSON))
}

fn sized(mut response: Response<Body>, size: u64) -> Response<Body> {
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(size));
    response
}

fn response(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    // Rules, and what the sources have, can change.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
