//! Watching a server's files for changes.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;

/// Time between two looks at the files.
const INTERVAL: Duration = Duration::from_millis(500);
/// Most files of the server's directory that are watched.
const MAX_FILES: usize = 1000;

/// Path, modification time and size of a file. A change of the file changes one of them.
pub(super) type Stamp = (PathBuf, Option<SystemTime>, u64);

/// Sends a message whenever the file, or a module beside it, has changed. A file must be the same twice: an editor may still write it.
pub(super) fn watch(file: PathBuf) -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel(1);
    let mut served = stamps(&file);
    tokio::spawn(async move {
        let mut last = served.clone();
        while !sender.is_closed() {
            tokio::time::sleep(INTERVAL).await;
            let now = stamps(&file);
            if now != served && now == last {
                served.clone_from(&now);
                // A restart that is already asked for suffices.
                let _ = sender.try_send(());
            }
            last = now;
        }
    });
    receiver
}

/// Returns the stamps of the file and of the modules beside it, in order.
fn stamps(file: &Path) -> Vec<Stamp> {
    let entries = file.parent().and_then(|directory| directory.read_dir().ok()).into_iter().flatten();
    let is_module = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "py");
    let modules = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_module).take(MAX_FILES);
    let mut stamps: Vec<Stamp> = modules.chain([file.to_owned()]).filter_map(stamp).collect();
    stamps.sort();
    stamps.dedup();
    stamps
}

/// Returns the stamp of a file. `None` if it is not there at the moment.
pub(super) fn stamp(path: PathBuf) -> Option<Stamp> {
    let metadata = path.metadata().ok()?;
    Some((path, metadata.modified().ok(), metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn changes_are_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let (file, module) = (directory.path().join("server.py"), directory.path().join("module.py"));
        std::fs::write(&file, "1").unwrap();
        let mut changes = watch(file.clone());
        for (path, text) in [(&file, "22"), (&module, "1"), (&module, "333")] {
            std::fs::write(path, text).unwrap();
            changes.recv().await.unwrap();
        }
        std::fs::remove_file(&module).unwrap();
        changes.recv().await.unwrap();
        assert!(changes.try_recv().is_err());
    }
}
