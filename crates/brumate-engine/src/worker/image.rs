//! Images of a session: writing one of this machine, and restoring one into it.

use std::fs::File;
use std::io::Write;

use super::{Failure, Worker, limits};
use crate::api::WORKSPACE;
use crate::files::layers as files_of_layers;
use crate::image::{self, ImageError};
use crate::wire::MachineMessage;
use brumate_vfs::Vfs;
use brumate_vfs::restore::RestoreError;

/// Why a file of another session cannot be written.
struct WriteFailure(String);

impl From<RestoreError> for WriteFailure {
    fn from(error: RestoreError) -> WriteFailure {
        WriteFailure(error.to_string())
    }
}

impl Worker {
    /// Restores the session in `from` into this machine.
    pub(super) fn restore_session(&mut self, from: &File, generation: u64) -> Result<(), Failure> {
        self.generation = generation;
        let (mounts, channel, quota) = (&self.mounts, &self.channel, &self.quota);
        let output = self.machine.output().clone();
        let given = std::mem::take(&mut self.given);
        let join = |vfs: &mut Vfs| {
            crate::files::connect_events(vfs, &output, channel);
            crate::interpreter::join(vfs, &given)?;
            Ok(crate::files::join_host_directories(vfs, mounts, channel, quota))
        };
        let (failed, revoked, layers) = match self.machine.restore_session(from, &self.base, join) {
            Ok(revoked) => {
                self.mounted = true;
                self.set_file_limits();
                self.machine.refresh()?;
                (None, revoked, files_of_layers::present(&self.machine.host().vfs))
            }
            Err(error) => (Some(error.to_string()), Vec::new(), Vec::new()),
        };
        Ok(self.channel.send(&MachineMessage::Restored { failed, revoked, layers })?)
    }

    /// Writes the files of the session in `from` to this session's working directory.
    pub(super) fn recover(&mut self, from: &File) -> Result<(), String> {
        let (saved, _) = image::difference::read(from).map_err(|error| error.to_string())?;
        let vfs = &mut self.machine.host().vfs;
        let place = vfs.place_of(WORKSPACE.as_bytes());
        let taken = brumate_vfs::recover(&saved.vfs, place, |piece| -> Result<(), WriteFailure> {
            let path = format!("{WORKSPACE}/{}", piece.path);
            let written = match &piece.link_to {
                Some(first) => vfs.link_file(format!("{WORKSPACE}/{first}").as_bytes(), path.as_bytes()),
                None => vfs.write_file_at(path.as_bytes(), piece.offset, &piece.bytes, piece.last),
            };
            written.map_err(|errno| WriteFailure(format!("{}: {errno}", piece.path)))
        });
        taken.map(drop).map_err(|WriteFailure(reason)| reason)
    }

    pub(super) fn snapshot(&mut self, to: impl Write, page_map: Option<&File>) -> Result<(), ImageError> {
        let saved = self.machine.snapshot_changes()?;
        image::difference::write(to, &self.base, self.machine.memory(), page_map, saved)
    }

    /// Writes the last acknowledged state, after the server disconnected or broke the protocol.
    pub(super) fn write_crash_snapshot(&mut self) {
        let Some(files) = self.crash_snapshot.take() else { return };
        if self.busy || (self.paused && (files.is_left_to_machine() || self.apply_increment().is_err())) {
            return;
        }
        // The limits of the last request do not apply to the snapshot.
        limits::lift();
        // If this fails, the session resumes from an older complete snapshot or from its file.
        let _ = files.write(self.generation, |to| self.snapshot(to, None));
    }
}
