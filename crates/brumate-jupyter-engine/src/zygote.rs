//! The zygote: a process of the host's Python that has imported the modules of kernels, and forks kernels into jails.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use brumate_engine_api::EngineError;
use brumate_jail::native::NativeDoor;
use brumate_jail::spawn;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::interpreter::Interpreter;
use crate::jail_process::JailProcess;
use crate::order;

/// Program of the zygote: the kernel's part, and the part that forks.
const PROGRAM: &str = concat!(include_str!("python/kernel.py"), "\n", include_str!("python/zygote.py"));
/// Stack of its main thread, which kernels inherit. Their other threads have as much, and it counts as memory.
const STACK_BYTES: u64 = 8 << 20;
/// Time in which it imports its modules.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// Time in which it makes a kernel.
const FORK_TIMEOUT: Duration = Duration::from_secs(30);
/// Ends of kernels that are remembered until somebody asks.
const MAX_ENDS: usize = 4096;

/// A zygote. It ends when this is dropped; its kernels live on.
#[derive(Debug)]
pub(crate) struct Zygote {
    child: Mutex<tokio::process::Child>,
    control: Arc<OwnedFd>,
    ends: watch::Receiver<Ends>,
}

/// Ends of kernels: process ids, and exit statuses as Python has them (negative: signals).
type Ends = Arc<Mutex<std::collections::VecDeque<(i32, i32)>>>;

/// A forked kernel.
#[derive(Debug)]
pub(crate) struct Forked {
    /// Process id, as the server sees it.
    pub(crate) pid: i32,
    /// Descriptor of the process.
    pub(crate) process: OwnedFd,
}

#[derive(Serialize)]
struct Order<'a> {
    door: &'a NativeDoor,
    directory: &'a str,
    connection_file: &'a str,
    environment: std::collections::BTreeMap<&'a str, &'a str>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Answer {
    Zygote { zygote: std::collections::BTreeMap<String, Option<String>> },
    Ended { ended: i32, status: i32 },
    Pid { pid: i32 },
    Ready { ready: bool },
    Error { error: String },
}

impl Zygote {
    /// Starts a zygote, and waits until it has imported its modules.
    pub(crate) async fn start(interpreter: &Interpreter) -> Result<Self, EngineError> {
        let (server, other) = order::pair()?;
        let arguments = ["-I", "-B", "-c", PROGRAM];
        let command = spawn::command(&interpreter.program, arguments, other.as_fd(), STACK_BYTES)?;
        let mut command = tokio::process::Command::from(command);
        // Nothing of the server's environment. Its own libraries need a home and a place for caches.
        command.env_clear().env("LANG", "C.UTF-8").env("HOME", "/nonexistent").env("MPLCONFIGDIR", "/tmp");
        let child = command.kill_on_drop(true).spawn()?;
        drop(other);
        let control = Arc::new(server);
        let received = order::receive_within::<Answer>(Arc::clone(&control), START_TIMEOUT).await;
        match received {
            Ok(Some((Answer::Zygote { zygote }, _))) => tracing::debug!(?zygote, "the zygote of kernels has started"),
            Ok(_) => {
                let reason = format!("{} ended while it imported ipykernel", interpreter.program.display());
                return Err(EngineError::Unavailable(reason));
            }
            Err(error) => {
                let reason = format!("{} does not answer: {error}", interpreter.program.display());
                return Err(EngineError::Unavailable(reason));
            }
        }
        order::wait_for_ever(&control)?;
        let (told, ends) = watch::channel(Ends::default());
        let socket = Arc::clone(&control);
        std::thread::Builder::new().name("kernel-ends".to_owned()).spawn(move || listen(&socket, &told))?;
        Ok(Self { child: Mutex::new(child), control, ends })
    }

    /// Forks a kernel into a jail, and waits until it listens.
    pub(crate) async fn fork(
        &self,
        jail: &JailProcess,
        (directory, connection_file): (&str, &str),
        environment: &[(String, String)],
    ) -> Result<Forked, EngineError> {
        let (server, other) = order::pair()?;
        let environment = environment.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        let order = Order { door: &jail.door, directory, connection_file, environment };
        let descriptors: Vec<_> = std::iter::once(other.as_fd()).chain(jail.descriptors()).collect();
        order::send(&self.control, &order, &descriptors)?;
        drop(descriptors);
        drop(other);
        let server = Arc::new(server);
        let mut forked = None;
        loop {
            let answer = order::receive_within::<Answer>(Arc::clone(&server), FORK_TIMEOUT).await;
            match answer.map_err(|error| unavailable(&error.to_string()))? {
                Some((Answer::Pid { pid }, descriptors)) => {
                    let process = descriptors.into_iter().next().ok_or_else(|| unavailable("it sent no process"))?;
                    self.forget(pid);
                    forked = Some(Forked { pid, process });
                }
                Some((Answer::Ready { ready: true }, _)) => {
                    return forked.ok_or_else(|| unavailable("it was ready too early"));
                }
                Some((Answer::Error { error }, _)) => return Err(unavailable(&error)),
                Some(_) => return Err(unavailable("it said something else")),
                None => return Err(unavailable("it ended")),
            }
        }
    }

    /// Waits for the end of a kernel. Returns its exit status; a negative number is a signal. Waits for ever when the zygote has ended.
    pub(crate) async fn status_of(&self, pid: i32) -> i32 {
        let mut ends = self.ends.clone();
        loop {
            let status = {
                let ends = ends.borrow_and_update();
                let known = ends.lock();
                known.iter().find(|(ended, _)| *ended == pid).map(|(_, status)| *status)
            };
            if let Some(status) = status {
                return status;
            }
            if ends.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Forgets the end of an earlier process with this number.
    fn forget(&self, pid: i32) {
        self.ends.borrow().lock().retain(|(ended, _)| *ended != pid);
    }

    /// Returns whether it lives.
    pub(crate) fn is_alive(&self) -> bool {
        matches!(self.child.lock().try_wait(), Ok(None))
    }
}

fn unavailable(reason: &str) -> EngineError {
    EngineError::Unavailable(format!("the kernel could not be started: {reason}"))
}

/// Notes how kernels end, until the zygote ends.
fn listen(control: &OwnedFd, told: &watch::Sender<Ends>) {
    loop {
        match order::receive::<Answer>(control) {
            Ok(Some((Answer::Ended { ended, status }, _))) => told.send_modify(|ends| {
                let mut ends = ends.lock();
                if ends.len() >= MAX_ENDS {
                    ends.pop_front();
                }
                ends.push_back((ended, status));
            }),
            Ok(Some(_)) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(None) | Err(_) => return,
        }
    }
}
