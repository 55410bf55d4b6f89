//! The authorization code flow, and the refresh of tokens.

use super::authorization_response::read_authorization_response;
use super::challenge::Challenge;
use super::issuer::IssuerPin;
use super::metadata::{self, ProtectedResource};
use super::registration::identify;
use super::store::StoredTokens;
use super::token::{self, TokenError, Tokens};
use super::{AuthError, Authorizer, ClientRegistration, OAuth, Secret, TokenChallenge};
use crate::oauth::{random_token, s256};
use crate::outbound::{AddressPolicy, Outbound};
use futures::future::BoxFuture;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::Mutex as AsyncMutex;
use url::Url;

/// The authorization of one client at one server.
pub(super) struct OAuthAuthorizer {
    inner: Arc<Inner>,
}

struct Inner {
    config: OAuth,
    server: Url,
    /// The server's name in the store.
    key: String,
    outbound: Outbound,
    /// Held by the request that authorizes. Others wait for it.
    current: AsyncMutex<AuthorizationState>,
}

#[derive(Default)]
struct AuthorizationState {
    is_loaded: bool,
    stored: Option<StoredTokens>,
}

impl AuthorizationState {
    fn tokens(&self) -> Option<&Tokens> {
        self.stored.as_ref()?.tokens.as_ref()
    }

    /// Returns whether there is an access token that has not expired and is not the one that was `used`.
    fn has_other_than(&self, used: Option<&Secret>) -> bool {
        self.tokens().is_some_and(|tokens| !tokens.is_over() && used != Some(&tokens.access))
    }
}

impl OAuthAuthorizer {
    pub(super) fn new(config: OAuth, server: &Url) -> Result<Self, AuthError> {
        let outbound = Outbound::new(AddressPolicy::of_server(server)).map_err(AuthError::new)?;
        let key = metadata::canonical(server);
        let inner = Inner { config, server: server.clone(), key, outbound, current: AsyncMutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }
}

impl Authorizer for OAuthAuthorizer {
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, AuthError>> {
        Box::pin(self.inner.token())
    }

    fn challenged(&self, refusal: TokenChallenge) -> BoxFuture<'_, Result<(), AuthError>> {
        let inner = self.inner.clone();
        Box::pin(async move {
            // In a task of its own, so that the person's work is not lost when the request is dropped.
            let work = tokio::spawn(async move { inner.challenged(refusal).await });
            work.await.unwrap_or_else(|error| Err(AuthError::of(error)))
        })
    }
}

impl Inner {
    async fn load(&self, current: &mut AuthorizationState) -> Result<(), AuthError> {
        if !current.is_loaded {
            current.stored = self.kept().await?;
            current.is_loaded = true;
        }
        Ok(())
    }

    /// Reads what the store has for the server. The tokens of another client than that which the program names, or of
    /// another authorization server, are not this one's.
    async fn kept(&self) -> Result<Option<StoredTokens>, AuthError> {
        let kept = self.config.store.load(&self.key).await.map_err(AuthError::of)?;
        let registered = self.config.registration.as_ref();
        let is_own = |kept: &StoredTokens| {
            registered
                .is_none_or(|registered| registered.id == kept.identity.id && registered.issuer.admits(&kept.issuer))
        };
        Ok(kept.filter(is_own))
    }

    async fn save(&self, current: &mut AuthorizationState, stored: StoredTokens) -> Result<(), AuthError> {
        self.config.store.save(&self.key, &stored).await.map_err(AuthError::of)?;
        current.stored = Some(stored);
        Ok(())
    }

    async fn token(&self) -> Result<Option<Secret>, AuthError> {
        let mut current = self.current.lock().await;
        self.load(&mut current).await?;
        let Some(tokens) = current.tokens() else { return Ok(None) };
        if tokens.is_over() && (tokens.refresh.is_none() || !self.refresh(&mut current, None).await?) {
            return Ok(None);
        }
        Ok(current.tokens().map(|tokens| tokens.access.clone()))
    }

    async fn challenged(&self, refusal: TokenChallenge) -> Result<(), AuthError> {
        let TokenChallenge { status, challenges, used, is_first } = refusal;
        let mut current = self.current.lock().await;
        self.load(&mut current).await?;
        if current.has_other_than(used.as_ref()) {
            // Another request has got a new token meanwhile.
            return Ok(());
        }
        let challenge = Challenge::bearer(challenges.iter().map(String::as_str));
        let found = metadata::discover(&self.outbound, &self.server, challenge.get("resource_metadata")).await?;
        // Refreshes once: a token that comes from a refresh and is refused needs a new authorization.
        if status == 401
            && used.is_some()
            && is_first
            && current.tokens().is_some_and(|tokens| tokens.refresh.is_some())
            && self.refresh(&mut current, Some(&found)).await?
        {
            return Ok(());
        }
        // Another process may have been authorized meanwhile.
        if let Some(kept) = self.kept().await? {
            let before = current.stored.replace(kept);
            let has_new = current.has_other_than(used.as_ref())
                && before.as_ref().and_then(|before| before.tokens.as_ref()) != current.tokens();
            if has_new {
                return Ok(());
            }
        }
        let scopes = self.wanted_scopes(&current, &challenge, &found, status);
        self.authorize(&mut current, &found, scopes).await
    }

