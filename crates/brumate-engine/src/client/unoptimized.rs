//! Modules whose baseline code is in use.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::wire::ModuleKey;

/// Most modules that may wait to be optimized. The bundle has fewer; any others keep their baseline code.
const MAX_UNOPTIMIZED: usize = 4096;

/// Modules that are in use in the baseline tier. At most those of the bundle.
#[derive(Debug)]
pub(crate) struct Unoptimized {
    known: Mutex<BTreeSet<ModuleKey>>,
    /// Sends the modules to the task that optimizes them.
    keys: mpsc::Sender<ModuleKey>,
}

impl Unoptimized {
    /// Returns an empty set, and the receiver of what is added to it.
    pub(crate) fn new() -> (Unoptimized, mpsc::Receiver<ModuleKey>) {
        let (keys, receiver) = mpsc::channel(MAX_UNOPTIMIZED);
        (Unoptimized { known: Mutex::default(), keys }, receiver)
    }

    /// Whether no baseline code is in use.
    pub(super) fn is_empty(&self) -> bool {
        self.known.lock().is_empty()
    }

    /// Adds a module whose baseline code is used. It is sent once.
    pub(super) fn add(&self, key: ModuleKey) {
        if self.known.lock().insert(key) {
            // The receiver ends with the sandbox.
            let _ = self.keys.try_send(key);
        }
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
