//! Server cards (SEP-2127): documents that describe a server to clients that are not connected yet.

use super::guard::Guard;
use super::response::refusal;
use crate::server::{Server, ServerSettings};
use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse as _;
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use rmcp::model::{ProtocolVersion, sha256_digest};
use serde_json::{Map, Value, json};
use tower_http::cors::{Any, CorsLayer};
use url::Url;

/// The media type of a card.
const CARD_TYPE: &str = "application/mcp-server-card+json";
/// The media type of a list of cards.
const CATALOG_TYPE: &str = "application/ai-catalog+json";
const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
/// The path of a card, after the path of its server.
const SUFFIX: &str = "/server-card";
/// The path of the list of an app's cards.
pub(crate) const CATALOG: &str = "/.well-known/ai-catalog.json";

/// Longest name.
const MAX_NAME_CHARS: usize = 200;
/// Longest description and title.
const MAX_TEXT_CHARS: usize = 100;
/// Longest version.
const MAX_VERSION_CHARS: usize = 255;

/// A server card (SEP-2127): the name, the description and the address of a server. It is served at the server's path followed by
/// `/server-card`, and listed at `/.well-known/ai-catalog.json`. Everyone may read both, without a token.
///
/// ```
/// use brumate_mcp::{HttpOptions, ServerCard};
///
/// let card = ServerCard::new("com.example/weather", "https://mcp.example.com/mcp").description("Forecasts of the next week");
/// let options = HttpOptions::new().allow_host("mcp.example.com").server_card(card);
/// ```
///
/// Version, title and description come from the [`Server`] unless the card sets them. Web page and icons always come
/// from it.
#[derive(Clone, Debug)]
pub struct ServerCard {
    name: String,
    url: String,
    fields: Map<String, Value>,
    headers: Vec<Value>,
}

impl ServerCard {
    /// Makes a card. `name` is a domain in reverse and a name, as in `com.example/weather`. `url` is the address at which clients reach
    /// the server over streamable HTTP.
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self { name: name.into(), url: url.into(), fields: Map::new(), headers: Vec::new() }
    }

    /// Sets the version.
    #[must_use]
    pub fn version(self, version: impl Into<String>) -> Self {
        self.field("version", version.into())
    }

    /// Sets the description for people, at most 100 characters.
    #[must_use]
    pub fn description(self, description: impl Into<String>) -> Self {
        self.field("description", description.into())
    }

    /// Sets the name that people see, at most 100 characters.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.field("title", title.into())
    }

    /// Sets the address of the source code, and the name of its host, such as `github`.
    #[must_use]
    pub fn repository(self, url: impl Into<String>, host: impl Into<String>) -> Self {
        self.field("repository", json!({"url": url.into(), "source": host.into()}))
    }

    /// Adds a header that clients send, such as an API key that is no access token of OAuth.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, description: impl Into<String>, is_secret: bool) -> Self {
        self.headers.push(json!({
            "name": name.into(), "description": description.into(), "isRequired": true, "isSecret": is_secret,
        }));
        self
    }

    fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the card as JSON, with the fields that come from its server.
    ///
    /// # Errors
    ///
    /// Returns a text that names the field that is missing or not valid.
    pub(crate) fn to_json(&self, server: Option<&Server>) -> Result<Value, String> {
        let mut fields = self.fields.clone();
        if let Some(ServerSettings { version, title, description, website, icons, .. }) = server.map(Server::settings) {
            let texts =
                [("version", Some(version)), ("title", title), ("description", description), ("websiteUrl", website)];
            for (name, text) in texts {
                if let Some(text) = text {
                    fields.entry(name).or_insert_with(|| text.into());
                }
            }
            if !icons.is_empty() {
                let icons = serde_json::to_value(icons).map_err(|error| error.to_string())?;
                fields.insert("icons".to_owned(), icons);
            }
        }
        let invalid = |what: &str| Err(format!("the server card `{}`: {what}", self.name));
        if !is_name(&self.name) {
            return invalid("its name must be a domain in reverse, a slash and a name, as in `com.example/weather`");
        }
        for (name, most) in [("version", MAX_VERSION_CHARS), ("title", MAX_TEXT_CHARS), ("description", MAX_TEXT_CHARS)]
        {
            match fields.get(name).and_then(Value::as_str).map(|text| text.chars().count()) {
                None if name == "title" => {}
                None => return invalid(&format!("set its {name}, or that of the server")),
                Some(length) if (1..=most).contains(&length) => {}
                Some(length) => {
                    return invalid(&format!("its {name} has {length} characters, 1 to {most} are allowed"));
                }
            }
        }
        if !Url::parse(&self.url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
            return invalid(&format!("`{}` is no URL of HTTP", self.url));
        }
        let mut remote = json!({
            "type": "streamable-http", "url": self.url, "supportedProtocolVersions": ProtocolVersion::KNOWN_VERSIONS,
        });
        if !self.headers.is_empty() {
            remote["headers"] = self.headers.clone().into();
        }
        let mut card = json!({"$schema": SCHEMA, "name": self.name});
        for (name, value) in fields {
            card[name] = value;
        }
        card["remotes"] = json!([remote]);
        Ok(card)
    }

    /// Returns the entry of the card in a catalog.
    pub(crate) fn entry(&self) -> Value {
        let (namespace, name) = self.name.split_once('/').unwrap_or(("", &self.name));
        let domain: Vec<&str> = namespace.rsplit('.').collect();
        json!({
            "identifier": format!("urn:air:{}:mcp:{name}", domain.join(".")),
            "type": CARD_TYPE,
            "url": format!("{}{SUFFIX}", self.url.trim_end_matches('/')),
        })
    }
}

/// Returns whether a name has the form `domain.in.reverse/name`.
fn is_name(name: &str) -> bool {
    let is_part = |part: &str, others: &str| {
        !part.is_empty() && part.chars().all(|letter| letter.is_ascii_alphanumeric() || others.contains(letter))
    };
    name.len() <= MAX_NAME_CHARS
        && name.split_once('/').is_some_and(|(namespace, name)| is_part(namespace, ".-") && is_part(name, "._-"))
}

/// Returns the route of a server's card. `path` is the path of the server.
pub(crate) fn card_router(card: &Value, path: &str, guard: Guard) -> Router {
    document(card, &format!("{}{SUFFIX}", path.trim_end_matches('/')), CARD_TYPE, guard)
}

/// Returns the route of the list of an app's cards.
pub(crate) fn catalog_router(entries: &[Value], guard: Guard) -> Router {
    document(&json!({"specVersion": "1.0", "entries": entries}), CATALOG, CATALOG_TYPE, guard)
}

/// Returns the route of a document for everyone, web pages too. Clients that have the newest version get 304 instead.
fn document(document: &Value, path: &str, media_type: &'static str, guard: Guard) -> Router {
    let text = document.to_string();
    let tag = format!("\"{}\"", sha256_digest(text.as_bytes()).trim_start_matches("sha256:"));
    let answer = get(move |request: Request<Body>| async move {
        let (head, _) = request.into_parts();
        if let Err((status, reason)) = guard.admit_host(&head) {
            return refusal(status, reason);
        }
        let mut response = if is_known(&head.headers, &tag) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            Body::from(text.clone()).into_response()
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
        headers.extend(HeaderValue::from_str(&tag).ok().map(|tag| (ETAG, tag)));
        response
    });
    let pages =
        CorsLayer::new().allow_origin(Any).allow_methods([Method::GET]).allow_headers(Any).expose_headers([ETAG]);
    Router::new().route(path, answer.layer(pages))
}

fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let lists = headers.get_all(IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    lists
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}
