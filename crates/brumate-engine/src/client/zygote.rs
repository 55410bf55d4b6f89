//! The server's side of a zygote: start it, ask it for machines, hear how they end.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::channel::{AsyncChannel, pair};
use super::compiler::{Compilers, Trust};
use super::error::Error;
use super::spawn::{Child, spawn};
use crate::code::cache::ModuleCache;
use crate::code::compile::Kind;
use crate::wire::{FromZygote, ModuleReply, ModuleRequest, ToZygote};

/// Requests waiting for a zygote.
const QUEUE: usize = 1024;

/// Longest a zygote may take to boot and import what it preloads.
const BOOT_TIMEOUT: Duration = Duration::from_secs(120);

/// How a machine's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) signal: Option<i32>,
}

/// A request to fork, with the two ends of the news about it.
struct Fork {
    id: u64,
    socket: OwnedFd,
    exit: oneshot::Sender<Exit>,
}

/// A running zygote.
#[derive(Debug)]
pub(crate) struct Zygote {
    requests: mpsc::Sender<Fork>,
    next_id: AtomicU64,
    alive: Arc<AtomicBool>,
    missing_walls: Vec<String>,
}

/// What a zygote is started from.
pub(crate) struct Ingredients<'a> {
    pub(crate) program: &'a std::path::Path,
    pub(crate) main: &'a File,
    pub(crate) trampoline: &'a File,
    pub(crate) preload: Vec<String>,
    pub(crate) require_jail: bool,
    pub(crate) cache: Arc<ModuleCache>,
    pub(crate) compilers: Arc<Compilers>,
}

impl Zygote {
    /// Starts a zygote and waits until it has booted.
    ///
    /// # Errors
    /// When it does not start; the text says why.
    pub(crate) async fn start(ingredients: Ingredients<'_>) -> Result<Zygote, Error> {
        let (mut channel, theirs) = pair()?;
        let child = spawn(ingredients.program, "zygote", theirs)?;
        let boot = ToZygote::Boot { preload: ingredients.preload, require_jail: ingredients.require_jail };
        let unavailable = |reason: String| Error::Unavailable(reason);
        let ended = |error| unavailable(format!("the zygote ended while it booted: {error}"));
        channel.send(&boot, &[ingredients.main.as_fd(), ingredients.trampoline.as_fd()]).await.map_err(ended)?;
        let deadline = tokio::time::Instant::now() + BOOT_TIMEOUT;
        let missing_walls = loop {
            let message = tokio::time::timeout_at(deadline, channel.receive::<FromZygote>()).await;
            let message = message.map_err(|_| unavailable("the zygote does not boot".to_owned()))?;
            match message.map_err(ended)? {
                FromZygote::Ready { missing_walls } => break missing_walls,
                FromZygote::Failed(reason) => return Err(unavailable(reason)),
                FromZygote::Module(request) => {
                    let (reply, file) = answer(&ingredients.cache, &ingredients.compilers, request).await;
                    let fds: Vec<_> = file.iter().map(|file| file.as_fd()).collect();
                    channel.send(&ToZygote::Module(reply), &fds).await.map_err(ended)?;
                }
                other => return Err(unavailable(format!("the zygote said {other:?} while it booted"))),
            }
        };
        let (requests, receiver) = mpsc::channel(QUEUE);
        let alive = Arc::new(AtomicBool::new(true));
        tokio::spawn(supervise(channel, child, receiver, alive.clone()));
        Ok(Zygote { requests, next_id: AtomicU64::new(1), alive, missing_walls })
    }

    /// False once its process has ended.
    pub(crate) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Walls that could not be raised, with reasons.
    pub(crate) fn missing_walls(&self) -> &[String] {
        &self.missing_walls
    }

    /// Asks for a machine that speaks on `socket`; the receiver hears how it ends.
    ///
    /// # Errors
    /// When the zygote is gone.
    pub(crate) async fn fork(&self, socket: OwnedFd) -> Result<oneshot::Receiver<Exit>, Error> {
        let (exit, receiver) = oneshot::channel();
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let gone = |_| Error::Unavailable("the zygote is gone".to_owned());
        self.requests.send(Fork { id, socket, exit }).await.map_err(gone)?;
        Ok(receiver)
    }
}

/// Speaks to the zygote until it or the server ends.
async fn supervise(
    mut channel: AsyncChannel,
    mut child: Child,
    mut requests: mpsc::Receiver<Fork>,
    alive: Arc<AtomicBool>,
) {
    let mut waiting: HashMap<u64, oneshot::Sender<Exit>> = HashMap::new();
    loop {
        tokio::select! {
            request = requests.recv() => {
                let Some(Fork { id, socket, exit }) = request else { break };
                waiting.insert(id, exit);
                if channel.send(&ToZygote::Fork { id }, &[socket.as_fd()]).await.is_err() {
                    break;
                }
            }
            message = channel.receive::<FromZygote>() => match message {
                Ok(FromZygote::Exited { id, signal, .. }) => {
                    if let Some(exit) = waiting.remove(&id) {
                        let _ = exit.send(Exit { signal });
                    }
                }
                Ok(FromZygote::ForkFailed { id, reason }) => {
                    tracing::error!(reason, "a machine could not be forked");
                    waiting.remove(&id);
                }
                Ok(_) => break,
                Err(_) => break,
            }
        }
    }
    alive.store(false, Ordering::Release);
    drop(channel);
    // Dropping the handle kills the process; waiting for it leaves no zombie.
    let _ = tokio::time::timeout(super::error::EXIT_TIMEOUT, child.wait()).await;
}

/// Answers a question for a module: from the cache, or by compiling what a guest brought.
pub(crate) async fn answer(
    cache: &ModuleCache,
    compilers: &Compilers,
    request: ModuleRequest,
) -> (ModuleReply, Option<Arc<File>>) {
    match request {
        ModuleRequest::Key(key) => {
            if let Some(file) = cache.get(&key) {
                return (ModuleReply::Compiled, Some(file));
            }
            match crate::bundle::native_module(&key) {
                Some(module) => match module.read() {
                    Ok(bytes) => compiled(compilers, &bytes, module.name(), Trust::Bundle).await,
                    Err(reason) => (ModuleReply::Failed(reason), None),
                },
                None => (ModuleReply::Unknown, None),
            }
        }
        ModuleRequest::Bytes(bytes) => compiled(compilers, &bytes, "a module of the guest", Trust::Guest).await,
    }
}

async fn compiled(compilers: &Compilers, bytes: &[u8], name: &str, trust: Trust) -> (ModuleReply, Option<Arc<File>>) {
    match compilers.module(Kind::Side, bytes, name, trust).await {
        Ok(file) => (ModuleReply::Compiled, Some(file)),
        Err(Error::Compile { reason, .. }) => (ModuleReply::Failed(reason), None),
        Err(error) => (ModuleReply::Failed(error.to_string()), None),
    }
}
