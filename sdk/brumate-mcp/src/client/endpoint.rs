//! Servers at URLs: their headers, their authorization, and the transports that connect to them.

use super::error::ClientError;
use super::http::HttpBackend;
use super::observed_transport::AnyTransport;
use super::sse;
use super::target::sealed;
use crate::error::causes;
#[cfg(feature = "auth")]
use crate::sync::lock;
use ::http::{HeaderMap, HeaderName, HeaderValue};
#[cfg(feature = "auth")]
use brumate_mcp_oauth::internal::Authorizer;
use brumate_mcp_oauth::internal::http_client;
#[cfg(feature = "auth")]
use brumate_mcp_oauth::{AuthError, Authorization};
use rmcp::service::ClientLifecycleMode;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
#[cfg(feature = "auth")]
use std::sync::{Arc, Mutex};
use std::time::Duration;
use url::{Host, Url};

/// Time to open a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The most concurrent requests. Requests whose answer is a stream do not count.
const CONCURRENT_REQUESTS: usize = 64;

/// The URL of a server, with the headers and the authorization of each request.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) url: String,
    headers: Result<HeaderMap, String>,
    /// Makes the authorizer when the connection is opened.
    #[cfg(feature = "auth")]
    authorization: Option<Arc<Mutex<Option<MakeAuthorizer>>>>,
}

/// A server over streamable HTTP.
#[derive(Clone)]
pub struct HttpTarget(pub(super) Endpoint);

/// A server over HTTP+SSE, the transport of 2024-11-05.
#[derive(Clone)]
pub struct SseTarget(pub(super) Endpoint);

/// Makes the authorizer of a server.
#[cfg(feature = "auth")]
type MakeAuthorizer = Box<dyn FnOnce(&Url) -> Result<Arc<dyn Authorizer>, AuthError> + Send>;

impl Endpoint {
    pub(super) fn new(url: String) -> Self {
        Self {
            url,
            headers: Ok(HeaderMap::new()),
            #[cfg(feature = "auth")]
            authorization: None,
        }
    }

    #[cfg(feature = "auth")]
    pub(super) fn authorize(&mut self, authorization: impl Authorization) {
        let make: MakeAuthorizer = Box::new(move |url| authorization.for_server(url));
        self.authorization = Some(Arc::new(Mutex::new(Some(make))));
    }

    pub(super) fn header(&mut self, name: &str, value: &str) {
        let Ok(headers) = &mut self.headers else { return };
        match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            (Ok(name), Ok(mut value)) => {
                // It may be a secret.
                value.set_sensitive(true);
                headers.append(name, value);
            }
            _ => self.headers = Err(format!("`{name}` cannot be a header")),
        }
    }

    /// Returns the URL, and a client that sends the headers to it.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is no HTTP URL, or if a header is not valid.
    pub(super) fn open(&self) -> Result<(Url, HttpBackend), ClientError> {
        let failed = |reason: String| ClientError::Connect { server: shown(&self.url), reason };
        let url = Url::parse(&self.url).map_err(|error| failed(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(failed("its address begins with neither `https:` nor `http:`".to_owned()));
        }
        let headers = self.headers.clone().map_err(failed)?;
        let client = http_client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            // Credentials go to the address they were given for, and nowhere else.
            .redirect(reqwest::redirect::Policy::none());
        // A proxy on another machine would not reach this one.
        let client = if is_here(&url) { client.no_proxy() } else { client };
        let client = client.build().map_err(|error| failed(causes(&error)))?;
        #[cfg(feature = "auth")]
        let authorizer = match &self.authorization {
            Some(authorization) => {
                let authorization = lock(authorization).take();
                authorization.map(|make| make(&url)).transpose().map_err(|error| failed(error.to_string()))?
            }
            None => None,
        };
        let backend = HttpBackend {
            client,
            headers,
            #[cfg(feature = "auth")]
            authorizer,
        };
        Ok((url, backend))
    }
}

/// Returns a URL for people, without the name and the password that it may have.
fn shown(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else {
        return text.rsplit_once('@').map_or_else(|| text.to_owned(), |(_, rest)| format!("…@{rest}"));
    };
    if url.username().is_empty() && url.password().is_none() {
        return text.to_owned();
    }
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.to_string()
}

/// Returns whether a URL is on this machine, by its host's name or address.
fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        None => false,
    }
}

impl sealed::Target for HttpTarget {
    fn name(&self) -> String {
        shown(&self.0.url)
    }

    async fn open(self) -> Result<AnyTransport, ClientError> {
        let (url, backend) = self.0.open()?;
        #[cfg(feature = "auth")]
        backend.prepare(&url).await?;
        let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
            .max_concurrent_requests(CONCURRENT_REQUESTS)
            .reinit_on_expired_session(true);
        Ok(AnyTransport::new(StreamableHttpClientTransport::with_client(backend, config)))
    }
}

impl sealed::Target for SseTarget {
    fn name(&self) -> String {
        shown(&self.0.url)
    }

    /// Always `initialize`: the later protocols do not have this transport.
    fn lifecycle(&self, _wanted: ClientLifecycleMode) -> ClientLifecycleMode {
        ClientLifecycleMode::Initialize
    }

    async fn open(self) -> Result<AnyTransport, ClientError> {
        let (url, backend) = self.0.open()?;
        Ok(AnyTransport::new(sse::connect(&shown(&self.0.url), &url, backend).await?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_has_the_password_of_a_url() {
        for (url, expected) in [
            ("https://a.example/mcp", "https://a.example/mcp"),
            ("https://ada:s3cret@a.example/mcp", "https://a.example/mcp"),
            ("https://s3cret@a.example/mcp", "https://a.example/mcp"),
            ("https://ada:s3cret@a.example:x/mcp", "…@a.example:x/mcp"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(shown(url), expected);
        }
        let error = Endpoint::new("ftp://ada:s3cret@a.example/".to_owned()).open().map(|_| ()).unwrap_err();
        assert!(!error.to_string().contains("s3cret") && !format!("{error:?}").contains("s3cret"), "{error}");
    }
}