    /// Returns the scopes to ask for: those of the challenge, else all of the resource; after a refusal for too few
    /// those that were granted besides.
    fn wanted_scopes(
        &self,
        current: &AuthorizationState,
        challenge: &Challenge,
        found: &ProtectedResource,
        status: u16,
    ) -> Option<BTreeSet<String>> {
        let mut scopes: Option<BTreeSet<String>> =
            challenge.scopes().or_else(|| found.scopes.clone()).map(|scopes| scopes.into_iter().collect());
        if status == 403
            && let Some(stored) = &current.stored
        {
            scopes.get_or_insert_default().extend(stored.scopes.iter().cloned());
        }
        if !self.config.scopes.is_empty() {
            scopes.get_or_insert_default().extend(self.config.scopes.iter().cloned());
        }
        scopes
    }

    /// Replaces the tokens by the refresh token; tells whether there are others now. With what was `found` out about
    /// the server, not at an authorization server that it does not name any more.
    async fn refresh(
        &self,
        current: &mut AuthorizationState,
        found: Option<&ProtectedResource>,
    ) -> Result<bool, AuthError> {
        let _alone = self.config.store.lock(&self.key).await.map_err(AuthError::of)?;
        let before = current.stored.clone();
        // Another process may have refreshed meanwhile. The old refresh token is used up then.
        if let Some(kept) = self.kept().await? {
            let is_new = before.as_ref().and_then(|stored| stored.tokens.as_ref()) != kept.tokens.as_ref();
            let holds = kept.tokens.as_ref().is_some_and(|tokens| !tokens.is_over());
            current.stored = Some(kept);
            if is_new && holds {
                return Ok(true);
            }
        }
        let Some(mut stored) = current.stored.clone() else { return Ok(false) };
        let Some(refresh) = stored.tokens.as_ref().and_then(|tokens| tokens.refresh.clone()) else { return Ok(false) };
        if found.is_some_and(|found| !found.issuers.contains(&stored.issuer)) {
            return Ok(false);
        }
        let server = metadata::authorization_server(&self.outbound, &stored.issuer).await?;
        let form = vec![
            ("grant_type".to_owned(), "refresh_token".to_owned()),
            ("refresh_token".to_owned(), refresh.expose().to_owned()),
            ("resource".to_owned(), stored.resource.clone()),
        ];
        match token::ask(&self.outbound, &server, &stored.identity, form).await {
            Ok(mut granted) => {
                // Without a new refresh token the old one stays valid.
                granted.tokens.refresh = granted.tokens.refresh.or(Some(refresh));
                if let Some(scopes) = granted.scopes {
                    stored.scopes = scopes;
                }
                stored.tokens = Some(granted.tokens);
                self.save(current, stored).await?;
                Ok(true)
            }
            Err(TokenError::Error { code, .. }) => {
                // The tokens are no longer valid. The registration is, unless the server does not know the client any more.
                stored.tokens = None;
                stored.identity.is_refused = code == "invalid_client";
                self.save(current, stored).await?;
                Ok(false)
            }
            Err(TokenError::Failed(error)) => Err(error),
        }
    }

