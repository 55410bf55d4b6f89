//! HTTP client of indexes: requests with limits, retries and a cache.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Response, StatusCode};
use tokio::sync::Semaphore;
use url::Url;

use crate::index::attempt::{AttemptFailure, causes};
use crate::index::blocking::blocking;
use crate::index::body::ResponseBody;
use crate::index::cache::{CachedResponse, HttpCache};
use crate::index::error::{IndexError, url_for_error};
use crate::index::links::{CheckedResolver, ForbiddenHost, LinkRules};
use crate::index::names::SharedResolver;
use crate::index::tls;
use crate::settings::{Credentials, Settings};

/// Redirects that are followed for one request.
const MAX_REDIRECTS: usize = 10;
/// Longest wait between two attempts, also when the server asks for a longer one.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// HTTP client of an index client.
#[derive(Debug)]
pub(crate) struct Http {
    client: reqwest::Client,
    credentials: Credentials,
    links: Option<Arc<LinkRules>>,
    cache: Option<HttpCache>,
    offline: bool,
    retries: u32,
    first_wait: Duration,
    timeout: Duration,
    pub(super) slots: Semaphore,
}

impl Http {
    pub(crate) fn new(settings: &Settings) -> Result<Self, IndexError> {
        let links = settings.confines_links.then(|| Arc::new(LinkRules::new(settings)));
        let redirect_rules = links.clone();
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::configuration(&settings.tls)?)
            .user_agent(concat!("brumate/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(settings.connect_timeout.min(settings.timeout))
            .read_timeout(settings.timeout)
            .redirect(reqwest::redirect::Policy::custom(move |attempt| {
                if attempt.previous().len() > MAX_REDIRECTS {
                    attempt.error(format!("more than {MAX_REDIRECTS} redirects"))
                } else if attempt.previous().last().is_some_and(|from| from.scheme() == "https")
                    && attempt.url().scheme() != "https"
                {
                    attempt.error("it redirects from https to a place without encryption")
                } else if let Some(Err(forbidden)) = redirect_rules.as_ref().map(|rules| rules.check(attempt.url())) {
                    attempt.error(forbidden)
                } else {
                    attempt.follow()
                }
            }));
        builder = match &links {
            Some(rules) => builder.dns_resolver(Arc::new(CheckedResolver::new(Arc::clone(rules)))),
            None => builder.dns_resolver(Arc::new(SharedResolver::default())),
        };
        if let Some(proxy) = &settings.proxy {
            let proxy = reqwest::Proxy::all(proxy)
                .map_err(|error| IndexError::Settings(format!("the proxy: {error}")))?
                .no_proxy(reqwest::NoProxy::from_env());
            builder = builder.proxy(proxy);
        }
        let client = builder.build().map_err(|error| IndexError::Settings(causes(&error)))?;
        Ok(Self {
            client,
            credentials: settings.credentials.clone(),
            links,
            cache: settings.cache_directory.as_deref().map(HttpCache::new),
            offline: settings.offline,
            retries: settings.retries,
            first_wait: settings.retry_wait,
            timeout: settings.timeout,
            slots: Semaphore::new(settings.concurrency.max(1)),
        })
    }

    /// Returns the body at `url`, from the cache if that is fresh or the client is offline.
    pub(crate) async fn get(&self, url: &Url, accept: &'static str, limit: u64) -> Result<ResponseBody, IndexError> {
        let cached = match &self.cache {
            Some(cache) => {
                let (cache, url) = (cache.clone(), url.clone());
                blocking(move || cache.get(&url, accept, limit)).await
            }
            None => None,
        };
        if let Some(entry) = cached.as_ref().filter(|entry| self.offline || entry.head.is_fresh()) {
            return Ok(entry.body.clone());
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        for (name, value) in cached.iter().flat_map(|entry| entry.head.validators()) {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        }
        let (headers, body) = self.retried(url, &headers, limit).await?;
        let Some(cache) = &self.cache else {
            return body.ok_or_else(|| unexpected(url, StatusCode::NOT_MODIFIED));
        };
        let (cache, url) = (cache.clone(), url.clone());
        blocking(move || Self::keep(&cache, &url, accept, &headers, body, cached)).await
    }

    /// Returns the body at `url` without the cache, for large files that are needed once.
    pub(crate) async fn get_uncached(
        &self,
        url: &Url,
        accept: &'static str,
        limit: u64,
    ) -> Result<ResponseBody, IndexError> {
        let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
        let (_, body) = self.retried(url, &headers, limit).await?;
        body.ok_or_else(|| unexpected(url, StatusCode::NOT_MODIFIED))
    }

    /// Returns what [`remember`](Self::remember) has stored.
    pub(crate) async fn recall(&self, key: &Url, kind: &'static str, limit: u64) -> Option<ResponseBody> {
        let (cache, key) = (self.cache.clone()?, key.clone());
        blocking(move || cache.get(&key, kind, limit)).await.map(|entry| entry.body)
    }

    /// Stores data that was extracted from a response.
    pub(crate) async fn remember(&self, key: &Url, kind: &'static str, body: ResponseBody) {
        if let Some(cache) = self.cache.clone() {
            let key = key.clone();
            blocking(move || cache.put(&key, kind, &HeaderMap::new(), &body)).await;
        }
    }

    fn keep(
        cache: &HttpCache,
        url: &Url,
        accept: &str,
        headers: &HeaderMap,
        body: Option<ResponseBody>,
        cached: Option<CachedResponse>,
    ) -> Result<ResponseBody, IndexError> {
        match (body, cached) {
            (Some(body), _) => {
                cache.put(url, accept, headers, &body);
                Ok(body)
            }
            (None, Some(entry)) => Ok(cache.refresh(url, accept, headers, entry)),
            (None, None) => Err(unexpected(url, StatusCode::NOT_MODIFIED)),
        }
    }

    /// Sends a request, with retries. No body means 304.
    async fn retried(
        &self,
        url: &Url,
        headers: &HeaderMap,
        limit: u64,
    ) -> Result<(HeaderMap, Option<ResponseBody>), IndexError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.attempt(url, headers, limit, attempts).await {
                Err(failure) => self.wait_for_retry(url, failure, attempts).await?,
                Ok(done) => return Ok(done),
            }
        }
    }

