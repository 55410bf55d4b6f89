//! State of clients that outlives their requests.

use crate::http::request_extensions::principal;
use crate::principal::Principal;
use crate::sync::lock;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

/// The most principals whose state is kept. When there are more, states that nobody holds are removed.
const MAX_PRINCIPALS: usize = 10_000;

/// The values of one client, at most one of each type.
#[derive(Default)]
pub(crate) struct ClientState(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl fmt::Debug for ClientState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientState").finish_non_exhaustive()
    }
}

impl ClientState {
    /// Returns the value of a type. There is always one.
    pub(crate) fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let known = lock(&self.0).get(&TypeId::of::<T>()).cloned();
        // Made outside of the lock, because it is code of the program.
        let value = known.unwrap_or_else(|| {
            let made: Arc<dyn Any + Send + Sync> = Arc::new(T::default());
            lock(&self.0).entry(TypeId::of::<T>()).or_insert(made).clone()
        });
        value.downcast().unwrap_or_default()
    }

    /// Returns whether somebody else holds the state or one of its values.
    fn is_held(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1 || lock(&self.0).values().any(|value| Arc::strong_count(value) > 1)
    }
}

/// The states of principals, for requests without a connection. Clients without a token are one principal.
#[derive(Debug)]
pub(crate) struct PrincipalStates {
    known: Mutex<HashMap<Option<Principal>, Arc<ClientState>>>,
    max: usize,
}

impl Default for PrincipalStates {
    fn default() -> Self {
        Self { known: Mutex::default(), max: MAX_PRINCIPALS }
    }
}

impl PrincipalStates {
    /// Returns the state of a principal. It is not kept if all states that are kept are held.
    pub(crate) fn of(&self, principal: Option<&Principal>) -> Arc<ClientState> {
        let mut known = lock(&self.known);
        let principal = principal.cloned();
        if let Some(state) = known.get(&principal) {
            return state.clone();
        }
        if known.len() >= self.max {
            known.retain(|_, state| state.is_held());
        }
        let state = Arc::<ClientState>::default();
        if known.len() < self.max {
            known.insert(principal, state.clone());
        }
        state
    }
}

/// Returns whether a request has no connection: it came over HTTP, by a protocol without sessions.
pub(crate) fn is_connectionless(request: &RequestContext<RoleServer>) -> bool {
    let over_http = request.extensions.get::<http::request::Parts>().is_some();
    over_http && crate::context::is_stateless_protocol(request)
}

/// Returns whether clients that do not know each other share the state of a request's client.
pub(crate) fn is_shared(request: &RequestContext<RoleServer>) -> bool {
    is_connectionless(request) && principal(request).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(max: usize) -> PrincipalStates {
        PrincipalStates { max, ..PrincipalStates::default() }
    }

    #[test]
    fn a_principal_has_one_value_of_each_type() {
        let states = states(2);
        let ada = Principal::new("ada");
        *lock(&*states.of(Some(&ada)).get::<Mutex<u8>>()) = 7;
        assert_eq!(*lock(&*states.of(Some(&ada)).get::<Mutex<u8>>()), 7);
        assert_eq!(*states.of(Some(&ada)).get::<u8>(), 0);
        assert_eq!(*lock(&*states.of(None).get::<Mutex<u8>>()), 0);
    }

    #[test]
    fn states_that_nobody_holds_make_room() {
        let states = states(3);
        let value = |name: &str| states.of(Some(&Principal::new(name))).get::<Mutex<u8>>();
        let (held_state, held_value) = (states.of(Some(&Principal::new("a"))), value("b"));
        *lock(&*held_value) = 1;
        *lock(&*value("c")) = 1;
        // Here is no room, and c's is not held.
        *lock(&*value("d")) = 1;
        assert_eq!([*lock(&*value("b")), *lock(&*value("d"))], [1, 1]);
        assert!(Arc::ptr_eq(&held_state, &states.of(Some(&Principal::new("a")))));
        let held = value("c");
        assert_eq!(*lock(&*held), 0);
        // All are held.
        *lock(&*value("d")) = 1;
        assert_eq!(*lock(&*value("d")), 0);
        assert_eq!(lock(&states.known).len(), 3);
        drop((held_value, held));
        *lock(&*value("d")) = 1;
        assert_eq!(*lock(&*value("d")), 1);
        assert_eq!(lock(&states.known).len(), 2);
    }
}
