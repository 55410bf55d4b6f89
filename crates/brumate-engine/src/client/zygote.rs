//! The server's side of a zygote: start it, ask it for machines, hear how they end.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::{mpsc, oneshot};

use super::channel::{AsyncChannel, pair};
use super::compiler::{Compilers, Trust};
use super::error::{Error, cut};
use super::patience::Patience;
use super::spawn::{Child, spawn};
use super::stop::Clock;
use crate::code::cache::ModuleCache;
use crate::code::compile::Kind;
use crate::wire::{FromZygote, ModuleReply, ModuleRequest, ToZygote};

/// Requests waiting for a zygote.
const QUEUE: usize = 1024;

/// How a machine's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) signal: Option<i32>,
}

/// What a zygote is asked for.
enum Request {
    /// A machine, that speaks on `socket`.
    Fork { id: u64, socket: OwnedFd, exit: oneshot::Sender<Exit> },
    /// News of a process that a machine forked.
    Watch { pid: i32, exit: oneshot::Sender<Exit> },
}

/// A running zygote.
#[derive(Debug)]
pub(crate) struct Zygote {
    requests: mpsc::Sender<Request>,
    next_id: AtomicU64,
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
    pub(crate) patience: Patience,
    pub(crate) cache: &'a ModuleCache,
    pub(crate) compilers: &'a Compilers,
}

/// Starts the jailed process, gives it its first message, and serves it until it says that it is done.
async fn start(
    ingredients: Ingredients<'_>,
    first: ToZygote,
    image: &File,
) -> Result<(AsyncChannel, Child, FromZygote), Error> {
    let (mut channel, theirs) = pair()?;
    let child = spawn(ingredients.program, "zygote", theirs)?;
    let fds = [ingredients.main.as_fd(), ingredients.trampoline.as_fd(), image.as_fd()];
    // One that has ended already may have left word why: a failure to send shows when receiving.
    let _ = channel.send(&first, &fds).await;
    // Beside the whole of it: a zygote that keeps asking, or reads no answer, has no more time.
    let clock = Clock::start(ingredients.patience.boot);
    let done = tokio::select! {
        biased;
        () = clock.passes() => return Err(unavailable("the zygote does not start".to_owned())),
        done = started(&mut channel, ingredients, &clock) => done?,
    };
    Ok((channel, child, done))
}

fn unavailable(reason: String) -> Error {
    Error::Unavailable(reason)
}