    /// Waits before a retry, after `attempts` attempts.
    ///
    /// # Errors
    ///
    /// The failure's, if it is permanent or no retries are left.
    pub(super) async fn wait_for_retry(
        &self,
        url: &Url,
        failure: AttemptFailure,
        attempts: u32,
    ) -> Result<(), IndexError> {
        if !failure.transient || attempts > self.retries {
            return Err(failure.error);
        }
        tracing::debug!(url = %url_for_error(url), attempts, error = %failure.error, "trying again");
        tokio::time::sleep(self.wait(attempts, failure.retry_after)).await;
        Ok(())
    }

    async fn attempt(
        &self,
        url: &Url,
        headers: &HeaderMap,
        limit: u64,
        attempts: u32,
    ) -> Result<(HeaderMap, Option<ResponseBody>), AttemptFailure> {
        let _slot = self.slots.acquire().await;
        let response = self.send(url, headers.clone(), attempts).await?;
        if response.status() == StatusCode::NOT_MODIFIED && headers.contains_key(header::IF_NONE_MATCH)
            || response.status() == StatusCode::NOT_MODIFIED && headers.contains_key(header::IF_MODIFIED_SINCE)
        {
            return Ok((response.headers().clone(), None));
        }
        if response.status() != StatusCode::OK {
            return Err(self.failure(url, &response, attempts));
        }
        let headers = response.headers().clone();
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let content_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let mut final_url = response.url().clone();
        let _ = final_url.set_username("");
        let _ = final_url.set_password(None);
        let bytes = self.read(url, response, limit, attempts).await?;
        Ok((headers, Some(ResponseBody { final_url, content_type, bytes })))
    }

