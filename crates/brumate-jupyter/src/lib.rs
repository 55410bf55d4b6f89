//! Sessions as Jupyter kernels (source: the Jupyter messaging specification 5.4).
//!
//! [`Kernel`] answers the requests of frontends by a session. [`serve`] gives it the five sockets of a connection file, and [`Gateway`]
//! serves many kernels over HTTP and WebSockets. Code in the session is hostile: it can send messages of a few kinds ([`FrontendKind`](brumate_engine_api::FrontendKind)), each checked and bounded,
//! and no others.

mod checkpoints;
mod connection_file;
mod gateway;
mod kernel;
mod kernel_info;
mod notebook;
mod requests;
mod zmq;

pub use brumate_jupyter_protocol::{Header, Message, MessageError, Signer};
pub use brumate_notebook::OutputPolicy;
pub use checkpoints::{MAX_CHECKPOINT_NAME, MAX_CHECKPOINTS};
pub use connection_file::{ConnectionFile, ConnectionFileError};
pub use gateway::{Caller, Gateway, refusal_body};
pub use kernel::{Destination, Frontends, Kernel, KernelSession, Peer, Shutdown};
pub use notebook::{CellFailure, NotebookEnd, NotebookRun};
pub use zmq::{KernelSockets, ServeError, serve};
