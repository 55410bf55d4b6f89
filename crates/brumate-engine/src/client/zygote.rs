//! The server's side of a zygote: starts it, requests machines, and receives exit reports.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::bytecode::module_of;
use super::channel::{AsyncChannel, pair};
use super::compiler::{AHEAD_NICE, CompileRequester, Compilers, GuestModule, Urgency};
use super::error::truncate_bytes;
use super::mounted;
use super::spawn::{Child, spawn};
use super::startup_timeouts::StartupTimeouts;
use super::stop::Clock;
use crate::api::{EngineError, Layer, LayerId};
use crate::code::compile;
use crate::wire::{FromInit, FromZygote, ModuleReply, ModuleRequest, ToZygote, WireError};

/// Principal of modules that an image's own code brings.
const OPERATOR: &str = "";

/// Requests waiting for a zygote.
const QUEUE: usize = 1024;

/// How a machine's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) signal: Option<i32>,
    /// Largest resident memory, in bytes, including shared memory.
    pub(crate) peak_memory_bytes: Option<u64>,
}

/// Largest plausible peak memory, in bytes. Larger reported values are discarded.
const MAX_PEAK: u64 = 1 << 40;

/// A request to a zygote, or to the first process of its jail.
enum ZygoteRequest {
    /// Fork a machine with this socket.
    Fork(OwnedFd),
    /// Report the end of a machine.
    Watch { pid: i32, exit: oneshot::Sender<Exit> },
}

/// A running zygote.
#[derive(Debug)]
pub(crate) struct Zygote {
    requests: mpsc::Sender<ZygoteRequest>,
    alive: Arc<AtomicBool>,
    missing_walls: Vec<String>,
}

/// What zygotes and builders are started from.
#[derive(Clone, Copy)]
pub(crate) struct Ingredients<'a> {
    pub(crate) program: &'a std::path::Path,
    pub(crate) main: &'a File,
    pub(crate) trampoline: &'a File,
    pub(crate) require_jail: bool,
    pub(crate) brief: bool,
    pub(crate) startup_timeouts: StartupTimeouts,
    pub(crate) compilers: &'a Compilers,
    /// The urgency of what is started.
    pub(crate) urgency: Urgency,
    /// Mounted in the image.
    pub(crate) layers: &'a [Layer],
}

/// Starts the jailed process, sends its first message, and serves it until it is ready.
async fn start(
    ingredients: Ingredients<'_>,
    first: ToZygote,
    image: &File,
    reports: Option<OwnedFd>,
) -> Result<(AsyncChannel, Child, FromZygote), EngineError> {
    let (mut channel, theirs) = pair()?;
    let child = spawn(ingredients.program, "zygote", theirs)?;
    if matches!(first, ToZygote::Build { .. }) && ingredients.urgency == Urgency::Ahead {
        child.let_others_go_first(AHEAD_NICE);
    }
    let mut fds = vec![ingredients.main.as_fd(), ingredients.trampoline.as_fd(), image.as_fd()];
    fds.extend(crate::bundle::pack::file().map(AsFd::as_fd));
    fds.extend(reports.as_ref().map(AsFd::as_fd));
    // A failed send is ignored: the process may have ended and sent the reason, which is received below.
    let _ = channel.send(&first, &fds).await;
    for (layers, fds) in mounted::messages(ingredients.layers) {
        let _ = channel.send(&ToZygote::Layers(layers), &fds).await;
    }
    // Closed so that the end of the process is detected.
    drop(fds);
    drop(reports);
    // The limit includes all requests: a zygote that keeps sending them, or reads no answer, gets no more time.
    let clock = Clock::start(ingredients.startup_timeouts.boot);
    let done = tokio::select! {
        biased;
        () = clock.passes() => return Err(unavailable("the zygote does not start".to_owned())),
        done = started(&mut channel, ingredients, &clock) => done?,
    };
    Ok((channel, child, done))
}

fn unavailable(reason: String) -> EngineError {
    EngineError::Unavailable(reason)
}

