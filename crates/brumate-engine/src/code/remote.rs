//! Compiled modules over the wire: a jailed process requests them from the server, which owns the cache and the
//! compilers.

#![expect(unsafe_code, reason = "maps machine code that the server has sent")]

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use wasmtime::{Engine, Module};

use super::compile;
use super::source::{Compiled, ModuleQuery, ModuleSource};
use crate::meter::Meter;
use crate::wire::{ModuleKey, ModuleReply, ModuleRequest, WireError};
use brumate_module::gate;

/// Sends a request and waits for the answer and its descriptor.
pub(crate) type Ask = Box<dyn FnMut(ModuleRequest) -> Result<(ModuleReply, Option<OwnedFd>), WireError> + Send>;

/// Requests each module from the server.
pub(crate) struct RemoteModules {
    ask: Ask,
    meter: Arc<Meter>,
}

impl RemoteModules {
    /// Returns a source that sends its requests through `ask`. CPU time of compiling is charged to `meter`.
    pub(crate) fn new(ask: Ask, meter: Arc<Meter>) -> RemoteModules {
        RemoteModules { ask, meter }
    }

    fn finish(engine: &Engine, reply: (ModuleReply, Option<OwnedFd>)) -> Result<Module, String> {
        match reply {
            (ModuleReply::Compiled, Some(fd)) => load(engine, fd),
            (ModuleReply::Failed(reason), _) => Err(reason),
            _ => Err("the server does not have the module".to_owned()),
        }
    }

    /// Gets a module of the guest's own compiled.
    fn own(&mut self, engine: &Engine, bytes: &[u8], memory: u64) -> Result<Compiled, String> {
        // Checked here first: the check counts as the guest's time, and a refused module starts no compiler.
        let counts = gate::check(bytes, &gate::GUEST).map_err(|error| error.to_string())?;
        if self.meter.is_used_up() {
            return Err("no CPU time is left to compile it".to_owned());
        }
        let request = ModuleRequest::Bytes { bytes: bytes.to_vec(), memory, cpu: self.meter.left() };
        match (self.ask)(request).map_err(gone)? {
            (ModuleReply::Charged { cpu, failed: None }, Some(fd)) => {
                self.meter.charge(cpu);
                let file = File::from(fd);
                let code = file.metadata().map_err(|error| error.to_string())?.len();
                let own_bytes = code.saturating_add(counts.instance_bytes());
                Ok(Compiled { module: load(engine, file.into())?, own_bytes })
            }
            (ModuleReply::Charged { cpu, failed: Some(reason) }, _) => {
                self.meter.charge(cpu);
                Err(reason)
            }
            reply => Self::finish(engine, reply).map(|module| Compiled { module, own_bytes: 0 }),
        }
    }
}

impl ModuleSource for RemoteModules {
    fn module(&mut self, engine: &Engine, query: ModuleQuery<'_>) -> Result<Compiled, String> {
        let ModuleQuery { key, origin, bytes, memory } = query;
        if bytes.len() > compile::MAX_MODULE {
            return Err(format!("a module of {} bytes is larger than allowed", bytes.len()));
        }
        let mut reply = (self.ask)(ModuleRequest::Key(key)).map_err(gone)?;
        if matches!(reply.0, ModuleReply::Unknown)
            && let Some(origin) = origin
        {
            reply = (self.ask)(ModuleRequest::Layer { key, origin: origin.clone() }).map_err(gone)?;
        }
        match reply.0 {
            ModuleReply::Unknown => self.own(engine, bytes, memory),
            _ => Self::finish(engine, reply).map(|module| Compiled { module, own_bytes: 0 }),
        }
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
    // SAFETY: `deserialize` trusts its input. The descriptor comes from the server alone (a guest cannot send one on
    // this connection). It is a file of the server's owner-only cache, checked against the name it got when it was
    // compiled, or a sealed file in memory that a compiler has just written; no process can change either while it is
    // mapped.
    unsafe { Module::deserialize_open_file(engine, File::from(fd)) }.map_err(|error| format!("{error:#}"))
}
