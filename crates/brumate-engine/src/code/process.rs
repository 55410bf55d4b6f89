//! The process that compiles, and the server's messages to it.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use wasmtime::Engine;

use super::compile::{ModuleKind, Tier, Trust, compile};
use crate::channel::Channel;
use crate::engine::{Purpose, engine};
use crate::jail::{CompileLimits, enter_compile};
use crate::meter::cpu_time;
use crate::wire::WireError;

/// Server → compiler, after its [`CompileLimits`]; the output file follows.
#[derive(Debug, Serialize)]
pub(crate) struct CompileOrder<'a> {
    pub(crate) kind: ModuleKind,
    pub(crate) trust: Trust,
    pub(crate) tier: Tier,
    pub(crate) bytes: &'a [u8],
}

/// A [`CompileOrder`] as it is received.
#[derive(Debug, Deserialize)]
struct ReceivedOrder {
    kind: ModuleKind,
    trust: Trust,
    tier: Tier,
    bytes: Vec<u8>,
}

/// Compiler → server.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CompileReply {
    /// Why compiling failed.
    pub(crate) failed: Option<String>,
    /// CPU time of the process so far.
    pub(crate) cpu: Duration,
}

/// Runs `brumate internal compile`: compiles each order until the connection ends.
pub(crate) fn main(socket: OwnedFd) -> ExitCode {
    let channel = Channel::new(socket);
    match serve(&channel) {
        Ok(()) | Err(WireError::Closed) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(channel: &Channel) -> Result<(), WireError> {
    // Sent by the server before any untrusted bytes.
    let (limits, _): (CompileLimits, _) = channel.receive()?;
    if limits.one_core {
        share_a_core();
    }
    let jailed = enter_compile(limits);
    let mut engines = Engines { one_core: limits.one_core, baseline: None, optimized: None };
    loop {
        let (job, fds): (ReceivedOrder, _) = channel.receive()?;
        let Some(output) = fds.into_iter().next() else { return Err(WireError::MissingDescriptor) };
        let engine = jailed.as_ref().map_err(String::clone).and_then(|_| engines.of(job.tier));
        let compiled = engine.and_then(|engine| compile(engine, job.kind, job.trust, &job.bytes));
        let written = compiled.and_then(|code| {
            std::io::Write::write_all(&mut File::from(output), &code).map_err(|error| error.to_string())
        });
        channel.send(&CompileReply { failed: written.err(), cpu: cpu_time() })?;
    }
}

/// The engines of this process, made when they are needed.
struct Engines {
    one_core: bool,
    baseline: Option<Engine>,
    optimized: Option<Engine>,
}

impl Engines {
    /// Returns the engine that compiles in `tier`.
    fn of(&mut self, tier: Tier) -> Result<&Engine, String> {
        let (made, purpose) = match tier {
            Tier::Baseline => (&mut self.baseline, Purpose::CompileBaseline),
            Tier::Optimized if self.one_core => (&mut self.optimized, Purpose::CompileAlone),
            Tier::Optimized => (&mut self.optimized, Purpose::Compile),
        };
        match made {
            Some(engine) => Ok(engine),
            None => Ok(made.insert(engine(purpose).map_err(|error| format!("{error:#}"))?)),
        }
    }
}

/// Binds this process, which has one thread, to the last of its cores. All processes that compile for guests share it.
fn share_a_core() {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let Some(last) = (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu)) else { return };
    let mut one = CpuSet::new();
    one.set(last);
    // Fails if this system does not allow processes to choose their CPUs; the other limits still hold.
    let _ = sched_setaffinity(None, &one);
}