/// Most memory for compiling a module that an image's own code brings, in bytes.
const BUILD_MEMORY: u64 = 1 << 30;

/// Most CPU time for compiling such modules while one image is built. No run is charged.
const BUILD_CPU: Duration = Duration::from_secs(60);

/// Serves a zygote's requests until it is ready.
async fn started(
    channel: &mut AsyncChannel,
    ingredients: Ingredients<'_>,
    clock: &Clock,
) -> Result<FromZygote, EngineError> {
    let ended = |error| unavailable(format!("the zygote ended while it started: {error}"));
    let mut pauses = crate::bundle::native_modules().len();
    let mut spent = Duration::ZERO;
    loop {
        match channel.receive::<FromZygote>().await.map_err(ended)? {
            done @ (FromZygote::Ready { .. } | FromZygote::Built) => return Ok(done),
            FromZygote::Failed(reason) => return Err(unavailable(truncate_bytes(reason))),
            FromZygote::Module(request) => {
                let compiles_bundle = compiles_bundle(ingredients.compilers, &request);
                let find = |id: &LayerId| ingredients.layers.iter().find(|layer| layer.id() == *id).cloned();
                let cpu = BUILD_CPU.saturating_sub(spent);
                let requester =
                    CompileRequester { principal: OPERATOR, urgency: ingredients.urgency, memory: BUILD_MEMORY, cpu };
                let answered = answer(ingredients.compilers, &find, requester, request);
                let (reply, file, cpu) = if compiles_bundle && pauses > 0 {
                    pauses -= 1;
                    clock.paused(answered).await
                } else {
                    answered.await
                };
                spent += cpu;
                let fds: Vec<_> = file.iter().map(|file| file.as_fd()).collect();
                channel.send(&ToZygote::Module(reply), &fds).await.map_err(ended)?;
            }
            _ => return Err(unavailable("the zygote broke the protocol while it started".to_owned())),
        }
    }
}

/// Boots an interpreter with `modules` imported and writes its image to `output`.
///
/// # Errors
/// If it does not start; the text has the reason.
pub(crate) async fn build(ingredients: Ingredients<'_>, modules: &[String], output: &File) -> Result<(), EngineError> {
    let (require_jail, layers) = (ingredients.require_jail, ingredients.layers.len() as u32);
    let first = ToZygote::Build { require_jail, preload: modules.to_vec(), layers };
    match start(ingredients, first, output, None).await? {
        (_, _, FromZygote::Built) => Ok(()),
        _ => Err(EngineError::Unavailable("the builder of the image said something else".to_owned())),
    }
}

impl Zygote {
    /// Starts a zygote and waits until it has loaded its image.
    ///
    /// # Errors
    /// If it does not start; the text has the reason.
    pub(crate) async fn start(ingredients: Ingredients<'_>, image: &File) -> Result<Zygote, EngineError> {
        let layers = ingredients.layers.len() as u32;
        let first = ToZygote::Load { require_jail: ingredients.require_jail, brief: ingredients.brief, layers };
        let (reports, theirs) = pair()?;
        let started = start(ingredients, first, image, Some(theirs)).await?;
        let (channel, child, FromZygote::Ready { missing_walls }) = started else {
            return Err(EngineError::Unavailable("the zygote is none".to_owned()));
        };
        let (requests, receiver) = mpsc::channel(QUEUE);
        let alive = Arc::new(AtomicBool::new(true));
        let missing_walls = missing_walls.into_iter().map(truncate_bytes).collect();
        let jail = Jail { zygote: Some(channel), reports, child, alive: alive.clone() };
        tokio::spawn(jail.supervise(receiver));
        Ok(Zygote { requests, alive, missing_walls })
    }

    /// Returns `false` once its process has ended.
    pub(crate) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Walls that could not be raised, with reasons.
    pub(crate) fn missing_walls(&self) -> &[String] {
        &self.missing_walls
    }

