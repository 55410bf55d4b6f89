//! Tokens in use: one that is not valid any more ends what was begun with it.

use super::authenticate::Verifier;
use super::principal::Principal;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio_util::sync::CancellationToken;

/// A token that was shown, as long as something that was begun with it goes on.
pub(crate) struct Credential {
    token: Arc<str>,
    principal: Principal,
    revoked: CancellationToken,
}

impl fmt::Debug for Credential {
    /// Without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("principal", &self.principal).finish_non_exhaustive()
    }
}

impl Credential {
    /// Fires when the token is not valid any more.
    pub(crate) fn revoked(&self) -> &CancellationToken {
        &self.revoked
    }
}

/// All tokens in use. There are at most as many as there are valid ones.
#[derive(Debug, Default)]
pub(crate) struct Credentials(Mutex<HashMap<Arc<str>, Weak<Credential>>>);

impl Credentials {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Weak<Credential>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the credential of a token that was verified to be this principal's.
    pub(crate) fn of(&self, token: &str, principal: &Principal) -> Arc<Credential> {
        let mut known = self.lock();
        let live = known.get(token).and_then(Weak::upgrade);
        if let Some(live) = live.filter(|live| live.principal == *principal) {
            return live;
        }
        let token: Arc<str> = token.into();
        let credential = Arc::new(Credential {
            token: token.clone(),
            principal: principal.clone(),
            revoked: CancellationToken::new(),
        });
        if let Some(other) = known.insert(token, Arc::downgrade(&credential)).and_then(|other| other.upgrade()) {
            // The token is somebody else's now.
            other.revoked.cancel();
        }
        credential
    }

    /// Revokes what `verifier` does not know any more. Returns how many tokens those are. A token that cannot be checked now stays.
    pub(crate) async fn check(&self, verifier: &Verifier) -> usize {
        let live: Vec<Arc<Credential>> = {
            let mut known = self.lock();
            known.retain(|_, credential| credential.strong_count() > 0);
            known.values().filter_map(Weak::upgrade).collect()
        };
        let mut revoked = 0;
        for credential in live {
            let Ok(holder) = verifier.verify(&credential.token).await else { continue };
            if holder.is_none_or(|holder| holder.principal != credential.principal) {
                tracing::info!(principal = %credential.principal, "a token was revoked: what it began ends");
                credential.revoked.cancel();
                self.lock().remove(&credential.token);
                revoked += 1;
            }
        }
        revoked
    }
}

#[cfg(test)]
mod tests {
    use super::super::authenticate::Names;
    use super::*;

    #[tokio::test]
    async fn what_is_not_valid_any_more_is_revoked_and_the_rest_is_not() {
        let valid = Arc::new(Mutex::new(HashMap::from([("one", "ada"), ("two", "ada"), ("three", "bob")])));
        let names = Names::new({
            let valid = valid.clone();
            move |token| valid.lock().expect("no panic").get(token).map(|name| Principal::new(*name))
        });
        let verifier = Verifier { names: Some(names), protection: None };
        let credentials = Credentials::default();
        let of = |token: &str, name: &'static str| credentials.of(token, &Principal::new(name));
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
}