/// Serves a zygote's questions until it says that it is done.
async fn started(channel: &mut AsyncChannel, ingredients: Ingredients<'_>, clock: &Clock) -> Result<FromZygote, Error> {
    let ended = |error| unavailable(format!("the zygote ended while it started: {error}"));
    let mut pauses = crate::bundle::native_modules().len();
    loop {
        match channel.receive::<FromZygote>().await.map_err(ended)? {
            done @ (FromZygote::Ready { .. } | FromZygote::Built) => return Ok(done),
            FromZygote::Failed(reason) => return Err(unavailable(cut(reason))),
            FromZygote::Module(request) => {
                let compiles_bundle = compiles_bundle(ingredients.cache, &request);
                let answered = answer(ingredients.cache, ingredients.compilers, request);
                let (reply, file) = if compiles_bundle && pauses > 0 {
                    pauses -= 1;
                    clock.paused(answered).await
                } else {
                    answered.await
                };
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
/// When it does not start; the text says why.
pub(crate) async fn build(ingredients: Ingredients<'_>, modules: &[String], output: &File) -> Result<(), Error> {
    let first = ToZygote::Build { require_jail: ingredients.require_jail, preload: modules.to_vec() };
    match start(ingredients, first, output).await? {
        (_, _, FromZygote::Built) => Ok(()),
        (_, _, other) => Err(Error::Unavailable(format!("the builder said {other:?}"))),
    }
}

impl Zygote {
    /// Starts a zygote and waits until it has loaded its image.
    ///
    /// # Errors
    /// When it does not start; the text says why.
    pub(crate) async fn start(ingredients: Ingredients<'_>, image: &File) -> Result<Zygote, Error> {
        let first = ToZygote::Load { require_jail: ingredients.require_jail, brief: ingredients.brief };
        let (channel, child, FromZygote::Ready { missing_walls }) = start(ingredients, first, image).await? else {
            return Err(Error::Unavailable("the zygote is none".to_owned()));
        };
        let (requests, receiver) = mpsc::channel(QUEUE);
        let alive = Arc::new(AtomicBool::new(true));
        let missing_walls = missing_walls.into_iter().map(cut).collect();
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
        self.request(Request::Fork { id, socket, exit }).await?;
        Ok(receiver)
    }

    /// Hears how a process ends that a machine forked.
    ///
    /// # Errors
    /// When the zygote is gone.
    pub(crate) async fn watch(&self, pid: i32) -> Result<oneshot::Receiver<Exit>, Error> {
        let (exit, receiver) = oneshot::channel();
        self.request(Request::Watch { pid, exit }).await?;
        Ok(receiver)
    }

    async fn request(&self, request: Request) -> Result<(), Error> {
        let sent = self.requests.send(request).await;
        sent.map_err(|_| Error::Unavailable("the zygote is gone".to_owned()))
    }
}

/// Who waits for news of which process.
#[derive(Default)]
struct Waiting {
    by_id: HashMap<u64, oneshot::Sender<Exit>>,
    by_pid: HashMap<i32, oneshot::Sender<Exit>>,
    /// Ends nobody has asked for yet.
    early: HashMap<i32, Exit>,
}

/// Ends that are remembered before they are asked for.
const MAX_EARLY: usize = 1024;

impl Waiting {
    fn watch(&mut self, pid: i32, sender: oneshot::Sender<Exit>) {
        match self.early.remove(&pid) {
            Some(exit) => drop(sender.send(exit)),
            None => drop(self.by_pid.insert(pid, sender)),
        }
    }

    /// Waits until no machine is in use any more.
    async fn given_up(&mut self) {
        for exit in self.by_id.values_mut().chain(self.by_pid.values_mut()) {
            exit.closed().await;
        }
    }

    fn ended(&mut self, id: u64, pid: i32, exit: Exit) {
        let waiting = if id == 0 { self.by_pid.remove(&pid) } else { self.by_id.remove(&id) };
        match waiting {
            Some(sender) => drop(sender.send(exit)),
            None if id == 0 => {
                if self.early.len() >= MAX_EARLY {
                    self.early.clear();
                }
                self.early.insert(pid, exit);
            }
            None => {}
        }
    }
}

/// Speaks to the zygote until it ends, or until nobody wants machines of it and those it has are given up.
async fn supervise(
    mut channel: AsyncChannel,
    mut child: Child,
    mut requests: mpsc::Receiver<Request>,
    alive: Arc<AtomicBool>,
) {
    let mut waiting = Waiting::default();
    let mut retired = false;
    loop {
        tokio::select! {
            request = requests.recv(), if !retired => match request {
                None => retired = true,
                Some(Request::Watch { pid, exit }) => waiting.watch(pid, exit),
                Some(Request::Fork { id, socket, exit }) => {
                    waiting.by_id.insert(id, exit);
                    if channel.send(&ToZygote::Fork { id }, &[socket.as_fd()]).await.is_err() {
                        break;
                    }
                }
            },
            () = waiting.given_up(), if retired => break,
            message = channel.receive::<FromZygote>() => match message {
                Ok(FromZygote::Exited { id, pid, signal, .. }) => waiting.ended(id, pid, Exit { signal }),
                Ok(FromZygote::ForkFailed { id, reason }) => {
                    if waiting.by_id.remove(&id).is_some() {
                        tracing::error!(reason = cut(reason), "a machine could not be forked");
                    }
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

/// Whether answering means to compile a module of the bundle.
pub(crate) fn compiles_bundle(cache: &ModuleCache, request: &ModuleRequest) -> bool {
    match request {
        ModuleRequest::Key(key) => cache.get(key).is_none() && crate::bundle::native_module(key).is_some(),
        ModuleRequest::Bytes(_) => false,
    }
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
