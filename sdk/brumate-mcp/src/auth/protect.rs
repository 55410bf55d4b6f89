//! A server as a protected resource (RFC 9728): its metadata, its challenges, its checks of tokens.

use super::{Access, TokenVerifier};
use crate::error::{Error, ServeError};
use bytes::Bytes;
use http::HeaderValue;
use serde_json::{Value, json};
use std::fmt;
use std::time::SystemTime;
use url::Url;

/// The well-known path of a resource's metadata (RFC 9728, section 3).
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The longest access token that is checked, in bytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// The longest description of an error in a challenge, in characters.
const MAX_DESCRIPTION: usize = 512;

/// The longest subject and the longest client identifier that are accepted, in bytes.
const MAX_NAME_BYTES: usize = 512;

/// The protection of a server by access tokens; [`HttpOptions::protect`](crate::HttpOptions::protect) applies it.
///
/// It needs a verifier, and an issuer if the verifier does not name one.
///
/// ```no_run
/// use brumate_mcp::auth::{JwtVerifier, Protect};
/// use brumate_mcp::{HttpOptions, ServeError, Server};
///
/// # async fn run(server: Server) -> Result<(), ServeError> {
/// let protect = Protect::new("https://mcp.example.com/mcp")
///     .verifier(JwtVerifier::discover("https://auth.example.com"))
///     .scopes(["notes"]);
/// server.run_http("127.0.0.1:8000", HttpOptions::new().protect(protect)?).await
/// # }
/// ```
pub struct Protect {
    resource: String,
    issuers: Vec<String>,
    verifier: Option<Box<dyn TokenVerifier>>,
    scopes: Vec<String>,
    name: Option<String>,
    documentation: Option<String>,
    hides_unscoped: bool,
    checks_audience: bool,
}

impl fmt::Debug for Protect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protect")
            .field("resource", &self.resource)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

impl Protect {
    /// Protects the server at `resource`: the URL under which clients reach it, such as `https://mcp.example.com/mcp`.
    /// Tokens must be issued for this URL (RFC 8707).
    pub fn new(resource: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            issuers: Vec::new(),
            verifier: None,
            scopes: Vec::new(),
            name: None,
            documentation: None,
            hides_unscoped: false,
            checks_audience: true,
        }
    }

    /// Adds an authorization server that clients can get tokens from. By default it is the verifier's.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuers.push(issuer.into());
        self
    }

    /// Sets the verifier of tokens.
    #[must_use]
    pub fn verifier(mut self, verifier: impl TokenVerifier) -> Self {
        self.verifier = Some(Box::new(verifier));
        self
    }

    /// Sets the scopes that every request needs; none by default.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the resource's name that people see.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the URL of a page for developers.
    #[must_use]
    pub fn documentation(mut self, url: impl Into<String>) -> Self {
        self.documentation = Some(url.into());
        self
    }

    /// Leaves tools whose scopes a client lacks out of its list. By default they are listed, and a call is answered
    /// with a challenge that names the scopes.
    #[must_use]
    pub fn hide_unscoped(mut self) -> Self {
        self.hides_unscoped = true;
        self
    }

    /// Accepts tokens without an audience, because the verifier has checked that they are for this server.
    #[must_use]
    pub fn audience_checked_by_verifier(mut self) -> Self {
        self.checks_audience = false;
        self
    }

    /// Checks the settings.
    pub(crate) fn build(self) -> Result<Protection, ServeError> {
        let wrong = |reason: String| ServeError::Setup(format!("Protect::new(\"{}\"): {reason}", self.resource));
        let url = Url::parse(&self.resource).map_err(|error| wrong(error.to_string()))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        if !matches!(url.scheme(), "http" | "https") || host.is_empty() || url.fragment().is_some() {
            return Err(wrong("it is no URL of HTTP, such as https://mcp.example.com/mcp".to_owned()));
        }
        check_path(&url).map_err(|reason| wrong(reason.to_owned()))?;
        if let Some(scope) = self.scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(wrong(format!(
                "`{scope}` is no scope: it has printable characters without spaces, `\"` and `\\`"
            )));
        }
        let Some(verifier) = self.verifier else {
            return Err(wrong("it has no verifier: Protect::verifier sets it".to_owned()));
        };
        let mut issuers = self.issuers;
        if issuers.is_empty() {
            issuers.extend(verifier.issuer().map(str::to_owned));
        }
        if issuers.is_empty() {
            let reason = "it has no authorization server: Protect::issuer names it";
            return Err(ServeError::Setup(format!("Protect::new(\"{}\"): {reason}", self.resource)));
        }
        let origin = url.origin().ascii_serialization();
        let path = url.path().trim_end_matches('/').to_owned();
        let metadata = metadata(&self.resource, &issuers, &self.scopes, self.name, self.documentation);
        Ok(Protection {
            metadata_url: format!("{origin}{WELL_KNOWN}{path}"),
            metadata: metadata.to_string().into(),
            host,
            path,
            resource: self.resource,
            issuers,
            verifier,
            scopes: self.scopes,
            hides_unscoped: self.hides_unscoped,
            checks_audience: self.checks_audience,
        })
    }
}

