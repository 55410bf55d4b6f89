//! The interface between an engine and its users: what they say to each other, and the traits that an engine implements.
//!
//! An [`Engine`] makes [`Machine`]s, each of which runs one [`Execute`] at a time, reports [`Event`]s meanwhile and gives an
//! [`Outcome`]; and [`Session`]s, machines that keep their state. An [`InterruptHandle`] stops them and answers what they ask.
//!
//! Requests, events and outcomes are plain data: an engine may send them to another process. Nothing here knows how a machine is
//! made, so users of an engine and their tests build without one.

#[doc(hidden)]
pub mod bounded;
mod engine;
mod error;
mod event;
mod execute;
mod files;
mod frontend;
mod guest_request;
mod image;
mod install;
mod layer;
mod limits;
mod machine;
mod machine_spec;
mod network;
mod outcome;
mod preparing;
mod session;

pub use engine::Engine;
pub use error::{EngineError, ExitReason, FileError};
pub use event::{Event, MAX_MIME_TYPES, MimeBundle, StreamName};
pub use execute::{Analysis, COMMAND_NAME, Execute, ExecuteMode, MAX_ARGUMENTS, MAX_NAMES, ServerTarget};
pub use files::{FileChunk, FileInfo, MAX_FILE_CHUNK, MAX_LISTED_FILES, MAX_NEW_FILES, WORKSPACE};
pub use frontend::{FrontendKind, FrontendMessage, FrontendRequest, MAX_BUFFERS};
pub use guest_request::{GuestAnswer, GuestRequest, MAX_INPUT, MAX_PROMPT, RequestBody};
pub use image::Image;
pub use install::{
    InstallAnswer, InstallRequest, MAX_MODULES, MAX_REFUSAL, MAX_REQUIREMENT, MAX_REQUIREMENTS, MissingModule,
};
pub use layer::{Layer, LayerId, MAX_LAYER_BYTES, MAX_LAYER_NAME, MAX_LAYERS, PACKAGES};
pub use limits::Limits;
pub use machine::{InterruptHandle, Machine};
pub use machine_spec::{MachineSpec, MessagePipes, Mount};
pub use network::NetworkAccess;
pub use outcome::{Ended, Outcome, ReturnValue, StopReason};
pub use preparing::Preparing;
pub use session::{CellAndFiles, Session, SessionFiles, SessionTransaction};

/// The examples of the README are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
