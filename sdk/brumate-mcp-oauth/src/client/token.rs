//! Requests to the token endpoint (RFC 6749).

use super::metadata::ServerMetadata;
use super::{AuthError, Secret};
use crate::oauth::{basic, now};
use crate::outbound::{Outbound, OutboundError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// Time before their end at which tokens are replaced.
const EARLY: Duration = Duration::from_secs(30);

/// The identity of a client at one authorization server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    /// The method that the server has chosen, of those of RFC 8414.
    pub(super) method: Option<String>,
    /// The redirect address that it was registered with.
    pub(super) redirect: Option<String>,
    /// When the secret ends, in seconds since 1970.
    pub(super) secret_ends: Option<u64>,
    /// Whether the server does not know the client any more.
    #[serde(default)]
    pub(super) is_refused: bool,
}

/// An access token, and the refresh token that came with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// When the access token ends, in seconds since 1970.
    pub(super) ends: Option<u64>,
}

impl Tokens {
    /// Returns whether the access token has expired, or soon will.
    pub(super) fn is_over(&self) -> bool {
        self.ends.is_some_and(|ends| ends <= now() + EARLY.as_secs())
    }
}

/// The answer of a token endpoint.
pub(super) struct TokenResponse {
    pub(super) tokens: Tokens,
    /// The scopes, if they are others than those that were asked for.
    pub(super) scopes: Option<Vec<String>>,
}

/// The reason why a token endpoint gave no token.
pub(super) enum TokenError {
    /// The server refuses the request; the code is one of RFC 6749, section 5.2.
    Error { code: String, text: String },
    /// The request failed.
    Failed(AuthError),
}

impl TokenError {
    /// Returns the code of a refusal.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::Error { code, .. } => Some(code),
            Self::Failed(_) => None,
        }
    }
}

impl From<TokenError> for AuthError {
    fn from(denied: TokenError) -> Self {
        match denied {
            TokenError::Error { code, text } => {
                AuthError(format!("the authorization server gives no token: {code}{text}"))
            }
            TokenError::Failed(error) => error,
        }
    }
}

/// Asks for tokens.
pub(super) async fn ask(
    outbound: &Outbound,
    server: &ServerMetadata,
    identity: &Identity,
    mut form: Vec<(String, String)>,
) -> Result<TokenResponse, TokenError> {
    #[derive(Deserialize)]
    struct TokenEndpointAnswer {
        access_token: Secret,
        token_type: String,
        #[serde(default)]
        expires_in: Value,
        refresh_token: Option<Secret>,
        scope: Option<String>,
    }
    // With a header too: it is no second proof, and servers of the Python SDK require it.
    form.push(("client_id".to_owned(), identity.id.clone()));
    let mut authorization = None;
    match (method(server, identity), &identity.secret) {
        ("client_secret_basic", Some(secret)) => {
            authorization = Some(basic(&identity.id, secret.expose()));
        }
        (_, secret) => {
            if let Some(secret) = secret.as_ref().filter(|_| identity.method.as_deref() != Some("none")) {
                form.push(("client_secret".to_owned(), secret.expose().to_owned()));
            }
        }
    }
    let answer: TokenEndpointAnswer =
        match outbound.post_form(&server.token_endpoint, &form, authorization.as_deref()).await {
            Ok(answer) => answer,
            // A failure of the server does not invalidate the tokens.
            Err(OutboundError::Status(place, status, _)) if status >= 500 || status == 429 => {
                return Err(TokenError::Failed(AuthError(format!("{place}: HTTP {status}"))));
            }
            Err(OutboundError::Status(place, status, body)) => {
                #[derive(Deserialize)]
                struct TokenChallenge {
                    error: String,
                    #[serde(default)]
                    error_description: Option<String>,
                }
                return Err(match serde_json::from_slice::<TokenChallenge>(&body) {
                    Ok(TokenChallenge { error, error_description }) => {
                        let text = error_description.map(|text| format!(" ({text})")).unwrap_or_default();
                        TokenError::Error { code: error, text }
                    }
                    Err(_) => TokenError::Failed(AuthError(format!("{place}: HTTP {status}"))),
                });
            }
            Err(error) => return Err(TokenError::Failed(AuthError::of(error))),
        };
    if !answer.token_type.eq_ignore_ascii_case("bearer") {
        return Err(TokenError::Failed(AuthError(format!(
            "the token is of type `{}`, not `Bearer`",
            answer.token_type
        ))));
    }
    let tokens = Tokens {
        access: answer.access_token,
        refresh: answer.refresh_token,
        ends: seconds(&answer.expires_in).map(|seconds| now().saturating_add(seconds)),
    };
    let scopes = answer.scope.map(|scope| scope.split_ascii_whitespace().map(str::to_owned).collect());
    Ok(TokenResponse { tokens, scopes })
}

/// Reads a number of seconds. Some servers write it as a text, or with a fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number that does not fit is a long time, or none"
)]
fn seconds(value: &Value) -> Option<u64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    number.is_finite().then_some(number as u64)
}

/// Returns how a client shows its secret: as the server has chosen when it was registered, else the first of these that
/// the server knows. A server that says nothing knows the first (RFC 8414).
fn method<'a>(server: &'a ServerMetadata, identity: &'a Identity) -> &'a str {
    if let Some(method) = &identity.method {
        return method;
    }
    let known = server.token_endpoint_auth_methods_supported.as_deref();
    let knows = |method: &&str| known.is_none_or(|known| known.iter().any(|name| name == method));
    ["client_secret_basic", "client_secret_post"].into_iter().find(knows).unwrap_or("none")
}
