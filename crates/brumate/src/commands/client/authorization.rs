//! How `brumate client` gets tokens for servers over HTTP: one that is given, or one that a person grants in a browser.

use std::sync::Arc;

use brumate_mcp::client::{
    AuthError, Bearer, ClientBuilder, ClientError, ClientRegistration, FileTokenStore, HttpTarget, OAuth, SseTarget,
    open_in_browser,
};
use tokio::sync::Notify;

use super::super::complain;
use crate::cli::ClientAuthorization;
use crate::env_vars;
use crate::secret_file::{read_secret, usable};

/// The directory of settings, and the name that authorization servers show.
const PROGRAM: &str = "brumate";

/// Tells when a person is asked: their time does not count as the server's.
pub(super) type Asked = Arc<Notify>;

/// A way to get tokens.
pub(super) enum Authorizing {
    /// One that is given, or none: the header is the user's own.
    Token(Option<String>),
    /// By OAuth, when the server asks for it.
    OAuth(Box<OAuth>, Asked),
}

/// Targets that take tokens.
pub(super) trait Authorized: Sized {
    fn authorized(self, authorizing: Authorizing) -> (Self, Option<Asked>);
}

macro_rules! authorized {
    ($($target:ty)*) => {$(
        impl Authorized for ClientBuilder<$target> {
            fn authorized(self, authorizing: Authorizing) -> (Self, Option<Asked>) {
                match authorizing {
                    Authorizing::Token(None) => (self, None),
                    Authorizing::Token(Some(token)) => {
                        let token = move || std::future::ready(Ok::<_, AuthError>(token.clone()));
                        (self.auth(Bearer::new(token)), None)
                    }
                    Authorizing::OAuth(oauth, asked) => (self.auth(*oauth), Some(asked)),
                }
            }
        }
    )*};
}

authorized!(HttpTarget SseTarget);

impl Authorizing {
    /// Chooses by the options: a token's file, a token of the environment, an `Authorization` header, else OAuth.
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
                return Ok(Self::Token(Some(usable(token.to_owned(), env_vars::CLIENT_TOKEN)?)));
            }
        }
        let (oauth, asked) = oauth(options)?;
        Ok(Self::OAuth(Box::new(oauth), asked))
    }
}

/// Sets OAuth up. Tokens are kept in files; where there is no home directory they end with the program.
fn oauth(options: &ClientAuthorization) -> Result<(OAuth, Asked), String> {
    let asked = Asked::default();
    let (tell, opens) = (asked.clone(), !options.no_browser);
    let oauth = OAuth::new(PROGRAM).scopes(options.scopes.iter().map(String::as_str)).on_page(move |page| {
        tell.notify_one();
        if opens {
            open_in_browser(page);
        } else {
            complain(&format!(
                "brumate: the server wants your consent. Open this page in a browser on this machine: {page}"
            ));
        }
    });
    let oauth = match FileTokenStore::in_config_dir(PROGRAM) {
        Ok(tokens) => oauth.token_store(tokens),
        Err(_) => oauth,
    };
    let registered = match (&options.client_id, &options.client_secret_file) {
        (Some(id), Some(path)) => Some(ClientRegistration::secret(id, read_secret(path, "--client-secret-file")?)),
        (Some(id), None) => Some(ClientRegistration::public(id)),
        (None, _) => None,
    };
    Ok((registered.into_iter().fold(oauth, OAuth::registration), asked))
}

/// Forgets the tokens for a server, and who the client is to its authorization server. Tells whether there were any.
pub(super) async fn log_out(url: &str) -> Result<bool, String> {
    let tokens = FileTokenStore::in_config_dir(PROGRAM).map_err(|error| error.to_string())?;
    OAuth::new(PROGRAM).token_store(tokens).forget(url).await.map_err(|error| error.to_string())
}

/// Says what an error of credentials can be mended with.
pub(super) fn advice(error: &ClientError) -> Option<&'static str> {
    match error {
        ClientError::Unauthorized { .. } => Some(
            "Give a token with --token-file, BRUMATE_CLIENT_TOKEN or --header 'Authorization: ...'; without these, OAuth is tried.",
        ),
        ClientError::Authorization(_) => Some(
            "Name a client that its authorization server knows with --client-id (and --client-secret-file), give a token with \
             --token-file, or forget what is kept with `brumate client logout`.",
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
            scopes: Vec::new(),
            no_browser: true,
        }
    }

    fn chosen(options: &ClientAuthorization, headers: &[(&str, &str)], token: Option<&str>) -> Result<String, String> {
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let variable = |name: &str| token.filter(|_| name == env_vars::CLIENT_TOKEN).map(str::to_owned);
        Ok(match Authorizing::choose(options, &headers, variable)? {
            Authorizing::Token(token) => token.unwrap_or_else(|| "none".to_owned()),
            Authorizing::OAuth(..) => "oauth".to_owned(),
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
