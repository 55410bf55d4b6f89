//! The authorization endpoint (RFC 6749, section 4.1.1).

use super::AuthServerInner;
use super::client::OAuthClient;
use super::error::OAuthError;
use super::provider::{AuthorizationRequest, redirect};
use super::request::Parameters;
use std::net::IpAddr;
use url::Url;

/// The longest state of a client that is sent back, in bytes.
const MAX_STATE_BYTES: usize = 4096;

/// The refusal of an authorization request.
#[derive(Debug)]
pub(super) enum AuthorizeError {
    /// The person sees a page: no URI for an answer is known.
    Page(OAuthError),
    /// The client gets the error, at this URL.
    Redirect(Url),
    /// The person sees the error, and may go on to the client, which nobody has checked, at this URL.
    Offer(OAuthError, Url),
}

impl AuthServerInner {
    /// Begins an authorization. Returns the URL that the browser is sent to.
    pub(super) async fn authorize(
        &self,
        parameters: Result<Parameters, OAuthError>,
        address: Option<IpAddr>,
    ) -> Result<Url, AuthorizeError> {
        // Before client and URI are checked, a redirect there would make this server an open redirector.
        let parameters = parameters.map_err(AuthorizeError::Page)?;
        let client = self.requesting_client(&parameters, address).await.map_err(AuthorizeError::Page)?;
        let given = parameters.get("redirect_uri");
        let redirect_uri = redirect_uri(&client, given).map_err(AuthorizeError::Page)?;
        let state = parameters.get("state").map(str::to_owned);
        let checked = self.check(&parameters, &client, redirect_uri.clone(), state.clone());
        let result = match checked {
            Ok(request) => self.provider.authorize(&client, request).await,
            Err(error) => Err(error),
        };
        result.map_err(|error| {
            error.log();
            let state = state.as_deref().filter(|state| state.len() <= MAX_STATE_BYTES);
            let answer = [("error", error.code()), ("error_description", error.description())];
            match redirect(&redirect_uri, state, &self.issuer, &answer) {
                Ok(url) if client.self_registered => AuthorizeError::Offer(error, url),
                Ok(url) => AuthorizeError::Redirect(url),
                Err(error) => AuthorizeError::Page(error),
            }
        })
    }

    async fn requesting_client(
        &self,
        parameters: &Parameters,
        address: Option<IpAddr>,
    ) -> Result<OAuthClient, OAuthError> {
        let id = parameters.require("client_id")?;
        let unknown = || OAuthError::invalid_request("the client is unknown: it must register again");
        self.client(id, address).await?.ok_or_else(unknown)
    }

    /// Checks the parameters of an authorization request.
    fn check(
        &self,
        parameters: &Parameters,
        client: &OAuthClient,
        redirect_uri: String,
        state: Option<String>,
    ) -> Result<AuthorizationRequest, OAuthError> {
        match parameters.require("response_type")? {
            "code" => {}
            _ => return Err(OAuthError::new("unsupported_response_type", "`response_type` must be `code`")),
        }
        if state.as_ref().is_some_and(|state| state.len() > MAX_STATE_BYTES) {
            return Err(OAuthError::invalid_request(format!("`state` has more than {MAX_STATE_BYTES} bytes")));
        }
        // RFC 7636: without a method it is `plain`, which hides nothing.
        let challenge = parameters.require("code_challenge")?;
        if parameters.get("code_challenge_method") != Some("S256") {
            return Err(OAuthError::invalid_request("`code_challenge_method` must be `S256`"));
        }
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if challenge.len() != 43 || !challenge.bytes().all(fits) {
            return Err(OAuthError::invalid_request("`code_challenge` is no SHA-256 in base64url"));
        }
        for unsupported in ["request", "request_uri"] {
            if parameters.get(unsupported).is_some() {
                return Err(OAuthError::new("request_not_supported", "parameters must be in the query"));
            }
        }
        Ok(AuthorizationRequest {
            client_id: client.id.clone(),
            redirect_uri_given: parameters.get("redirect_uri").is_some(),
            redirect_uri,
            scopes: self.scopes_for(client, parameters.words("scope"))?,
            resource: self.resource(parameters.get("resource"))?,
            code_challenge: challenge.to_owned(),
            state,
            issuer: self.issuer.clone(),
            self_registered: client.self_registered,
        })
    }

    /// Returns the scopes that a client gets when it asks for these.
    pub(super) fn scopes_for(&self, client: &OAuthClient, asked: Vec<String>) -> Result<Vec<String>, OAuthError> {
        let may = |scope: &String| {
            self.scopes.contains(scope) && client.scopes.as_ref().is_none_or(|known| known.contains(scope))
        };
        if asked.is_empty() {
            return Ok(self.default_scopes.iter().filter(|scope| may(scope)).cloned().collect());
        }
        match asked.iter().find(|scope| !may(scope)) {
            Some(scope) => {
                let shown: String = scope.chars().filter(|c| c.is_ascii_graphic() && *c != '"').take(50).collect();
                Err(OAuthError::invalid_scope(format!("the client cannot have the scope `{shown}`")))
            }
            None => Ok(asked),
        }
    }

    /// Returns the resource that a token is requested for. If none is named, it is the only one.
    pub(super) fn resource(&self, named: Option<&str>) -> Result<String, OAuthError> {
        let wrong = |text: &str| Err(OAuthError::new("invalid_target", text));
        match (named, self.resources.as_slice()) {
            (None, [only]) => Ok(only.clone()),
            (None, _) => wrong("the parameter `resource` must name the server that the token is for"),
            (Some(named), known) => match known.iter().find(|known| crate::auth::same_resource(known, named)) {
                Some(known) => Ok(known.clone()),
                None => wrong("this authorization server gives no tokens for that resource"),
            },
        }
    }
}

/// Returns the URI for answers to a client.
fn redirect_uri(client: &OAuthClient, given: Option<&str>) -> Result<String, OAuthError> {
    match (given, client.redirect_uris.as_slice()) {
        (Some(given), _) if client.may_redirect_to(given) => Ok(given.to_owned()),
        (Some(_), _) => {
            Err(OAuthError::invalid_request("`redirect_uri` is none of those that the client has registered"))
        }
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(OAuthError::invalid_request("the parameter `redirect_uri` is missing")),
    }
}
