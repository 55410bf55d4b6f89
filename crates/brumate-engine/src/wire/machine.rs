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
    /// First message. The descriptors follow: that of `stdin`, then the two of `messages`.
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
    /// Fork; the new machine's socket is the one descriptor that follows. It connects there and waits for
    /// [`MachineRequest::Resume`]; this one answers [`MachineMessage::Forked`].
    Fork {
        /// It is this machine's checkpoint, and shares its crash snapshot; otherwise it has none.
        checkpoint: bool,
        /// Whether the session is idle: saving memory is then more important than time.
        idle: bool,
    },
    /// Where to write crash snapshots: three descriptors follow, for this machine's, for its checkpoint's, and a byte of memory
    /// that both share.
    CrashSnapshot,
    /// Layers to be mounted or, before [`MachineRequest::Restore`], to be joined. The descriptors follow, in order: of each the archive
    /// and, if it has any, the bytecode.
    Layers {
        /// For the answer to this request of the guest; by itself otherwise.
        guest_request: Option<u64>,
        /// Which ones.
        #[serde(deserialize_with = "bounded::list::<_, _, LAYERS_AT_ONCE>")]
        layers: Vec<LayerInfo>,
    },
    /// Take these layers away and mount those that were given; answered by [`MachineMessage::Mounted`].
    Remount {
        /// What goes.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LAYERS>")]
        remove: Vec<LayerId>,
    },
    /// To a machine that was forked from another: go on, with an identity of its own.
    Resume,
    /// Two descriptors follow, by which the checkpoints that are forked from now on can follow: a file in memory, for what one lacks, and
    /// the machine's own page map (proc_pid_pagemap(5)).
    EnableCheckpointUpdates,
    /// The state counts now: let the checkpoint follow or fork it anew, and say which, as after a [`MachineRequest::Execute`] with a
    /// checkpoint. A descriptor, if one follows, is the socket of the next checkpoint that is forked so.
    UpdateCheckpoint,
    /// Write what differs from the base image to the descriptor that follows. A second one, if there is one, is the machine's
    /// own page map (proc_pid_pagemap(5)).
    Snapshot,
    /// Become what the descriptor that follows describes.
    Restore {
        /// Changes of the session so far.
        generation: u64,
    },
    /// Take over the files in the working directory of what the descriptor that follows describes; answered by
    /// [`MachineMessage::Recovered`].
    Recover,
    /// Parse a source text.
    Analyze(String),
    /// Run one.
    Execute {
        /// Which of this machine's executions, counted from 1: a stop names it.
        number: u64,
        /// What.
        request: Box<Execute>,
        /// Directory whose files are listed afterwards, as by [`FileRequest::List`].
        list: Option<String>,
        /// Once the answer is sent, let the checkpoint follow or fork it anew, as for [`MachineRequest::Fork`]; then say which
        /// ([`MachineMessage::CheckpointUpdated`], [`MachineMessage::Forked`]). A descriptor, if one follows, is the socket of the next checkpoint that is
        /// forked so: the machine keeps it until then.
        checkpoint: bool,
    },
    /// Answer to [`Event::InputRequest`].
    Input {
        /// To which one of this execution, counted from 1. A guest that was interrupted may have asked again.
        guest_request: u64,
        /// A line without its end; `None` is the end of the input.
        text: Option<String>,
    },
    /// Answer to [`Event::Install`].
    Install {
        /// To which request of the guest in this execution; they are counted together with those for input.
        guest_request: u64,
        /// What goes when the layers come that were given for it.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LAYERS>")]
        remove: Vec<LayerId>,
        /// The answer to the guest.
        reply: InstallReply,
    },
    /// An operation on the guest's files.
    Files(FileRequest),
    /// Answer to [`MachineMessage::Module`].
    Module(ModuleReply),
    /// Answer to [`MachineMessage::Mount`].
    Mount(MountReply),
}

/// Machine → server.
#[derive(Debug, Serialize, Deserialize)]
pub enum MachineMessage {
    /// Forked and ready; the kernel adds the sender's credentials.
    Hello {
        /// Its process, as it sees itself.
        pid: i32,
    },
    /// Answer to [`MachineRequest::Fork`]; the reason, if it failed. Also comes after a [`MachineRequest::Execute`] with a checkpoint.
    Forked(Option<String>),
    /// After a [`MachineRequest::Execute`]: the checkpoint is still good.
    CheckpointUpdated,
    /// Answer to [`MachineRequest::Snapshot`]: changes of the session so far, or why it cannot be kept.
    SnapshotWritten(Result<u64, String>),
    /// Answer to [`MachineRequest::Restore`].
    Restored {
        /// Why it failed; the machine is of no use then.
        failed: Option<String>,
        /// Guest paths of host directories that are not granted any more.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        revoked: Vec<String>,
        /// Layers that it has mounted.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LAYERS>")]
        layers: Vec<LayerId>,
    },
    /// Answer to [`MachineRequest::Recover`]: why it failed, if it did.
    Recovered(Option<String>),
    /// Answer to [`MachineRequest::Remount`], or what came of a [`MachineRequest::Install`] with layers.
    Mounted(Result<(), LayerProblem>),
    /// Answer to [`MachineRequest::Analyze`].
    Analyzed(Analysis),
    /// Something happened while code runs.
    Event(Event),
    /// Answer to [`MachineRequest::Execute`].
    Done {
        /// What came of it.
        outcome: Box<Outcome>,
        /// The files, if they were asked for, or why they cannot be listed.
        listed: Option<Result<FileReply, FileError>>,
    },
    /// Answer to [`MachineRequest::Files`], or why it was refused.
    Files(Result<FileReply, FileError>),
    /// The guest's process has ended of itself (`os._exit`, `abort`) or failed beyond repair.
    Ended {
        /// How.
        ending: Ending,
        /// Output bytes dropped until then.
        output_dropped: u64,
    },
    /// The machine needs a compiled module.
    Module(ModuleRequest),
    /// An operation on a granted host directory.
    Mount(MountRequest),
}

/// Why a guest's process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// `os._exit` or C's `exit`.
    Exit(i32),
    /// `abort`, a fatal Python error.
    Abort,
    /// A wasm trap: memory fault, stack exhausted, bad indirect call.
    Trap(String),
}
