//! Two tiers of compiled code for modules of the bundle's wheels.
//!
//! What a run waits for is compiled to baseline code, which takes half of the time. A server compiles the same modules to optimized code
//! when no run waits for the compiler, and then replaces the zygotes that have loaded baseline code. After a single run another process
//! does that for the next one.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError, Weak};

use tokio::sync::mpsc;

use super::error::Error;
use super::{Sandbox, Shared, prepare};
use crate::bundle;
use crate::code::compile::baseline_key;
use crate::wire::ModuleKey;

/// Modules that may wait to be optimized. The bundle has fewer; what is beyond keeps its baseline code.
const MAX_UNOPTIMIZED: usize = 4096;

/// Whether modules of wheels that a run waits for are compiled to baseline code first, in half the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tiers {
    /// No: all code is optimized.
    #[default]
    Optimized,
    /// Yes; this sandbox optimizes them in the background.
    Background,
    /// Yes; another process is to call [`Sandbox::optimize`] when [`Sandbox::uses_baseline_code`].
    Deferred,
}

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

    /// Whether no baseline code was handed out.
    fn is_empty(&self) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Adds a module whose baseline code is handed out. It is sent once.
    pub(super) fn add(&self, key: ModuleKey) {
        if self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key) {
            // The receiver ends with the sandbox.
            let _ = self.keys.try_send(key);
        }
    }
}

impl Sandbox {
    /// Whether this sandbox has loaded baseline code.
    pub fn uses_baseline_code(&self) -> bool {
        self.shared.compilers.unoptimized().is_some_and(|unoptimized| !unoptimized.is_empty())
    }

    /// Optimizes the modules of which the cache has baseline code alone. Runs that wait for a compiler go first.
    ///
    /// # Errors
    /// When one does not compile, or the cache cannot be used.
    pub async fn optimize(&self) -> Result<(), Error> {
        let cache = &self.shared.cache;
        // In this order: what is found is read.
        let is_baseline = |key: &ModuleKey| cache.get(&baseline_key(key)).is_some() && cache.get(key).is_none();
        let missing: Vec<_> = bundle::native_modules().iter().filter(|module| is_baseline(&module.key)).collect();
        let done = prepare::one_by_one(&self.shared, &missing).await;
        self.shared.compilers.rest();
        done
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
