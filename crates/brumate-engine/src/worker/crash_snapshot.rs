//! A machine's crash snapshot: the state that it writes after its server has disconnected.
//!
//! The server sends three descriptors, once per session; forks inherit them. Two are files, one for the machine and one
//! for its checkpoint. A checkpoint that replaces its machine writes to its own file, and its next checkpoint gets the
//! other one. The third is a byte of memory in which the machine stores its [`Phase`] for the checkpoint. If the
//! machine is idle when its connection ends, it writes its snapshot; the checkpoint has the same state and writes none.
//! If the machine is in the middle of a request, its state was never acknowledged, and the checkpoint writes the
//! snapshot.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::image::ImageError;
use crate::image::sealed::Sealing;

/// A checkpoint writes the snapshot itself when its machine's file has not grown for this time.
const STALLED: Duration = Duration::from_secs(5);

/// How often a checkpoint reads the phase of its machine.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Phase of a session's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// It handles a request that changes its state, or it has failed.
    Busy = 0,
    /// It waits for a request, or it writes its crash snapshot.
    Idle = 1,
    /// Its crash snapshot is written.
    Written = 2,
}

/// The files that a crash snapshot is written to.
#[derive(Debug)]
pub(super) struct CrashSnapshot {
    own: File,
    /// The checkpoint's file; in a checkpoint, its machine's.
    other: File,
    phase: File,
}

impl CrashSnapshot {
    /// Takes the descriptors from the server. Returns `None` if one is missing.
    pub(super) fn new(fds: impl IntoIterator<Item = OwnedFd>) -> Option<CrashSnapshot> {
        let mut files = fds.into_iter().map(File::from);
        Some(CrashSnapshot { own: files.next()?, other: files.next()?, phase: files.next()? })
    }

    /// Swaps the files in a new checkpoint.
    pub(super) fn swap(&mut self) {
        std::mem::swap(&mut self.own, &mut self.other);
    }

    /// Stores the phase for the checkpoint.
    pub(super) fn set_phase(&self, phase: Phase) {
        // This is one byte of memory. If it fails, the checkpoint writes a snapshot that is not needed, and the newer
        // one is used.
        let _ = self.phase.write_all_at(&[phase as u8], 0);
    }

    /// Waits in a checkpoint, after the server has disconnected, until its machine has written its snapshot. Returns
    /// `false` if the machine is busy, or its file does not grow for [`STALLED`].
    pub(super) fn is_left_to_machine(&self) -> bool {
        let length = || self.other.metadata().map_or(0, |metadata| metadata.len());
        let (mut written, mut since) = (length(), Instant::now());
        loop {
            let mut phase = [Phase::Busy as u8];
            if self.phase.read_exact_at(&mut phase, 0).is_err() || phase == [Phase::Busy as u8] {
                return false;
            }
            if phase == [Phase::Written as u8] {
                return true;
            }
            let now = length();
            if now != written {
                (written, since) = (now, Instant::now());
            } else if since.elapsed() > STALLED {
                return false;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Writes the output of `write`, and the trailer that marks it complete.
    ///
    /// # Errors
    /// When the disk refuses, or the machine holds what no image can.
    pub(super) fn write(
        mut self,
        generation: u64,
        write: impl FnOnce(&mut Sealing<&File>) -> Result<(), ImageError>,
    ) -> Result<(), ImageError> {
        let failed = |error: std::io::Error| ImageError::Engine(format!("the crash snapshot: {error}"));
        self.own.set_len(0).and_then(|()| self.own.rewind()).map_err(failed)?;
        let mut sealing = Sealing::new(&self.own);
        write(&mut sealing)?;
        sealing.flush().and_then(|()| sealing.seal(generation)).map_err(failed)?;
        // The file is complete for readers already. Syncing protects it against a power failure.
        let synced = self.own.sync_data();
        self.set_phase(Phase::Written);
        synced.map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(directory: &std::path::Path) -> CrashSnapshot {
        let file = |name: &str| {
            let path = directory.join(name);
            std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
        };
        CrashSnapshot { own: file("own"), other: file("other"), phase: file("phase") }
    }

    #[test]
    fn a_checkpoint_writes_unless_its_machine_does() {
        let directory = tempfile::tempdir().unwrap();
        let (machine, mut checkpoint) = (snapshot(directory.path()), snapshot(directory.path()));
        checkpoint.swap();
        assert!(!checkpoint.is_left_to_machine(), "no phase is set");
        machine.set_phase(Phase::Busy);
        assert!(!checkpoint.is_left_to_machine());
        machine.set_phase(Phase::Idle);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| checkpoint.is_left_to_machine());
            machine.write(7, |to| to.write_all(b"state").map_err(|_| ImageError::Damaged("disk".to_owned()))).unwrap();
            assert!(waiting.join().unwrap());
        });
        assert_eq!(checkpoint.other.metadata().unwrap().len(), 5 + crate::image::sealed::TRAILER_BYTES as u64);
        checkpoint.write(6, |_| Ok(())).unwrap();
        assert!(directory.path().join("other").metadata().unwrap().len() > 0);
    }

    #[test]
    fn what_fails_is_not_sealed() {
        let directory = tempfile::tempdir().unwrap();
        let snapshot = snapshot(directory.path());
        snapshot.set_phase(Phase::Idle);
        let failed = snapshot.write(7, |to| {
            to.write_all(b"half").unwrap();
            Err(ImageError::Damaged("full".to_owned()))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(directory.path().join("own")).unwrap(), b"half");
    }
}