    pub(super) async fn send(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        attempts: u32,
    ) -> Result<Response, AttemptFailure> {
        if self.offline {
            return Err(AttemptFailure::permanent(IndexError::Offline { url: url_for_error(url) }));
        }
        if let Some(Err(forbidden)) = self.links.as_ref().map(|rules| rules.check(url)) {
            let (url, reason) = (url_for_error(url), forbidden.to_string());
            return Err(AttemptFailure::permanent(IndexError::Redirect { url, reason }));
        }
        if let Some(authorization) = self.credentials.authorization(url) {
            headers.insert(header::AUTHORIZATION, authorization);
        }
        let mut bare = url.clone();
        // reqwest would send the URL's credentials; `authorization` has considered them.
        let _ = bare.set_username("");
        let _ = bare.set_password(None);
        bare.set_fragment(None);
        self.client.get(bare).headers(headers).send().await.map_err(|error| self.transport(url, &error, attempts))
    }

    /// Reads a body of at most `limit` bytes.
    pub(super) async fn read(
        &self,
        url: &Url,
        mut response: Response,
        limit: u64,
        attempts: u32,
    ) -> Result<Arc<[u8]>, AttemptFailure> {
        let too_large = || AttemptFailure::permanent(IndexError::TooLarge { url: url_for_error(url), limit });
        let announced = response.content_length().unwrap_or(0);
        if announced > limit {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(announced).unwrap_or(0));
        while let Some(chunk) = response.chunk().await.map_err(|error| self.transport(url, &error, attempts))? {
            if bytes.len() as u64 + chunk.len() as u64 > limit {
                return Err(too_large());
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes.into())
    }

    pub(super) fn failure(&self, url: &Url, response: &Response, attempts: u32) -> AttemptFailure {
        let status = response.status();
        let url = url_for_error(url);
        let error = match status.as_u16() {
            status @ (404 | 410) => IndexError::NotFound { url, status },
            status @ (401 | 403) => IndexError::Forbidden { url, status },
            status => IndexError::Status { url, status, attempts },
        };
        let seconds = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        AttemptFailure {
            error,
            transient: matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504),
            retry_after: seconds.map(Duration::from_secs),
        }
    }

    pub(super) fn transport(&self, url: &Url, error: &reqwest::Error, attempts: u32) -> AttemptFailure {
        let shown = url_for_error(url);
        if error.is_redirect() {
            return AttemptFailure::permanent(IndexError::Redirect { url: shown, reason: causes(error) });
        }
        let mut sources = std::iter::successors(std::error::Error::source(error), |error| error.source());
        if let Some(forbidden) = sources.find_map(|error| error.downcast_ref::<ForbiddenHost>()) {
            return AttemptFailure::permanent(IndexError::Redirect { url: shown, reason: forbidden.to_string() });
        }
        let error = if error.is_timeout() {
            IndexError::Timeout { url: shown, seconds: self.timeout.as_secs(), attempts }
        } else {
            IndexError::Transport { url: shown, reason: causes(error), attempts }
        };
        AttemptFailure { error, transient: true, retry_after: None }
    }

    /// Returns the wait before the next attempt: doubled each time, or the time that the server asks for, up to a
    /// bound.
    fn wait(&self, attempts: u32, asked: Option<Duration>) -> Duration {
        let own = self.first_wait.saturating_mul(1 << attempts.saturating_sub(1).min(16));
        own.max(asked.unwrap_or_default()).min(MAX_WAIT)
    }
}

fn unexpected(url: &Url, status: StatusCode) -> IndexError {
    IndexError::Status { url: url_for_error(url), status: status.as_u16(), attempts: 1 }
}
