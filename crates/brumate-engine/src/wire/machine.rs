//! Messages between the server and a machine.

use serde::{Deserialize, Serialize};

use super::{
    FileReply, FileRequest, InstallReply, LAYERS_AT_ONCE, LayerInfo, LayerProblem, MAX_LIST, ModuleReply,
    ModuleRequest, MountReply, MountRequest,
};
use crate::api::{Analysis, Event, Execute, FileError, LayerId, Limits, MAX_LAYERS, Outcome, bounded};

/// Server → machine.
#[derive(Debug, Serialize, Deserialize)]
pub enum MachineRequest {
    /// First message. The descriptors follow in this order: one for `stdin` if it is set, then two for `messages` if it
    /// is set.
    Start {
        /// Limits of this machine.
        limits: Limits,
        /// A descriptor for standard input follows.
        stdin: bool,
        /// Two descriptors for messages follow: one to read from, one to write to.
        messages: bool,
        /// Granted host directories: guest path, read-only.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        mounts: Vec<(String, bool)>,
    },
    /// Forks this machine. One descriptor follows: the socket of the new machine. The new machine sends its first
    /// message there and waits for [`MachineRequest::Resume`]. The old machine answers [`MachineMessage::Forked`].
    Fork {
        /// Whether the new machine is the checkpoint of the old one. A checkpoint shares the crash snapshot of its
        /// machine. Any other fork has no crash snapshot.
        checkpoint: bool,
        /// Whether the session is idle: saving memory is then more important than time.
        idle: bool,
    },
    /// Sets the files for crash snapshots. Three descriptors follow: the machine's file, its checkpoint's file, and a
    /// byte of memory that both share.
    CrashSnapshot,
    /// Layers to mount. Before [`MachineRequest::Restore`] they are the layers of the restored session, whose files are
    /// attached to them. The descriptors follow in the order of the layers. For each layer they are its archive and, if
    /// the layer has bytecode, its bytecode.
    Layers {
        /// Number of the guest's install request that these layers belong to. `None` if they belong to no request.
        guest_request: Option<u64>,
        /// The layers.
        #[serde(deserialize_with = "bounded::list::<_, _, LAYERS_AT_ONCE>")]
        layers: Vec<LayerInfo>,
    },
    /// Unmounts the layers in `remove`. Mounts the layers that the machine got in [`MachineRequest::Layers`]. The
    /// answer is [`MachineMessage::Mounted`].
    Remount {
        /// Layers to unmount.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LAYERS>")]
        remove: Vec<LayerId>,
    },
    /// Resumes a paused machine that was forked from another one. The machine gets its own identity, that is, new
    /// random numbers.
    Resume,
    /// Enables incremental updates of checkpoints that are forked from now on. Two descriptors follow: a file in memory
    /// for the pages that a checkpoint lacks, and the page map of the machine itself (proc_pid_pagemap(5)).
    EnableCheckpointUpdates,
    /// Commits the present state: the machine updates its checkpoint or forks a new one. It answers as after an
    /// [`MachineRequest::Execute`] with `checkpoint`: [`MachineMessage::CheckpointUpdated`] or [`MachineMessage::Forked`]. One
    /// descriptor may follow: the socket of the next checkpoint that the machine forks by itself.
    UpdateCheckpoint,
    /// Writes the difference from the base image to the first descriptor that follows. A second descriptor may follow:
    /// the page map of the machine itself (proc_pid_pagemap(5)).
    Snapshot,
    /// Restores the session from the file in the descriptor that follows.
    Restore {
        /// Number of changes of the session so far.
        generation: u64,
    },
    /// Copies files to this machine: the files in the working directory of the session in the descriptor that follows.
    /// The answer is [`MachineMessage::Recovered`].
    Recover,
    /// Parse a source text.
    Analyze(String),
    /// Runs a source text.
    Execute {
        /// Number of the execution in this machine, counted from 1. The signal that stops the execution has this
        /// number.
        number: u64,
        /// The source text and its settings.
        request: Box<Execute>,
        /// Directory whose files are listed after the execution. The list is the same as from [`FileRequest::List`].
        list: Option<String>,
        /// Whether the machine updates its checkpoint, or forks a new one, after it has sent the answer. It then
        /// reports which: [`MachineMessage::CheckpointUpdated`] or [`MachineMessage::Forked`]. One descriptor may follow: the
        /// socket of the next checkpoint that the machine forks by itself. The machine keeps the socket until then.
        checkpoint: bool,
    },
    /// Answer to a request of the guest ([`Event::Request`]).
    Answer {
        /// Number of the guest's request in this execution, counted from 1. The number is needed because an interrupted
        /// guest may have asked again.
        guest_request: u64,
        /// The answer.
        answer: MachineAnswer,
    },
    /// An operation on the guest's files.
    Files(FileRequest),
    /// Answer to [`MachineMessage::Module`].
    Module(ModuleReply),
    /// Answer to [`MachineMessage::Mount`].
    Mount(MountReply),
    /// Answer to [`MachineMessage::Network`]: the reason why there is no network. `None`: the socket follows.
    Network(Option<String>),
}

