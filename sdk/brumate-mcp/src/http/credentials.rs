//! Tokens in use. When one is not valid any more, the streams and calls that it began end.

use super::authenticate::{Authenticator, TokenHolder};
use crate::principal::Principal;
use futures::StreamExt as _;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};
use tokio_util::sync::CancellationToken;

/// For how long a call may go on after its access token has expired. Clients replace such a token, which is no reason
/// to end the call.
const MAX_AFTER_END: Duration = Duration::from_secs(60 * 60);

/// The most tokens that are checked at once: a verifier may have to ask another server.
const MAX_CHECKS: usize = 16;

/// A token, as long as something that it began goes on.
pub(crate) struct Credential {
    token: Arc<str>,
    principal: Principal,
    /// When the token expires.
    ends: Option<SystemTime>,
    revoked: CancellationToken,
}

impl fmt::Debug for Credential {
    /// Leaves out the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("principal", &self.principal).finish_non_exhaustive()
    }
}

impl Credential {
    /// Returns the token that fires when the credential is not valid any more.
    pub(crate) fn revoked(&self) -> &CancellationToken {
        &self.revoked
    }

    /// Returns whether streams and calls of the token may go on.
    async fn is_valid(&self, verifier: &Authenticator) -> bool {
        let now = SystemTime::now();
        match self.ends.filter(|ends| *ends <= now) {
            Some(ends) => ends + MAX_AFTER_END > now,
            None => match verifier.verify(&self.token).await {
                Ok(holder) => holder.is_ok_and(|holder| holder.principal == self.principal),
                Err(_) => true,
            },
        }
    }
}

/// All tokens in use. There are at most as many as there are valid ones.
#[derive(Debug, Default)]
pub(crate) struct Credentials(Mutex<HashMap<Arc<str>, Weak<Credential>>>);

impl Credentials {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Weak<Credential>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the credential of a token that was verified to be this holder's.
    pub(crate) fn of(&self, token: &str, holder: &TokenHolder) -> Arc<Credential> {
        let principal = &holder.principal;
        let mut known = self.lock();
        let live = known.get(token).and_then(Weak::upgrade);
        if let Some(live) = live.filter(|live| live.principal == *principal) {
            return live;
        }
        let token: Arc<str> = token.into();
        let credential = Arc::new(Credential {
            token: token.clone(),
            principal: principal.clone(),
            ends: holder.access.as_ref().and_then(|access| access.expires_at),
            revoked: CancellationToken::new(),
        });
        if let Some(other) = known.insert(token, Arc::downgrade(&credential)).and_then(|other| other.upgrade()) {
            // The token belongs to another principal now.
            other.revoked.cancel();
        }
        credential
    }

    /// Revokes the tokens that `verifier` does not accept any more. Returns their number. A token that cannot be
    /// checked now stays.
    pub(crate) async fn check(&self, verifier: &Authenticator) -> usize {
        let live: Vec<Arc<Credential>> = {
            let mut known = self.lock();
            known.retain(|_, credential| credential.strong_count() > 0);
            known.values().filter_map(Weak::upgrade).collect()
        };
        let checks = futures::stream::iter(live).map(|credential| async move {
            let valid = credential.is_valid(verifier).await;
            (!valid).then_some(credential)
        });
        let ended = checks.buffer_unordered(MAX_CHECKS).filter_map(std::future::ready);
        let ended: Vec<Arc<Credential>> = ended.collect().await;
        for credential in &ended {
            tracing::info!(principal = %credential.principal, "a token was revoked: what it began ends");
            credential.revoked.cancel();
            self.lock().remove(&credential.token);
        }
        ended.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::authenticate::BearerVerifier;
    use super::*;

    #[tokio::test]
    async fn what_is_not_valid_any_more_is_revoked_and_the_rest_is_not() {
        let valid = Arc::new(Mutex::new(HashMap::from([("one", "ada"), ("two", "ada"), ("three", "bob")])));
        let names = BearerVerifier::new({
            let valid = valid.clone();
            move |token| valid.lock().expect("no panic").get(token).map(|name| Principal::new(*name))
        });
        let verifier = Authenticator { names: Some(names), ..Authenticator::default() };
        let credentials = Credentials::default();
        let of = |token: &str, name: &'static str| {
            credentials.of(token, &TokenHolder { principal: Principal::new(name), access: None })
        };
        let (one, two, three) = (of("one", "ada"), of("two", "ada"), of("three", "bob"));
        assert!(Arc::ptr_eq(&one, &of("one", "ada")));
        assert_eq!(credentials.check(&verifier).await, 0);
        valid.lock().expect("no panic").remove("two");
        valid.lock().expect("no panic").insert("three", "eve");
        assert_eq!(credentials.check(&verifier).await, 2);
        let revoked = [&one, &two, &three].map(|credential| credential.revoked().is_cancelled());
        assert_eq!(revoked, [false, true, true]);
        // Nothing stays of tokens that are not used.
        drop(one);
        assert_eq!((credentials.check(&verifier).await, credentials.lock().len()), (0, 0));
        assert!(!format!("{two:?}").contains("two"));
    }

    #[tokio::test]
    async fn what_a_token_began_outlives_its_end_for_a_while() {
        let nobody = Authenticator { names: Some(BearerVerifier::new(|_| None)), ..Authenticator::default() };
        let credentials = Credentials::default();
        let now = SystemTime::now();
        let [just, long_ago, valid] = [Duration::from_secs(1), MAX_AFTER_END + Duration::from_secs(1), Duration::ZERO]
            .map(|ago| if ago.is_zero() { now + Duration::from_secs(60) } else { now - ago })
            .map(|ends| {
                let access = Arc::new(crate::auth::Access::new("ada").with_expiry(ends));
                let holder = TokenHolder { principal: Principal::of_access(&access), access: Some(access) };
                credentials.of(&format!("{ends:?}"), &holder)
            });
        assert_eq!(credentials.check(&nobody).await, 2);
        let revoked = [&just, &long_ago, &valid].map(|credential| credential.revoked().is_cancelled());
        assert_eq!(revoked, [false, true, true], "the last is not valid any more, and has not ended");
    }
}
