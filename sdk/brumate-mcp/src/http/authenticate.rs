//! Authenticates requests by their tokens (RFC 6750).

use super::query_token;
use super::request_extensions::HideUnscopedTools;
use super::response::{Response, refusal};
use crate::auth::{Access, Protection};
use crate::error::Error;
use crate::principal::Principal;
use crate::server::Server;
use axum::extract::OriginalUri;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use serde::Deserialize;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The longest token of `HttpOptions::bearer` that is checked, in bytes.
const MAX_TOKEN_BYTES: usize = 4096;

/// Finds the holder of a token.
#[derive(Clone, Debug, Default)]
pub(crate) struct Authenticator {
    pub(crate) names: Option<BearerVerifier>,
    pub(crate) protection: Option<Arc<Protection>>,
    /// A scheme of the `Authorization` header besides `Bearer`.
    pub(crate) scheme: Option<&'static str>,
    /// A parameter of the query that may have the token.
    pub(crate) parameter: Option<&'static str>,
}

/// Finds the principal of a bearer token, by a function of the program.
#[derive(Clone)]
pub(crate) struct BearerVerifier(Arc<VerifyBearer>);

type VerifyBearer = dyn Fn(&str) -> Option<Principal> + Send + Sync;

impl BearerVerifier {
    pub(crate) fn new(verify: impl Fn(&str) -> Option<Principal> + Send + Sync + 'static) -> Self {
        Self(Arc::new(verify))
    }
}

impl fmt::Debug for BearerVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerVerifier")
    }
}

/// The holder of a valid token.
#[derive(Clone, Debug)]
pub(crate) struct TokenHolder {
    pub(crate) principal: Principal,
    /// The access that an access token grants.
    pub(crate) access: Option<Arc<Access>>,
}

/// The scopes that the tools of a server need.
#[derive(Clone)]
pub(crate) struct ToolScopes(Server);

impl ToolScopes {
    pub(crate) fn new(server: Server) -> Self {
        Self(server)
    }

    /// Returns whether any tool of the server needs a scope.
    pub(crate) fn exist(&self) -> bool {
        self.0.shared.has_scopes.load(Ordering::Relaxed)
    }

    fn of(&self, tool: &str) -> Vec<String> {
        self.0.shared.tools.get(tool).map(|served| served.tool.scopes.clone()).unwrap_or_default()
    }
}

impl fmt::Debug for ToolScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolScopes")
    }
}

impl Authenticator {
    /// Returns whether requests need a token.
    pub(crate) fn is_needed(&self) -> bool {
        self.names.is_some() || self.protection.is_some()
    }

    /// Returns the holder of a token, or the reason why the token is not valid. The reason is empty if none is known.
    ///
    /// # Errors
    ///
    /// Returns an error if the token cannot be checked now.
    pub(crate) async fn verify(&self, token: &str) -> Result<Result<TokenHolder, String>, Error> {
        let named = self.names.as_ref().filter(|_| token.len() <= MAX_TOKEN_BYTES).and_then(|names| names.0(token));
        if let Some(principal) = named {
            return Ok(Ok(TokenHolder { principal, access: None }));
        }
        let Some(protection) = &self.protection else { return Ok(Err(String::new())) };
        let access = protection.verify(token).await?;
        Ok(access
            .map(|access| TokenHolder { principal: Principal::of_access(&access), access: Some(Arc::new(access)) }))
    }

    /// Finds the sender of a request and notes it in the request's extensions. Returns the token as well.
    ///
    /// # Errors
    ///
    /// Returns the refusal, with the challenge of RFC 6750.
    pub(crate) async fn authenticate(&self, head: &mut Parts) -> Result<Option<(TokenHolder, String)>, Box<Response>> {
        // These extensions are set here only.
        head.extensions.remove::<Principal>();
        head.extensions.remove::<Arc<Access>>();
        head.extensions.remove::<HideUnscopedTools>();
        let in_query = self.parameter.map_or_else(Vec::new, |name| query_token::take(name, &mut head.uri));
        if let Some((name, original)) = self.parameter.zip(head.extensions.get_mut::<OriginalUri>()) {
            query_token::take(name, &mut original.0);
        }
        if !self.is_needed() {
            return Ok(None);
        }
        let mut given = head.headers.get_all(AUTHORIZATION).iter();
        let (first, second) = (given.next(), given.next());
        let in_header = first.and_then(|value| value.to_str().ok()).and_then(|value| self.token_of(value));
        let in_header = in_header.map(str::to_owned);
        // Some clients send one token in both places.
        let different =
            in_query.iter().any(|token| *token != in_query[0] || in_header.as_ref().is_some_and(|it| it != token));
        let twice = second.is_some() || different;
        let token = in_header.or_else(|| in_query.into_iter().next());
        // Handlers see the head, and must not see the token.
        head.headers.remove(AUTHORIZATION);
        if twice {
            return Err(self.refuse(
                StatusCode::BAD_REQUEST,
                Some("invalid_request"),
                "the request has more than one token",
                &[],
            ));
        }
        let Some(token) = token else {
            let text = "a bearer token is required: `Authorization: Bearer TOKEN`";
            return Err(self.refuse(StatusCode::UNAUTHORIZED, None, text, self.base()));
        };
        let holder = match self.verify(&token).await {
            Ok(Ok(holder)) => holder,
            Ok(Err(reason)) => {
                let text = "the token is not valid";
                let text = if reason.is_empty() { text.to_owned() } else { format!("{text}: {reason}") };
                return Err(self.refuse(StatusCode::UNAUTHORIZED, Some("invalid_token"), &text, self.base()));
            }
            Err(error) => {
                tracing::error!(%error, "a token cannot be checked");
                let text = "the token cannot be checked now: try again later";
                return Err(Box::new(refusal(StatusCode::SERVICE_UNAVAILABLE, text)));
            }
        };
        if let Some(access) = &holder.access {
            if !access.has_scopes(self.base()) {
                return Err(self.refuse_scope(self.base()));
            }
            head.extensions.insert(access.clone());
            if self.protection.as_ref().is_some_and(|protection| protection.hides_unscoped) {
                head.extensions.insert(HideUnscopedTools);
            }
        }
        head.extensions.insert(holder.principal.clone());
        Ok(Some((holder, token)))
    }

