//! Two tiers of compiled code for modules of the bundle's wheels.
//!
//! A server compiles what a run waits for to baseline code, which takes half of the time. It compiles the same modules to optimized code
//! when no run waits for the compiler, and then replaces the zygotes that have loaded baseline code.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError, Weak};

use tokio::sync::mpsc;

use super::{Shared, prepare};
use crate::bundle;
use crate::wire::ModuleKey;

/// Modules that may wait to be optimized. The bundle has fewer; what is beyond keeps its baseline code.
const MAX_UNOPTIMIZED: usize = 4096;

/// Modules that are in use in the baseline tier. At most those of the bundle.
#[derive(Debug)]
pub(crate) struct Unoptimized {
    known: Mutex<BTreeSet<ModuleKey>>,
    /// Sends them to [`optimize`].
    keys: mpsc::Sender<ModuleKey>,
}

impl Unoptimized {
    /// Returns an empty set, and the receiver of what is added to it.
    pub(crate) fn new() -> (Unoptimized, mpsc::Receiver<ModuleKey>) {
        let (keys, receiver) = mpsc::channel(MAX_UNOPTIMIZED);
        (Unoptimized { known: Mutex::default(), keys }, receiver)
    }

    /// Adds a module whose baseline code is handed out. It is sent once.
    pub(super) fn add(&self, key: ModuleKey) {
        if self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key) {
            // The receiver ends with the sandbox.
            let _ = self.keys.try_send(key);
        }
    }
}

/// Optimizes modules that are in use as baseline code, then replaces the zygotes. Ends with the sandbox.
pub(super) async fn optimize(shared: Weak<Shared>, mut keys: mpsc::Receiver<ModuleKey>) {
    while let Some(first) = keys.recv().await {
        let mut next = Some(first);
        while let Some(key) = next {
            let Some(shared) = shared.upgrade() else { return };
            if let Some(module) = bundle::native_module(&key)
                && let Err(error) = prepare::one_by_one(&shared, &[module]).await
            {
                // Its baseline code stays in use.
                tracing::warn!(module = module.name(), %error, "a module is not optimized");
            }
            next = keys.try_recv().ok();
        }
        let Some(shared) = shared.upgrade() else { return };
        shared.compilers.rest();
        shared.replace_zygotes().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_sent_once() {
        let (unoptimized, mut keys) = Unoptimized::new();
        unoptimized.add([1; 32]);
        unoptimized.add([1; 32]);
        unoptimized.add([2; 32]);
        drop(unoptimized);
        assert_eq!(
            (keys.blocking_recv(), keys.blocking_recv(), keys.blocking_recv()),
            (Some([1; 32]), Some([2; 32]), None)
        );
    }
}
