//! Compiled modules over the wire: a jailed process asks the server, which owns the cache and the compilers.

use std::fs::File;
use std::os::fd::OwnedFd;

use wasmtime::{Engine, Module};

use super::compile;
use super::source::ModuleSource;
use crate::wire::{ModuleKey, ModuleReply, ModuleRequest, Origin, WireError};

/// Sends a request and waits for the answer and its descriptor.
pub(crate) type Ask = Box<dyn FnMut(ModuleRequest) -> Result<(ModuleReply, Option<OwnedFd>), WireError>>;

/// Asks the server for each module.
pub(crate) struct RemoteModules {
    ask: Ask,
}

impl RemoteModules {
    /// A source that sends its questions through `ask`.
    pub(crate) fn new(ask: Ask) -> RemoteModules {
        RemoteModules { ask }
    }
}

impl RemoteModules {
    fn finish(engine: &Engine, reply: (ModuleReply, Option<OwnedFd>)) -> Result<Module, String> {
        match reply {
            (ModuleReply::Compiled, Some(fd)) => load(engine, fd),
            (ModuleReply::Failed(reason), _) => Err(reason),
            _ => Err("the server does not have the module".to_owned()),
        }
    }
}

impl ModuleSource for RemoteModules {
    fn module(
        &mut self,
        engine: &Engine,
        key: ModuleKey,
        origin: Option<&Origin>,
        bytes: &[u8],
    ) -> Result<Module, String> {
        if bytes.len() > compile::MAX_MODULE {
            return Err(format!("a module of {} bytes is larger than allowed", bytes.len()));
        }
        let mut reply = (self.ask)(ModuleRequest::Key(key)).map_err(gone)?;
        if matches!(reply.0, ModuleReply::Unknown)
            && let Some(origin) = origin
        {
            reply = (self.ask)(ModuleRequest::Layer { key, origin: origin.clone() }).map_err(gone)?;
        }
        if matches!(reply.0, ModuleReply::Unknown) {
            reply = (self.ask)(ModuleRequest::Bytes(bytes.to_vec())).map_err(gone)?;
        }
        Self::finish(engine, reply)
    }

    fn bundled(&mut self, engine: &Engine, key: ModuleKey) -> Result<Module, String> {
        let reply = (self.ask)(ModuleRequest::Key(key)).map_err(gone)?;
        Self::finish(engine, reply)
    }
}

fn gone(error: WireError) -> String {
    format!("the server does not answer: {error}")
}

/// Maps a compiled module.
///
/// # Errors
/// When it was compiled for another engine or CPU.
pub(crate) fn load(engine: &Engine, fd: OwnedFd) -> Result<Module, String> {
    // SAFETY: `deserialize` trusts its input. The descriptor comes from the server alone (a guest cannot put one on this
    // connection). It is a file of the server's owner-only cache, checked against the name it got when it was compiled, or
    // a sealed file in memory that a compiler has just written; nobody can change either while it is mapped.
    unsafe { Module::deserialize_open_file(engine, File::from(fd)) }.map_err(|error| format!("{error:#}"))
}