    /// Refuses a call of a tool whose scopes the client lacks. The HTTP status is decided before the answer begins, so
    /// this reads the message's body.
    pub(crate) fn check_tool(
        &self,
        access: Option<&Access>,
        scopes: &ToolScopes,
        body: &[u8],
    ) -> Option<Box<Response>> {
        #[derive(Deserialize)]
        struct Call<'a> {
            #[serde(borrow)]
            method: Cow<'a, str>,
            #[serde(borrow)]
            params: Option<Parameters<'a>>,
        }
        #[derive(Deserialize)]
        struct Parameters<'a> {
            #[serde(borrow)]
            name: Option<Cow<'a, str>>,
        }
        // A body that does not parse is no call, or the handler refuses it: it checks the scopes as well.
        let call: Call<'_> = serde_json::from_slice(body).ok()?;
        let name = call.params?.name.filter(|_| call.method == "tools/call")?;
        let needed = scopes.of(&name);
        if needed.is_empty() || access.is_some_and(|access| access.has_scopes(&needed)) {
            return None;
        }
        let all = self.protection.as_ref().map_or(needed.clone(), |protection| protection.with_base(&needed));
        Some(self.refuse_scope(&all))
    }

    /// Returns the token of `Bearer TOKEN`, or of the other scheme. The scheme's case does not matter (RFC 9110).
    fn token_of<'a>(&self, value: &'a str) -> Option<&'a str> {
        let (scheme, token) = value.split_once(' ')?;
        let token = token.trim();
        let is_known = ["bearer"].into_iter().chain(self.scheme).any(|known| scheme.eq_ignore_ascii_case(known));
        (is_known && !token.is_empty()).then_some(token)
    }

    /// Returns the scopes that every request needs.
    fn base(&self) -> &[String] {
        self.protection.as_ref().map_or(&[], |protection| &protection.scopes)
    }

    fn refuse_scope(&self, scopes: &[String]) -> Box<Response> {
        let text = format!("the token lacks a scope: this needs `{}`", scopes.join(" "));
        let mut response =
            *self.refuse(StatusCode::FORBIDDEN, Some("insufficient_scope"), "the token lacks a scope", scopes);
        *response.body_mut() = text.into();
        Box::new(response)
    }

    fn refuse(&self, status: StatusCode, error: Option<&str>, text: &str, scopes: &[String]) -> Box<Response> {
        let challenge = match (&self.protection, error) {
            (Some(protection), error) => protection.challenge(error.map(|error| (error, text)), scopes),
            (None, None) => HeaderValue::from_static("Bearer realm=\"mcp\""),
            (None, Some(error)) => HeaderValue::from_str(&format!("Bearer realm=\"mcp\", error=\"{error}\""))
                .unwrap_or(HeaderValue::from_static("Bearer")),
        };
        let mut response = refusal(status, text);
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        Box::new(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_as_rfc_6750_has_them() {
        for (header, token) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Basic abc", None),
            ("token abc", None),
            ("Bearer", None),
            ("Bearer ", None),
            ("", None),
        ] {
            assert_eq!(Authenticator::default().token_of(header), token, "{header:?}");
        }
        let other = Authenticator { scheme: Some("token"), ..Authenticator::default() };
        for (header, token) in [("Token abc", Some("abc")), ("Bearer abc", Some("abc")), ("tokens abc", None)] {
            assert_eq!(other.token_of(header), token, "{header:?}");
        }
    }
}
