//! The order for a machine: its image, limits, directories, input and wheels.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{Image, Layer, Limits, NetworkAccess};

/// Host directory that is granted to one machine. Opened by the server as a handle; the guest never sees the host path.
#[derive(Debug, Clone)]
pub struct Mount {
    /// Directory on the host.
    pub host: PathBuf,
    /// Absolute path inside the guest.
    pub guest: String,
    /// Refuse every change.
    pub read_only: bool,
}

/// Pipes to a program in a machine that serves messages.
#[derive(Debug)]
pub struct MessagePipes {
    /// The program reads messages from it. Its end is the end of the messages.
    pub input: OwnedFd,
    /// The program writes messages to it.
    pub output: OwnedFd,
}

impl MessagePipes {
    /// Duplicates the descriptors.
    ///
    /// # Errors
    ///
    /// The system's error, for example when too many files are open.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { input: self.input.try_clone()?, output: self.output.try_clone()? })
    }
}

/// Order for a machine.
#[derive(Debug, Default)]
pub struct MachineSpec {
    /// The principal that the machine belongs to. Principals take turns where machines have something done for them, such as compiling a module of their own.
    /// Default: one that has no name.
    pub principal: Arc<str>,
    /// What it is forked from. One that is not built yet is replaced by [`Image::plain`].
    pub image: Image,
    /// Limits of this machine.
    pub limits: Limits,
    /// Granted host directories.
    pub mounts: Vec<Mount>,
    /// Read end of the guest's standard input; `None` is an empty input.
    pub stdin: Option<OwnedFd>,
    /// Pipes that the guest has as its descriptor for messages; `None`: it has none.
    pub messages: Option<MessagePipes>,
    /// Wheels that are mounted before anything runs. With one that takes the place of something that is imported in `image`,
    /// the machine is forked from [`Image::plain`].
    pub layers: Vec<Layer>,
    /// The way to other hosts. `None`: there is no network.
    pub network: Option<Arc<dyn NetworkAccess>>,
    /// File of the image that came with the session that is resumed. It is used if the engine has no image with the same
    /// content, and only for this session. Other machines ignore it.
    pub private_image: Option<PathBuf>,
}