/// Checks that a router can serve the path of a URL.
pub(crate) fn check_path(url: &Url) -> Result<(), &'static str> {
    match url.path().split('/').any(|segment| segment.starts_with([':', '*'])) {
        true => Err("a segment of its path begins with `:` or `*`"),
        false => Ok(()),
    }
}

/// Returns the metadata of a resource (RFC 9728, section 2).
fn metadata(
    resource: &str,
    issuers: &[String],
    scopes: &[String],
    name: Option<String>,
    documentation: Option<String>,
) -> Value {
    let mut metadata = json!({
        "resource": resource,
        "authorization_servers": issuers,
        "bearer_methods_supported": ["header"],
    });
    // Refresh tokens do not concern the resource (MCP, authorization: "Refresh tokens").
    let scopes: Vec<&String> = scopes.iter().filter(|scope| *scope != "offline_access").collect();
    if !scopes.is_empty() {
        metadata["scopes_supported"] = json!(scopes);
    }
    if let Some(name) = name {
        metadata["resource_name"] = name.into();
    }
    if let Some(documentation) = documentation {
        metadata["resource_documentation"] = documentation.into();
    }
    metadata
}

/// Returns whether a text is a scope (RFC 6749, section 3.3). Such a text needs no escapes in a header.
pub(crate) fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

/// A checked [`Protect`].
pub(crate) struct Protection {
    resource: String,
    metadata_url: String,
    /// The metadata document, as JSON.
    pub(crate) metadata: Bytes,
    /// The host and the path of the resource.
    pub(crate) host: String,
    pub(crate) path: String,
    issuers: Vec<String>,
    verifier: Box<dyn TokenVerifier>,
    /// The scopes that every request needs.
    pub(crate) scopes: Vec<String>,
    /// Whether tools that a client may not call are left out of its list.
    pub(crate) hides_unscoped: bool,
    checks_audience: bool,
}

impl fmt::Debug for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protection").field("resource", &self.resource).finish_non_exhaustive()
    }
}

impl Protection {
    /// Returns the identifier of the resource.
    #[cfg(feature = "auth-server")]
    pub(crate) fn resource(&self) -> &str {
        &self.resource
    }

    /// Returns whether tokens of an issuer are accepted.
    #[cfg(feature = "auth-server")]
    pub(crate) fn trusts(&self, issuer: &str) -> bool {
        self.issuers.iter().any(|each| each == issuer)
    }

    /// Returns the access that a token grants here, or the reason why it grants none.
    ///
    /// # Errors
    ///
    /// Returns an error if the token cannot be checked now.
    pub(crate) async fn verify(&self, token: &str) -> Result<Result<Access, String>, Error> {
        let verified = if token.len() > MAX_TOKEN_BYTES {
            Err(format!("it is longer than {MAX_TOKEN_BYTES} bytes"))
        } else {
            self.verifier.verify_with_reason(token).await?.and_then(|access| self.checked(access))
        };
        Ok(verified.inspect_err(|reason| tracing::info!(reason, "a token was refused")))
    }

    /// Returns the access that a verifier has found if it is valid here, or the reason why it is not.
    fn checked(&self, mut access: Access) -> Result<Access, String> {
        let refused = |reason: &str| Err(reason.to_owned());
        let names = [Some(&access.subject), access.client_id.as_ref()];
        if names.into_iter().flatten().any(|name| name.len() > MAX_NAME_BYTES || name.chars().any(char::is_control)) {
            return refused("its subject or its client is no usable name");
        }
        if access.expires_at.is_some_and(|ends| ends <= SystemTime::now()) {
            return refused("it has expired");
        }
        if self.checks_audience && access.audience.is_empty() {
            tracing::warn!(
                resource = self.resource,
                "a token has no audience: set that of the verifier's `Access` with `with_audience([resource])`, or let the verifier \
                 check it and call `Protect::audience_checked_by_verifier`"
            );
            return Err(format!("it has no audience, and tokens for {} are accepted", self.resource));
        }
        if self.checks_audience && !access.audience.iter().any(|audience| same_resource(audience, &self.resource)) {
            return Err(format!("it is for another resource than {}", self.resource));
        }
        match &access.issuer {
            Some(issuer) if !self.issuers.contains(issuer) => return refused("it is of another issuer"),
            Some(_) => {}
            None => access.issuer = self.issuers.first().cloned(),
        }
        Ok(access)
    }

    /// Returns the scopes that an operation needs, with the scopes that every request needs.
    pub(crate) fn with_base(&self, scopes: &[String]) -> Vec<String> {
        let more = scopes.iter().filter(|scope| !self.scopes.contains(scope));
        self.scopes.iter().chain(more).cloned().collect()
    }

