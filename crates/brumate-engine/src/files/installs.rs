//! Installs during an execution: the layers from the server are mounted before the guest reads the answer.

use std::os::fd::AsRawFd;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;

use super::layers::{self, GivenLayer};
use super::streams::wait_readable;
use crate::api::{LayerId, MAX_LAYERS};
use crate::caps::output::{GuestOutput, PendingRequest};
use crate::channel::Channel;
use crate::wire::{InstallReply, LayerProblem, MachineAnswer, MachineMessage, MachineRequest};
use brumate_abi::errno::Errno;
use brumate_vfs::Vfs;

/// Installs packages over the machine's connection.
pub(crate) struct Installs {
    output: Arc<Mutex<GuestOutput>>,
    channel: Arc<Channel>,
}

/// The answer that the guest reads: one line of JSON.
#[derive(Serialize)]
struct InstallReplyLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    installed: &'a [(String, String)],
    satisfied: &'a [(String, String)],
}

impl Installs {
    pub(crate) fn new(output: &Arc<Mutex<GuestOutput>>, channel: &Arc<Channel>) -> Installs {
        Installs { output: output.clone(), channel: channel.clone() }
    }

    fn output(&self) -> MutexGuard<'_, GuestOutput> {
        self.output.lock()
    }

    /// If the guest waits for packages, waits for the answer, interruptibly, and mounts or unmounts its layers. After
    /// that the guest can read the answer from the event channel. Returns whether layers were mounted or unmounted.
    ///
    /// # Errors
    /// `EINTR` if the guest is interrupted, `EIO` if the server has disconnected.
    pub(crate) fn finish(&self, vfs: &mut Vfs) -> Result<bool, Errno> {
        let Some(PendingRequest::Install(guest_request)) = self.output().guest_request() else { return Ok(false) };
        let (given, remove, reply) = self.wait(guest_request)?;
        let changes = !given.is_empty() || !remove.is_empty();
        let mut answer = None;
        if let InstallReply::Done { installed, satisfied } = &reply {
            let done = layers::mount(vfs, given, &remove);
            let text =
                done.as_ref().err().map(|LayerProblem { name, reason }| format!("cannot mount {name}: {reason}"));
            answer = Some(match &text {
                None => line(&InstallReplyLine { error: None, installed, satisfied }),
                Some(text) => line(&InstallReplyLine { error: Some(text), installed: &[], satisfied: &[] }),
            });
            self.channel.send(&MachineMessage::Mounted(done)).map_err(|_| Errno::EIO)?;
        }
        let answer = match (answer, &reply) {
            (Some(answer), _) => answer,
            (None, InstallReply::Refused(text)) => {
                line(&InstallReplyLine { error: Some(text), installed: &[], satisfied: &[] })
            }
            (None, _) => line(&()),
        };
        self.output().answer(answer?);
        Ok(changes)
    }

    /// Waits for the answer to `guest_request`; answers to older requests are skipped.
    fn wait(&self, guest_request: u64) -> Result<(Vec<GivenLayer>, Vec<LayerId>, InstallReply), Errno> {
        let mut given = Vec::new();
        loop {
            wait_readable(self.channel.socket().as_raw_fd())?;
            match self.channel.receive() {
                Ok((MachineRequest::Layers { guest_request: Some(asked), layers }, fds)) if asked == guest_request => {
                    let mut fds = fds.into_iter();
                    if given.len() + layers.len() > MAX_LAYERS {
                        return Err(Errno::EIO);
                    }
                    for info in layers {
                        given.push(GivenLayer::receive(info, &mut fds).ok_or(Errno::EIO)?);
                    }
                }
                Ok((MachineRequest::Answer { guest_request: asked, answer }, _)) if asked == guest_request => {
                    let MachineAnswer::Install { remove, reply } = answer else { return Err(Errno::EIO) };
                    return Ok((given, remove, reply));
                }
                Ok((MachineRequest::Layers { guest_request: Some(_), .. } | MachineRequest::Answer { .. }, _)) => {}
                _ => return Err(Errno::EIO),
            }
        }
    }
}

/// Returns JSON and a line end.
fn line(value: &impl Serialize) -> Result<Vec<u8>, Errno> {
    let mut line = serde_json::to_vec(value).map_err(|_| Errno::EIO)?;
    line.push(b'\n');
    Ok(line)
}