    /// Requests a machine with `socket`. If the zygote has ended, the socket is closed.
    ///
    /// # Errors
    /// When its jail is gone.
    pub(crate) async fn fork(&self, socket: OwnedFd) -> Result<(), EngineError> {
        self.request(ZygoteRequest::Fork(socket)).await
    }

    /// Returns a receiver for the exit of the process with the number `pid` in the jail.
    ///
    /// # Errors
    /// When the jail is gone.
    pub(crate) async fn watch(&self, pid: i32) -> Result<oneshot::Receiver<Exit>, EngineError> {
        let (exit, receiver) = oneshot::channel();
        self.request(ZygoteRequest::Watch { pid, exit }).await?;
        Ok(receiver)
    }

    async fn request(&self, request: ZygoteRequest) -> Result<(), EngineError> {
        let sent = self.requests.send(request).await;
        sent.map_err(|_| EngineError::Unavailable("the zygote is gone".to_owned()))
    }
}

/// The receivers of exit reports, by process.
#[derive(Default)]
struct ExitListeners {
    by_pid: HashMap<i32, oneshot::Sender<Exit>>,
    /// Exits that were reported before [`Zygote::watch`].
    early: HashMap<i32, Exit>,
}

/// Most exits that are kept before they are requested.
const MAX_EARLY: usize = 1024;

impl ExitListeners {
    fn watch(&mut self, pid: i32, sender: oneshot::Sender<Exit>) {
        match self.early.remove(&pid) {
            Some(exit) => drop(sender.send(exit)),
            None => match self.by_pid.entry(pid) {
                // The machine reports its own number: it must not get the report of another one.
                Entry::Occupied(entry) if !entry.get().is_closed() => {}
                entry => drop(entry.insert_entry(sender)),
            },
        }
    }

    /// Waits until no machine is in use any more.
    async fn given_up(&mut self) {
        for exit in self.by_pid.values_mut() {
            exit.closed().await;
        }
    }

    fn ended(&mut self, pid: i32, exit: Exit) {
        match self.by_pid.remove(&pid) {
            Some(sender) => drop(sender.send(exit)),
            None => {
                if self.early.len() >= MAX_EARLY {
                    self.early.clear();
                }
                self.early.insert(pid, exit);
            }
        }
    }
}

/// A zygote, its machines, and the first process of their jail.
struct Jail {
    /// `None` if it has ended: its machines continue.
    zygote: Option<AsyncChannel>,
    reports: AsyncChannel,
    child: Child,
    alive: Arc<AtomicBool>,
}

impl Jail {
    /// Serves requests until the jail ends, or until all handles of the zygote are dropped and no machine is in use.
    async fn supervise(mut self, mut requests: mpsc::Receiver<ZygoteRequest>) {
        let mut waiting = ExitListeners::default();
        let mut retired = false;
        // Machines that were requested: at most so many forks can fail.
        let mut asked = 0_u64;
        loop {
            tokio::select! {
                request = requests.recv(), if !retired => match request {
                    None => retired = true,
                    Some(ZygoteRequest::Watch { pid, exit }) => waiting.watch(pid, exit),
                    Some(ZygoteRequest::Fork(socket)) => {
                        asked += 1;
                        self.fork(socket).await;
                    }
                },
                () = waiting.given_up(), if retired => break,
                message = receive_from(&mut self.zygote) => match message {
                    Ok(FromZygote::ForkFailed(reason)) if asked > 0 => {
                        asked -= 1;
                        tracing::error!(reason = truncate_bytes(reason), "a machine could not be forked");
                    }
                    Err(WireError::Closed | WireError::Io(_)) => self.lose_zygote(),
                    // It is compromised, and its machines may be as well.
                    Ok(_) | Err(_) => break,
                },
                report = self.reports.receive::<FromInit>() => match report {
                    Ok(FromInit::Exited { pid, signal, peak_memory_bytes }) => {
                        let peak_memory_bytes = Some(peak_memory_bytes).filter(|&bytes| bytes <= MAX_PEAK);
                        waiting.ended(pid, Exit { signal, peak_memory_bytes });
                    }
                    Err(_) => break,
                },
            }
        }
        let Jail { zygote, reports, mut child, alive } = self;
        alive.store(false, Ordering::Release);
        drop((zygote, reports));
        // Dropping the handle kills the process; waiting for it leaves no zombie.
        let _ = tokio::time::timeout(super::error::EXIT_TIMEOUT, child.wait()).await;
    }

