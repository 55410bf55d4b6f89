//! Bytecode of layers: compiled once for all sessions and processes, in the background of the first use.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use brumate_engine_api::Layer;
use brumate_packages::cache::{Cache, DerivedKind, Sha256Hash};
use parking_lot::Mutex;

use super::{Installation, Packages};

/// Kind of the files in the cache. Raise the number when the interpreter's bytecode format or the archive's format
/// changes.
const BYTECODE: DerivedKind = DerivedKind::new("bytecode", 1);
/// Wheels whose compilation failed or is under way; the oldest are forgotten, and tried again.
const MAX_KNOWN: usize = 4096;

/// Longest time that a process waits for bytecode at its end.
const MAX_SETTLING: Duration = Duration::from_secs(60);

/// Wheels whose compilation was tried or is under way.
#[derive(Debug, Default)]
pub(super) struct CompilationState {
    known: Mutex<HashSet<[u8; 32]>>,
    /// Held by the one compilation at a time.
    turn: tokio::sync::Mutex<()>,
}

/// Opens the bytecode of the wheel with this hash; `None` if it was not made or cannot be opened.
pub(super) async fn open_bytecode(cache: &Cache, sha256: [u8; 32]) -> Option<Arc<File>> {
    let cache = cache.clone();
    let opened = tokio::task::spawn_blocking(move || cache.get_derived(&Sha256Hash(sha256), &BYTECODE)).await;
    // A layer works without bytecode.
    opened.ok()?.ok()??.file().try_clone().map(Arc::new).ok()
}

impl Packages {
    /// Compiles missing bytecode in the background, and adds it to the remembered set.
    pub(super) fn compile_in_background(&self, installation: &Arc<Installation>) {
        let missing: Vec<Layer> = {
            let mut known = self.inner.compiling.known.lock();
            if known.len() > MAX_KNOWN {
                known.clear();
            }
            let layers = installation.layers.iter().filter(|layer| layer.bytecode.is_none());
            layers.filter(|layer| known.insert(layer.sha256)).cloned().collect()
        };
        if missing.is_empty() {
            return;
        }
        let (packages, old) = (self.clone(), Arc::downgrade(installation));
        tokio::spawn(async move {
            let _turn = packages.inner.compiling.turn.lock().await;
            packages.compile_all(&missing).await;
            let Some(old) = old.upgrade() else { return };
            let new = packages.with_bytecode(&old).await;
            packages.memo().replace(&old, &new);
        });
    }

    /// Waits until background compilation ends, at most [`MAX_SETTLING`]: a process that ends loses unfinished work.
    pub(crate) async fn settle(&self) {
        let done = async { drop(self.inner.compiling.turn.lock().await) };
        if tokio::time::timeout(MAX_SETTLING, done).await.is_err() {
            tracing::debug!("bytecode is left to the next process");
        }
    }

    /// Compiles missing bytecode and returns the set with it.
    pub(crate) async fn compiled(&self, installation: Arc<Installation>) -> Arc<Installation> {
        // Background compilation that is under way goes first.
        let _turn = self.inner.compiling.turn.lock().await;
        let new = self.with_bytecode(&installation).await;
        let missing: Vec<Layer> = new.layers.iter().filter(|layer| layer.bytecode.is_none()).cloned().collect();
        if missing.is_empty() {
            return new;
        }
        self.compile_all(&missing).await;
        self.with_bytecode(&new).await
    }

    async fn compile_all(&self, layers: &[Layer]) {
        for layer in layers {
            if let Err(reason) = self.compile(layer).await {
                tracing::debug!(wheel = layer.name, reason, "no bytecode was made");
            }
        }
    }

    async fn with_bytecode(&self, installation: &Installation) -> Arc<Installation> {
        let mut new = installation.clone();
        if let Ok(cache) = self.cache().await {
            for layer in new.layers.iter_mut().filter(|layer| layer.bytecode.is_none()) {
                layer.bytecode = open_bytecode(cache, layer.sha256).await;
            }
        }
        Arc::new(new)
    }

    async fn compile(&self, layer: &Layer) -> Result<(), String> {
        let bytes = self.inner.engine.bytecode(layer).await.map_err(|error| error.to_string())?;
        let cache = self.cache().await.map_err(|error| error.to_string())?.clone();
        let hash = Sha256Hash(layer.sha256);
        let stored = tokio::task::spawn_blocking(move || {
            cache.derive(&hash, &BYTECODE, |output: &mut dyn Write| -> io::Result<()> { output.write_all(&bytes) })
        });
        stored.await.map_err(|error| error.to_string())?.map(drop).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use brumate_packages::PYTHON_FULL_VERSION;

    #[test]
    fn the_format_is_that_of_this_python() {
        // Another minor version of Python has other bytecode: raise the number in `BYTECODE`, then change this.
        assert!(PYTHON_FULL_VERSION.starts_with("3.14."));
    }
}
