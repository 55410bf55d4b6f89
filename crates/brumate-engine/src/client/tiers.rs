//! Two tiers of compiled code for modules of the bundle's wheels.
//!
//! What a run waits for is compiled to baseline code, which takes half of the time. A server compiles the same modules to optimized code
//! when no run waits for the compiler, and then replaces the zygotes that have loaded baseline code. After a single run another process
//! does that for the next one.

use std::sync::Weak;

use tokio::sync::mpsc;

use super::{Sandbox, SandboxShared, prepare};
use crate::api::EngineError;
use crate::bundle;
use crate::code::compile::baseline_key;
use crate::wire::ModuleKey;

/// Whether modules of wheels that a run waits for are compiled to baseline code first, in half the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tiers {
    /// All code is optimized.
    #[default]
    Optimized,
    /// Baseline code first; this sandbox optimizes it in the background.
    Background,
    /// Baseline code first; another process is to call [`Sandbox::optimize`] if [`Sandbox::uses_baseline_code`].
    Deferred,
}

impl Sandbox {
    /// Whether this sandbox has loaded baseline code.
    pub fn uses_baseline_code(&self) -> bool {
        self.shared.compilers.unoptimized().is_some_and(|unoptimized| !unoptimized.is_empty())
    }

    /// Optimizes the modules that have only baseline code in the cache. Runs that wait for a compiler go first.
    ///
    /// # Errors
    /// When one does not compile, or the cache cannot be used.
    pub async fn optimize(&self) -> Result<(), EngineError> {
        let cache = &self.shared.cache;
        // In this order, because a module that is found is read.
        let is_baseline = |key: &ModuleKey| cache.get(&baseline_key(key)).is_some() && cache.get(key).is_none();
        let missing: Vec<_> = bundle::native_modules().iter().filter(|module| is_baseline(&module.key)).collect();
        let done = prepare::one_by_one(&self.shared, &missing).await;
        self.shared.compilers.rest();
        done
    }
}

/// Optimizes modules that are in use as baseline code, then replaces the zygotes. Ends with the sandbox.
pub(super) async fn optimize(shared: Weak<SandboxShared>, mut keys: mpsc::Receiver<ModuleKey>) {
    while let Some(first) = keys.recv().await {
        let mut next = Some(first);
        while let Some(key) = next {
            let Some(shared) = shared.upgrade() else { return };
            if let Some(module) = bundle::native_module(&key)
                && let Err(error) = prepare::one_by_one(&shared, &[module]).await
            {
                // The module's baseline code stays in use.
                tracing::warn!(module = module.name(), %error, "a module is not optimized");
            }
            next = keys.try_recv().ok();
        }
        let Some(shared) = shared.upgrade() else { return };
        shared.compilers.rest();
        shared.replace_zygotes().await;
    }
}