    /// Requests a machine from the zygote. If that fails, the machine's socket is closed.
    async fn fork(&mut self, socket: OwnedFd) {
        if let Some(zygote) = &self.zygote
            && zygote.send(&ToZygote::Fork, &[socket.as_fd()]).await.is_err()
        {
            self.lose_zygote();
        }
    }

    fn lose_zygote(&mut self) {
        self.alive.store(false, Ordering::Release);
        self.zygote = None;
    }
}

/// Receives the next message of the zygote; waits forever if it has ended.
async fn receive_from(zygote: &mut Option<AsyncChannel>) -> Result<FromZygote, WireError> {
    match zygote {
        Some(zygote) => zygote.receive().await,
        None => std::future::pending().await,
    }
}

/// Whether the answer requires compiling a module of the bundle.
pub(crate) fn compiles_bundle(compilers: &Compilers, request: &ModuleRequest) -> bool {
    match request {
        ModuleRequest::Key(key) => compilers.cached(key).is_none() && crate::bundle::native_module(key).is_some(),
        ModuleRequest::Layer { .. } | ModuleRequest::Bytes { .. } => false,
    }
}

/// Answers a request for a module: from the cache, or by compiling a layer's or a guest's module. `find` has the layers
/// of the machine. Also returns the CPU time for the guest's own module.
pub(crate) async fn answer(
    compilers: &Compilers,
    find: &(dyn Fn(&LayerId) -> Option<Layer> + Sync),
    requester: CompileRequester<'_>,
    request: ModuleRequest,
) -> (ModuleReply, Option<Arc<File>>, Duration) {
    let shared = match request {
        ModuleRequest::Key(key) => {
            if let Some(file) = compilers.cached(&key) {
                Ok(file)
            } else if let Some(module) = crate::bundle::native_module(&key) {
                match module.read() {
                    Ok(bytes) => compilers.on_demand(&bytes, module.name(), requester.urgency).await,
                    Err(reason) => return (ModuleReply::Failed(reason), None, Duration::ZERO),
                }
            } else {
                return (ModuleReply::Unknown, None, Duration::ZERO);
            }
        }
        ModuleRequest::Layer { key, origin } => {
            let bytes = match find(&origin.layer) {
                Some(layer) => module_of(&layer, &origin.path).await.ok().filter(|bytes| compile::key(bytes) == key),
                None => None,
            };
            // Otherwise the guest has another file there, or claims so.
            let Some(bytes) = bytes else { return (ModuleReply::Unknown, None, Duration::ZERO) };
            compilers.of_wheel(&bytes, &origin.path, requester.principal).await
        }
        ModuleRequest::Bytes { bytes, memory, cpu } => {
            let requester =
                CompileRequester { memory: requester.memory.min(memory), cpu: requester.cpu.min(cpu), ..requester };
            let GuestModule { file, cpu } = compilers.of_guest(&bytes, requester).await;
            let (file, failed) = match file {
                Ok(file) => (Some(file), None),
                Err(error) => (None, Some(reason(error))),
            };
            return (ModuleReply::Charged { cpu, failed }, file, cpu);
        }
    };
    match shared {
        Ok(file) => (ModuleReply::Compiled, Some(file), Duration::ZERO),
        Err(error) => (ModuleReply::Failed(reason(error)), None, Duration::ZERO),
    }
}

fn reason(error: EngineError) -> String {
    match error {
        EngineError::Compile { reason, .. } => reason,
        error => error.to_string(),
    }
}