/// Answer to a request of the guest, as the machine gets it.
#[derive(Debug, Serialize, Deserialize)]
pub enum MachineAnswer {
    /// A line without its line end; `None` at the end of the input.
    Input(Option<String>),
    /// The end of an install request. Its layers have come before ([`MachineRequest::Layers`]).
    Install {
        /// Layers to unmount when the layers for this request are mounted.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LAYERS>")]
        remove: Vec<LayerId>,
        /// The answer to the guest.
        reply: InstallReply,
    },
}

/// Machine → server.
#[derive(Debug, Serialize, Deserialize)]
pub enum MachineMessage {
    /// First message of a forked machine that is ready. The kernel adds the sender's credentials.
    Hello {
        /// Process id of the machine in its own process namespace.
        pid: i32,
    },
    /// Answer to [`MachineRequest::Fork`]: the reason if the fork failed, otherwise `None`. It also follows an
    /// [`MachineRequest::Execute`] with `checkpoint`, and a [`MachineRequest::UpdateCheckpoint`].
    Forked(Option<String>),
    /// The machine has updated its checkpoint incrementally. It follows an [`MachineRequest::Execute`] with
    /// `checkpoint`, or a [`MachineRequest::UpdateCheckpoint`].
    CheckpointUpdated,
    /// Answer to [`MachineRequest::Snapshot`]: the number of changes of the session so far, or the reason why no
    /// snapshot can be written.
    SnapshotWritten(Result<u64, String>),
    /// Answer to [`MachineRequest::Restore`].
    Restored {
        /// Reason of the failure, if there was one. The machine is then unusable.
        failed: Option<String>,
        /// Guest paths of host directories that are no longer granted.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        revoked: Vec<String>,
        /// Layers that the machine has mounted now.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LAYERS>")]
        layers: Vec<LayerId>,
    },
    /// Answer to [`MachineRequest::Recover`]: the reason if it failed, otherwise `None`.
    Recovered(Option<String>),
    /// Answer to [`MachineRequest::Remount`]. It also reports whether the layers of a [`MachineAnswer::Install`] could
    /// be mounted, if the install reply was [`InstallReply::Done`].
    Mounted(Result<(), LayerProblem>),
    /// Answer to [`MachineRequest::Analyze`].
    Analyzed(Analysis),
    /// An event of the running code.
    Event(Event),
    /// Answer to [`MachineRequest::Execute`].
    Done {
        /// Outcome of the execution.
        outcome: Box<Outcome>,
        /// The files, or the error if they cannot be listed. `None` if the request had no `list`.
        listed: Option<Result<FileReply, FileError>>,
    },
    /// Answer to [`MachineRequest::Files`]: the reply, or the reason of the refusal.
    Files(Result<FileReply, FileError>),
    /// The guest's process has ended itself (`os._exit`, `abort`), or it cannot continue after a fault.
    Ended {
        /// How the process ended.
        ending: Ending,
        /// Number of output bytes that were dropped before the end.
        output_dropped: u64,
    },
    /// The machine needs a compiled module.
    Module(ModuleRequest),
    /// An operation on a granted host directory.
    Mount(MountRequest),
    /// The machine needs a socket to the gateway.
    Network,
}

/// Reason for the end of a guest's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// `os._exit` or C's `exit`.
    Exit(i32),
    /// `abort`, a fatal Python error.
    Abort,
    /// A wasm trap: memory fault, stack exhausted, bad indirect call.
    Trap(String),
}
