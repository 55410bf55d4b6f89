//! Compiling modules in jailed processes of their own, into the cache.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::channel::{AsyncChannel, pair};
use super::error::Error;
use super::spawn::{Child, spawn};
use crate::channel::Channel;
use crate::code::cache::ModuleCache;
use crate::code::compile::{self, Kind, compile as compile_module};
use crate::engine::{Purpose, engine};
use crate::wire::{ModuleKey, WireError};

/// Longest compilation of one module.
const COMPILE_TIMEOUT: Duration = Duration::from_secs(300);

/// Server → compiler; the output file follows.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    kind: Kind,
    bytes: Vec<u8>,
}

/// Compiler → server.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Compiled,
    Failed(String),
}

/// `brumate internal compile`: compiles what it is given until the connection ends.
pub(crate) fn main(socket: OwnedFd) -> ExitCode {
    let channel = Channel::new(socket);
    match serve(&channel) {
        Ok(()) | Err(WireError::Closed) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(channel: &Channel) -> Result<(), WireError> {
    let ready =
        crate::jail_entry::enter_compile().and_then(|_| engine(Purpose::Compile).map_err(|error| format!("{error:#}")));
    loop {
        let (job, fds): (Job, _) = channel.receive()?;
        let Some(output) = fds.into_iter().next() else { return Err(WireError::MissingDescriptor) };
        let compiled = match &ready {
            Ok(engine) => compile_module(engine, job.kind, &job.bytes),
            Err(reason) => Err(reason.clone()),
        };
        let written = compiled.and_then(|code| {
            std::io::Write::write_all(&mut File::from(output), &code).map_err(|error| error.to_string())
        });
        channel.send(&match written {
            Ok(()) => Answer::Compiled,
            Err(reason) => Answer::Failed(reason),
        })?;
    }
}

/// One compiler process.
struct Process {
    channel: AsyncChannel,
    _child: Child,
}

/// Compiles on demand; a compiler that saw a guest's own bytes is not used for anything else afterwards.
#[derive(Debug)]
pub(crate) struct Compilers {
    program: PathBuf,
    cache: Arc<ModuleCache>,
    /// One compilation a core.
    permits: Semaphore,
    /// Idle processes that have only seen modules of the bundle.
    idle: Mutex<Vec<Process>>,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Process")
    }
}

/// Whose bytes are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Of the bundle.
    Bundle,
    /// Of a wheel that the operator lets in: strangers' bytes, but the same for everyone who asks for them, and as large as the
    /// cache of wheels allows. What comes of them is kept.
    Layer,
    /// A guest's.
    Guest,
}

impl Compilers {
    pub(crate) fn new(program: PathBuf, cache: Arc<ModuleCache>) -> Compilers {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Compilers { program, cache, permits: Semaphore::new(cores), idle: Mutex::new(Vec::new()) }
    }

    /// The compiled module, from the cache or made now.
    ///
    /// # Errors
    /// When it does not compile.
    pub(crate) async fn module(&self, kind: Kind, bytes: &[u8], name: &str, trust: Trust) -> Result<Arc<File>, Error> {
        let key = compile::key(bytes);
        if let Some(file) = self.cache.get(&key) {
            return Ok(file);
        }
        let _permit = self.permits.acquire().await.map_err(|_| Error::Unavailable("shutting down".to_owned()))?;
        if let Some(file) = self.cache.get(&key) {
            return Ok(file);
        }
        let failed = |reason: String| Error::Compile { name: name.to_owned(), reason };
        let mut process = match self.take_idle() {
            Some(process) if trust == Trust::Bundle => process,
            _ => self.start()?,
        };
        let mut output = File::from(memory_file("module")?);
        let job = Job { kind, bytes: bytes.to_vec() };
        let answer = tokio::time::timeout(COMPILE_TIMEOUT, async {
            process.channel.send(&job, &[output.as_fd()]).await?;
            process.channel.receive::<Answer>().await
        })
        .await;
        match answer {
            Err(_) => Err(failed(format!("it takes longer than {} s", COMPILE_TIMEOUT.as_secs()))),
            Ok(Err(error)) => Err(failed(format!("the compiler ended: {error}"))),
            Ok(Ok(Answer::Failed(reason))) => Err(failed(reason)),
            Ok(Ok(Answer::Compiled)) => match trust {
                Trust::Bundle => {
                    self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(process);
                    self.store(&key, &mut output)
                }
                Trust::Layer => {
                    drop(process);
                    self.store(&key, &mut output)
                }
                Trust::Guest => {
                    drop(process);
                    seal(output)
                }
            },
        }
    }

    /// Ends the idle compilers.
    pub(crate) fn rest(&self) {
        self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
    }

    fn take_idle(&self) -> Option<Process> {
        self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop()
    }

    fn start(&self) -> Result<Process, Error> {
        let (channel, theirs) = pair()?;
        let child = spawn(&self.program, "compile", theirs)?;
        Ok(Process { channel, _child: child })
    }

    /// Copies what the compiler wrote into the cache: its own descriptor must not reach the file that is trusted later.
    fn store(&self, key: &ModuleKey, output: &mut File) -> Result<Arc<File>, Error> {
        output.rewind()?;
        let mut file = self.cache.create()?;
        let mut limited = output.take(MAX_CODE);
        std::io::copy(&mut limited, file.as_file_mut())?;
        Ok(self.cache.commit(key, file)?)
    }
}

/// Largest compiled module, in bytes.
const MAX_CODE: u64 = 1 << 30;

/// A file in memory for a jailed process to write into.
pub(super) fn memory_file(name: &str) -> std::io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?)
}

/// Makes what was compiled from a guest's bytes unchangeable. It is not kept: a guest must not fill the disk.
fn seal(output: File) -> Result<Arc<File>, Error> {
    use rustix::fs::{SealFlags, fcntl_add_seals};
    fcntl_add_seals(&output, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)
        .map_err(std::io::Error::from)?;
    if output.metadata()?.len() > MAX_CODE {
        return Err(Error::Compile { name: "a module of the guest".to_owned(), reason: "too much code".to_owned() });
    }
    Ok(Arc::new(output))
}