    async fn authorize(
        &self,
        current: &mut AuthorizationState,
        found: &ProtectedResource,
        scopes: Option<BTreeSet<String>>,
    ) -> Result<(), AuthError> {
        let registered = self.config.registration.as_ref();
        let known = current.stored.as_ref().filter(|stored| names_issuer(stored, registered));
        let known = known.map(|stored| stored.issuer.as_str());
        let issuer = match registered {
            Some(registered) => {
                registered.issuer.choose(&registered.id, registered.secret.is_some(), known, &found.issuers)?
            }
            // Without an identifier of its own, the client registers with each authorization server anew.
            None => {
                let issuer =
                    found.issuers.iter().find(|issuer| Some(issuer.as_str()) == known).or(found.issuers.first());
                issuer.ok_or_else(|| AuthError::new("the server names no authorization server"))?
            }
        };
        let server = metadata::authorization_server(&self.outbound, issuer).await?;
        let Some(endpoint) = &server.authorization_endpoint else {
            return Err(AuthError(format!("the authorization server `{issuer}` has no authorization endpoint")));
        };
        self.outbound.check(endpoint).map_err(AuthError::of)?;
        let methods = server.code_challenge_methods_supported.as_deref().unwrap_or_default();
        if !methods.iter().any(|method| method == "S256") && !self.config.assumes_pkce {
            let text = format!(
                "the authorization server `{issuer}` does not say that it knows PKCE with S256, which codes need"
            );
            return Err(AuthError(text));
        }
        let mut scopes = scopes;
        if server.scopes_supported.as_ref().is_some_and(|known| known.iter().any(|scope| scope == "offline_access")) {
            scopes.get_or_insert_default().insert("offline_access".to_owned());
        }
        let kept =
            current.stored.as_ref().filter(|stored| stored.issuer == *issuer).map(|stored| stored.identity.clone());
        let redirect = kept.as_ref().and_then(|identity| identity.redirect.clone());
        let page = self.config.pages.prepare(redirect.as_deref()).await?;
        let identity = identify(&self.config, &self.outbound, &server, kept, page.redirect()).await?;

        let (verifier, state) = (random_token(), random_token());
        let mut url = endpoint.clone();
        {
            let challenge = s256(&verifier);
            let mut query = url.query_pairs_mut();
            query.append_pair("response_type", "code").append_pair("client_id", &identity.id);
            query.append_pair("redirect_uri", page.redirect()).append_pair("state", &state);
            query.append_pair("code_challenge", &challenge).append_pair("code_challenge_method", "S256");
            query.append_pair("resource", &found.resource);
            if let Some(scopes) = scopes.as_ref().filter(|scopes| !scopes.is_empty()) {
                query.append_pair("scope", &join(scopes));
            }
        }
        let redirect = page.redirect().to_owned();
        let answer = page.visit(url.as_str()).await?;
        let code = read_authorization_response(&answer, &state, &server)?;
        let form = vec![
            ("grant_type".to_owned(), "authorization_code".to_owned()),
            ("code".to_owned(), code),
            ("redirect_uri".to_owned(), redirect),
            ("code_verifier".to_owned(), verifier),
            ("resource".to_owned(), found.resource.clone()),
        ];
        let granted = match token::ask(&self.outbound, &server, &identity, form).await {
            Ok(granted) => granted,
            Err(denied) => {
                if denied.code() == Some("invalid_client") {
                    self.forget_identity(current).await?;
                }
                return Err(denied.into());
            }
        };
        let scopes = granted.scopes.unwrap_or_else(|| scopes.unwrap_or_default().into_iter().collect());
        let (issuer, resource, tokens) = (issuer.clone(), found.resource.clone(), Some(granted.tokens));
        self.save(current, StoredTokens { issuer, resource, identity, tokens, scopes }).await
    }

    /// Notes that the authorization server does not know the client any more: the next authorization registers it
    /// again.
    async fn forget_identity(&self, current: &mut AuthorizationState) -> Result<(), AuthError> {
        let Some(mut stored) = current.stored.clone() else { return Ok(()) };
        stored.identity.is_refused = true;
        self.save(current, stored).await
    }
}

/// Returns whether stored tokens say which authorization server a client belongs to. A public client may have been used anywhere. Its
/// tokens say nothing about the issuer of a secret that was given later.
fn names_issuer(stored: &StoredTokens, registered: Option<&ClientRegistration>) -> bool {
    registered.is_none_or(|registered| {
        registered.issuer != IssuerPin::Unset
            || registered.secret.is_none()
            || registered.secret == stored.identity.secret
    })
}

fn join(scopes: &BTreeSet<String>) -> String {
    scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::token::Identity;

    /// Returns the stored tokens of a client that was used with an authorization server.
    fn used_with(secret: Option<&str>) -> StoredTokens {
        let identity = Identity {
            id: "app".to_owned(),
            secret: secret.map(Secret::new),
            method: None,
            redirect: None,
            secret_ends: None,
            is_refused: false,
        };
        StoredTokens {
            issuer: "https://elsewhere.example".to_owned(),
            resource: "https://mcp.example/mcp".to_owned(),
            identity,
            tokens: None,
            scopes: Vec::new(),
        }
    }

    #[test]
    fn a_public_client_that_was_used_says_nothing_of_the_issuer_of_a_later_secret() {
        let (public, secret) = (ClientRegistration::public("app"), || ClientRegistration::secret("app", "s3cret"));
        for (stored, registered, says) in [
            (None, None, true),
            (None, Some(public.clone()), true),
            (None, Some(secret()), false),
            (Some("s3cret"), Some(secret()), true),
            (Some("another"), Some(secret()), false),
            (None, Some(secret().issuer("https://auth.example")), true),
            (Some("s3cret"), Some(public), true),
        ] {
            assert_eq!(names_issuer(&used_with(stored), registered.as_ref()), says, "{stored:?} {registered:?}");
        }
        // Such a secret is sent to nobody.
        let registered = secret();
        let named = ["https://elsewhere.example".to_owned()];
        let refused = registered.issuer.choose(&registered.id, true, None, &named).unwrap_err();
        assert!(refused.to_string().contains("elsewhere.example"), "{refused}");
    }
}
