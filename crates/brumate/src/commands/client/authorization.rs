//! Tokens of `brumate client` for servers over HTTP: a given token, or OAuth with a person's consent in a browser.

use std::sync::Arc;

use brumate_mcp::client::{
    AuthError, Bearer, ClientBuilder, ClientError, ClientRegistration, FileTokenStore, HttpTarget, OAuth, SseTarget,
    open_in_browser,
};
use tokio::sync::Notify;

use super::super::print_error;
use crate::cli::ClientAuthorization;
use crate::env_vars;
use crate::secret_file::{check_secret, read_secret};

/// The client's name: its directory of settings, and what authorization servers show.
const PROGRAM: &str = "brumate";

/// Signals that a person is asked for consent, which takes longer than a server may.
pub(super) type ConsentSignal = Arc<Notify>;

/// A source of tokens.
pub(super) enum TokenSource {
    /// A given token. `None`: the user sets the header.
    Token(Option<String>),
    /// OAuth, if the server requires authorization.
    OAuth(Box<OAuth>, ConsentSignal),
}

/// Client builders that take a token source.
pub(super) trait WithTokenSource: Sized {
    /// Sets the token source. Returns the signal of OAuth.
    fn with_token_source(self, token_source: TokenSource) -> (Self, Option<ConsentSignal>);
}

macro_rules! with_token_source {
    ($($target:ty)*) => {$(
        impl WithTokenSource for ClientBuilder<$target> {
            /// Sets the token source. Returns the signal of OAuth.
    fn with_token_source(self, token_source: TokenSource) -> (Self, Option<ConsentSignal>) {
                match token_source {
                    TokenSource::Token(None) => (self, None),
                    TokenSource::Token(Some(token)) => {
                        let token = move || std::future::ready(Ok::<_, AuthError>(token.clone()));
                        (self.auth(Bearer::new(token)), None)
                    }
                    TokenSource::OAuth(oauth, consent) => (self.auth(*oauth), Some(consent)),
                }
            }
        }
    )*};
}

with_token_source!(HttpTarget SseTarget);

impl TokenSource {
    /// Chooses the source: the file of `--token-file`, an `Authorization` header, the token of the environment, or OAuth.
    pub(super) fn choose(
        options: &ClientAuthorization,
        headers: &[(String, String)],
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        if let Some(path) = &options.token_file {
            return Ok(Self::Token(Some(read_secret(path, "--token-file")?)));
        }
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            return Ok(Self::Token(None));
        }
        if let Some(token) = environment(env_vars::CLIENT_TOKEN) {
            let token = token.trim();
            if !token.is_empty() {
                return Ok(Self::Token(Some(check_secret(token.to_owned(), env_vars::CLIENT_TOKEN)?)));
            }
        }
        let (oauth, consent) = oauth(options)?;
        Ok(Self::OAuth(Box::new(oauth), consent))
    }
}

/// Makes the OAuth source. Tokens are stored in files; without a home directory, in memory.
fn oauth(options: &ClientAuthorization) -> Result<(OAuth, ConsentSignal), String> {
    let consent = ConsentSignal::default();
    let (signal, opens_browser) = (consent.clone(), !options.no_browser);
    let oauth = OAuth::new(PROGRAM).scopes(options.scopes.iter().map(String::as_str)).on_page(move |page| {
        signal.notify_one();
        if opens_browser {
            open_in_browser(page);
        } else {
            print_error(&format!(
                "brumate: the server needs your consent. Open this page in a browser on this machine: {page}"
            ));
        }
    });
    let oauth = match FileTokenStore::in_config_dir(PROGRAM) {
        Ok(tokens) => oauth.token_store(tokens),
        Err(_) => oauth,
    };
    let registration = match (&options.client_id, &options.client_secret_file) {
        (Some(id), Some(path)) => Some(ClientRegistration::secret(id, read_secret(path, "--client-secret-file")?)),
        (Some(id), None) => Some(ClientRegistration::public(id)),
        (None, _) => None,
    };
    let of_issuer = |registration: ClientRegistration| match &options.client_issuer {
        Some(issuer) => registration.issuer(issuer),
        None => registration,
    };
    Ok((registration.map(of_issuer).into_iter().fold(oauth, OAuth::registration), consent))
}

/// Deletes the stored tokens and the client registration for a server. Returns whether there were any.
pub(super) async fn log_out(url: &str) -> Result<bool, String> {
    let tokens = FileTokenStore::in_config_dir(PROGRAM).map_err(|error| error.to_string())?;
    OAuth::new(PROGRAM).token_store(tokens).forget(url).await.map_err(|error| error.to_string())
}

/// Returns advice for an authorization error.
pub(super) fn advice(error: &ClientError) -> Option<&'static str> {
    match error {
        ClientError::Unauthorized { .. } => Some(
            "Give a token with --token-file, BRUMATE_CLIENT_TOKEN or --header 'Authorization: ...'; without these, OAuth is tried.",
        ),
        ClientError::Authorization(_) => Some(
            "Set a registered client with --client-id (and --client-secret-file, with --client-issuer for the authorization server \
             that issued it), give a token with --token-file, or delete the stored tokens with `brumate client logout`.",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn options() -> ClientAuthorization {
        ClientAuthorization {
            token_file: None,
            client_id: None,
            client_secret_file: None,
            client_issuer: None,
            scopes: Vec::new(),
            no_browser: true,
        }
    }

    fn chosen(options: &ClientAuthorization, headers: &[(&str, &str)], token: Option<&str>) -> Result<String, String> {
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let variable = |name: &str| token.filter(|_| name == env_vars::CLIENT_TOKEN).map(str::to_owned);
        Ok(match TokenSource::choose(options, &headers, variable)? {
            TokenSource::Token(token) => token.unwrap_or_else(|| "none".to_owned()),
            TokenSource::OAuth(..) => "oauth".to_owned(),
        })
    }

    #[test]
    fn what_is_given_goes_before_what_is_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str, text: &str| -> PathBuf {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let file = ClientAuthorization { token_file: Some(path("token", "from-file\n")), ..options() };
        assert_eq!(chosen(&file, &[("Authorization", "x")], Some("variable")).unwrap(), "from-file");
        assert_eq!(chosen(&options(), &[("AUTHORIZATION", "x")], Some("variable")).unwrap(), "none");
        assert_eq!(chosen(&options(), &[("x-key", "x")], Some(" variable\n")).unwrap(), "variable");
        assert_eq!(chosen(&options(), &[], Some("")).unwrap(), "oauth");
        let id = ClientAuthorization { client_id: Some("id".to_owned()), ..options() };
        assert_eq!(chosen(&id, &[], None).unwrap(), "oauth");

        for (name, text, reason) in
            [("empty", " \n", "is empty"), ("lines", "one\ntwo", "has spaces"), ("long", &"x".repeat(70_000), "bytes")]
        {
            let wrong = ClientAuthorization { token_file: Some(path(name, text)), ..options() };
            let error = chosen(&wrong, &[], None).unwrap_err();
            assert!(error.contains("--token-file") && error.contains(reason), "{error}");
            assert!(!error.contains("two"), "{error}");
        }
        let secret = Some(directory.path().join("missing"));
        let missing = ClientAuthorization { client_secret_file: secret, ..id };
        let error = chosen(&missing, &[], None).unwrap_err();
        assert!(error.contains("--client-secret-file") && error.contains("missing"), "{error}");
    }
}