    /// Returns a challenge (RFC 6750, section 3; RFC 9728, section 5.1): `error` with its description, and the scopes
    /// to ask for.
    pub(crate) fn challenge(&self, error: Option<(&str, &str)>, scopes: &[String]) -> HeaderValue {
        let mut parts = Vec::new();
        if let Some((error, description)) = error {
            let description = describable(description);
            parts.push(format!("error=\"{error}\", error_description=\"{description}\""));
        }
        parts.push(format!("resource_metadata=\"{}\"", self.metadata_url));
        if !scopes.is_empty() {
            parts.push(format!("scope=\"{}\"", scopes.join(" ")));
        }
        // A URL and scopes have only characters that a header may have.
        HeaderValue::from_str(&format!("Bearer {}", parts.join(", "))).unwrap_or(HeaderValue::from_static("Bearer"))
    }
}

/// Returns a text in the form of an error's description (RFC 6750, section 3), shortened.
fn describable(text: &str) -> String {
    let allowed = |c: char| if matches!(c, ' '..='~') && !matches!(c, '"' | '\\') { c } else { '\'' };
    text.chars().take(MAX_DESCRIPTION).map(allowed).collect()
}

/// Returns whether two URLs name one resource: they are equal but for a slash at the end.
pub(crate) fn same_resource(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn protect() -> Protect {
        Protect::new("https://mcp.example/team/mcp").issuer("https://auth.example").scopes(["mcp"])
    }

    /// Returns an access as the protection's checks leave it; `None` if they refuse it.
    async fn checked(protect: Protect, access: Access) -> Option<Access> {
        let verifier = move |_: String| {
            let access = access.clone();
            async move { Ok(Some(access)) }
        };
        protect.verifier(verifier).build().unwrap().verify("token").await.unwrap().ok()
    }

    #[tokio::test]
    async fn a_token_for_somebody_else_grants_nothing() {
        let now = SystemTime::now();
        let good = || Access::new("ada").with_audience(["https://mcp.example/team/mcp/"]);
        let access = checked(protect(), good()).await.unwrap();
        assert_eq!(access.issuer.as_deref(), Some("https://auth.example"));
        let foreign = {
            let mut access = good();
            access.issuer = Some("https://evil.example".to_owned());
            access
        };
        for access in [
            foreign,
            Access::new("ada"),
            Access::new("ada").with_audience(["https://mcp.example/team"]),
            Access::new("ada").with_audience(["https://mcp.example/team/mcp/more"]),
            {
                let mut long = good();
                long.subject = "a".repeat(MAX_NAME_BYTES + 1);
                long
            },
            good().with_client("a\nb"),
            good().with_expiry(now - Duration::from_secs(1)),
        ] {
            assert_eq!(checked(protect(), access.clone()).await, None, "{access:?}");
        }
        assert!(checked(protect().audience_checked_by_verifier(), Access::new("ada")).await.is_some());
        let long = "x".repeat(MAX_TOKEN_BYTES + 1);
        let never = |_: String| async { Err(Error::new("it is asked")) };
        let refused = protect().verifier(never).build().unwrap().verify(&long).await.unwrap().unwrap_err();
        assert!(refused.contains("16384 bytes"), "{refused}");
    }

    #[test]
    fn challenges_and_metadata() {
        let never = |_: String| async { Ok(None) };
        let protection = protect().verifier(never).name("Team").build().unwrap();
        assert_eq!(
            protection.challenge(None, &["mcp".to_owned()]),
            "Bearer resource_metadata=\"https://mcp.example/.well-known/oauth-protected-resource/team/mcp\", scope=\"mcp\""
        );
        let challenge = protection.challenge(Some(("invalid_token", "no")), &[]);
        assert!(challenge.to_str().unwrap().starts_with("Bearer error=\"invalid_token\", error_description=\"no\""));
        let challenge = protection.challenge(Some(("invalid_token", "a \"b\\c\n€")), &[]);
        assert!(challenge.to_str().unwrap().contains("error_description=\"a 'b'c''\""), "{challenge:?}");
        let metadata: Value = serde_json::from_slice(&protection.metadata).unwrap();
        assert_eq!(
            metadata,
            json!({
                "resource": "https://mcp.example/team/mcp",
                "authorization_servers": ["https://auth.example"],
                "bearer_methods_supported": ["header"],
                "scopes_supported": ["mcp"],
                "resource_name": "Team",
            })
        );
    }

    #[test]
    fn settings_that_cannot_be_are_refused() {
        let never = |_: String| async { Ok(None) };
        for (protect, part) in [
            (Protect::new("mcp.example").issuer("https://a.example").verifier(never), "relative URL"),
            (Protect::new("ftp://mcp.example/").issuer("https://a.example").verifier(never), "no URL of HTTP"),
            (Protect::new("https://mcp.example/").verifier(never), "Protect::issuer"),
            (Protect::new("https://mcp.example/").issuer("https://a.example"), "Protect::verifier"),
            (protect().scopes(["a b"]).verifier(never), "no scope"),
        ] {
            let error = protect.build().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
