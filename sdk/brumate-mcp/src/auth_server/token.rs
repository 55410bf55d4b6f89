//! The token endpoint (RFC 6749, section 3.2), revocation (RFC 7009) and introspection (RFC 7662).

use super::AuthServerInner;
use super::client::{ClientAuthMethod, OAuthClient};
use super::error::OAuthError;
use super::provider::TokenPair;
use super::request::{Parameters, PresentedCredentials};
use brumate_mcp_oauth::internal::{now, s256};
use http::request::Parts;
use serde_json::{Value, json};
use std::time::UNIX_EPOCH;
use subtle::ConstantTimeEq as _;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

impl AuthServerInner {
    /// Authenticates the client that sends a request, by the method that the client registered. Returns the client.
    async fn authenticate(&self, head: &Parts, form: &Parameters) -> Result<OAuthClient, OAuthError> {
        let shown = PresentedCredentials::read(head, form)?;
        let client = self.client(&shown.id, self.address(head)).await?.ok_or_else(OAuthError::invalid_client)?;
        let right = client.auth_method == shown.method
            && match &shown.secret {
                Some(secret) => client.has_secret(secret, now()),
                None => client.auth_method == ClientAuthMethod::None,
            };
        if right { Ok(client) } else { Err(OAuthError::invalid_client()) }
    }

    /// Makes tokens. Returns the body of the answer.
    pub(super) async fn token(&self, head: &Parts, form: &Parameters) -> Result<Value, OAuthError> {
        let client = self.authenticate(head, form).await?;
        let pair = match form.require("grant_type")? {
            "authorization_code" => self.of_code(&client, form).await?,
            "refresh_token" => self.of_refresh_token(&client, form).await?,
            JWT_BEARER => {
                let scopes = self.scopes_for(&client, form.words("scope"))?;
                let resource = self.resource(form.get("resource"))?;
                self.provider.exchange_assertion(&client, form.require("assertion")?, &resource, scopes).await?
            }
            _ => {
                let text = "`grant_type` must be `authorization_code` or `refresh_token`";
                return Err(OAuthError::unsupported_grant_type(text));
            }
        };
        let mut answer = json!({
            "access_token": pair.access_token,
            "token_type": "Bearer",
            "expires_in": pair.expires_in.as_secs(),
            "scope": pair.scopes.join(" "),
        });
        if let Some(refresh) = pair.refresh_token {
            answer["refresh_token"] = refresh.into();
        }
        Ok(answer)
    }

    async fn of_code(&self, client: &OAuthClient, form: &Parameters) -> Result<TokenPair, OAuthError> {
        // All failures of a code have one text. A client that guesses codes learns nothing from it.
        let invalid = || OAuthError::invalid_grant("the code is unknown, used or over, or is another client's");
        let code = form.require("code")?;
        let verifier = form.require("code_verifier")?;
        let grant = self.provider.load_code(client, code).await?.ok_or_else(invalid)?;
        if grant.client_id != client.id || grant.expires_at <= now() {
            return Err(invalid());
        }
        // OAuth 2.0 requires `redirect_uri` again if the authorization request had it. OAuth 2.1 clients leave it out.
        match form.get("redirect_uri") {
            Some(uri) if uri != grant.redirect_uri => {
                return Err(OAuthError::invalid_grant("`redirect_uri` is not the one of the authorization request"));
            }
            _ => {}
        }
        if !verifies(verifier, &grant.code_challenge) {
            return Err(OAuthError::invalid_grant("`code_verifier` does not fit `code_challenge`"));
        }
        self.same_target(form, &grant.resource)?;
        self.provider.exchange_code(client, code, grant).await
    }

    async fn of_refresh_token(&self, client: &OAuthClient, form: &Parameters) -> Result<TokenPair, OAuthError> {
        let invalid =
            || OAuthError::invalid_grant("the refresh token is unknown, used or over, or is another client's");
        let token = form.require("refresh_token")?;
        let grant = self.provider.load_refresh_token(client, token).await?.ok_or_else(invalid)?;
        if grant.client_id != client.id || grant.expires_at.is_some_and(|ends| ends <= now()) {
            return Err(invalid());
        }
        self.same_target(form, &grant.resource)?;
        let asked = form.words("scope");
        if asked.iter().any(|scope| !grant.scopes.contains(scope)) {
            return Err(OAuthError::invalid_scope("a scope was not granted: it takes a new authorization"));
        }
        let scopes = if asked.is_empty() { grant.scopes.clone() } else { asked };
        self.provider.exchange_refresh_token(client, token, grant, scopes).await
    }

    /// Checks that `resource`, if the request has it, is the resource of the grant.
    fn same_target(&self, form: &Parameters, granted: &str) -> Result<(), OAuthError> {
        match form.get("resource") {
            Some(named) if !crate::auth::same_resource(named, granted) => {
                Err(OAuthError::new("invalid_target", "the grant is for another resource"))
            }
            _ => Ok(()),
        }
    }

    /// Revokes a token.
    pub(super) async fn revoke(&self, head: &Parts, form: &Parameters) -> Result<(), OAuthError> {
        let client = self.authenticate(head, form).await?;
        self.provider.revoke(&client, form.require("token")?).await
    }

    /// Returns whether a token is active, and its grant (RFC 7662). The resource server must present its secret.
    pub(super) async fn introspect(&self, head: &Parts, form: &Parameters) -> Result<Value, OAuthError> {
        let shown = PresentedCredentials::read(head, form)?;
        let known = self.introspection.as_ref().is_some_and(|(id, secret)| {
            let given = shown.secret.as_deref().unwrap_or_default();
            let same: bool = secret.expose().as_bytes().ct_eq(given.as_bytes()).into();
            *id == shown.id && same && !given.is_empty()
        });
        if !known {
            return Err(OAuthError::invalid_client());
        }
        let Some(access) = self.provider.load_access_token(form.require("token")?).await? else {
            return Ok(json!({"active": false}));
        };
        let ends = access.expires_at.and_then(|ends| ends.duration_since(UNIX_EPOCH).ok());
        let ends = ends.map(|ends| ends.as_secs());
        if ends.is_some_and(|ends| ends <= now()) {
            return Ok(json!({"active": false}));
        }
        Ok(json!({
            "active": true,
            "iss": self.issuer,
            "sub": access.subject,
            "client_id": access.client_id,
            "scope": access.scopes.join(" "),
            "aud": access.audience,
            "exp": ends,
            "token_type": "Bearer",
        }))
    }
}

/// Returns whether a challenge is the S256 hash of a verifier (RFC 7636). The verifier must have the form of the RFC.
fn verifies(verifier: &str, challenge: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    let same: bool = s256(verifier).as_bytes().ct_eq(challenge.as_bytes()).into();
    same && (43..=128).contains(&verifier.len()) && verifier.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verifier and its challenge are the example of RFC 7636, appendix B.
    #[test]
    fn a_verifier_fits_its_challenge() {
        let (verifier, challenge) =
            ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert!(verifies(verifier, challenge));
        for (verifier, challenge) in
            [(challenge, challenge), ("", challenge), (&verifier[1..], challenge), (verifier, "")]
        {
            assert!(!verifies(verifier, challenge), "{verifier} {challenge}");
        }
    }
}
