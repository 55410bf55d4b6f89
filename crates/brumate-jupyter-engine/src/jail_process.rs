//! The process that makes a jail and becomes its first process, from both sides.

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use brumate_engine_api::EngineError;
use brumate_jail::native::{self, GuardEnd, MEMORY_EXIT_STATUS, NativeConfig, NativeDoor, NativeJail, NativeProgram};
use brumate_jail::{CONTROL_FD, spawn};
use rustix::process::{Pid, PidfdFlags};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::connection::{CONNECTION_FILE, ConnectionFile};
use crate::order;
use crate::packages::INDEX_PORT;

/// Name of the internal command.
const COMMAND: &str = "native-jail";
/// Stack of the first process.
const STACK_BYTES: u64 = 8 << 20;
/// Time in which a jail is made.
const JAIL_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest reason of a jail that cannot be made, in bytes.
const MAX_REASON: usize = 4096;

/// Order for a jail and what begins in it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JailOrder {
    pub(crate) config: NativeConfig,
    /// Content of [`CONNECTION_FILE`].
    pub(crate) connection: ConnectionFile,
    /// Program that the jail ends with. Without one a process of the zygote joins the jail.
    pub(crate) program: Option<NativeProgram>,
    /// Whether the server serves packages to the jail.
    pub(crate) packages: bool,
}

/// Answer of a process that was to make a jail. Descriptors come with it: the listener for packages if it was ordered, those of the door,
/// then one for the program's process.
#[derive(Debug, Serialize, Deserialize)]
enum Made {
    Door(Box<NativeDoor>),
    Failed(String),
}

/// A jail, and its first process. Everything in it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct JailProcess {
    /// The jail ends when the server hangs up.
    _control: Arc<OwnedFd>,
    /// Cancelled to kill the first process.
    kill: CancellationToken,
    end: watch::Receiver<Option<JailEnd>>,
    pub(crate) door: NativeDoor,
    /// Listener on [`INDEX_PORT`] of the jail's own loopback interface.
    packages: Option<TcpListener>,
    descriptors: Vec<OwnedFd>,
}

/// End of a jail, seen by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JailEnd {
    /// The processes had more memory than they may.
    Memory,
    /// The program, or the first process, ended with this status.
    Exit(i32),
    /// A signal ended it.
    Signal(i32),
}

impl JailProcess {
    /// Makes a jail. `program` is this program.
    pub(crate) async fn make(program: &Path, order: &JailOrder) -> Result<Self, EngineError> {
        let (server, jail) = order::pair()?;
        let command = spawn::command(program, ["internal", COMMAND], jail.as_fd(), STACK_BYTES)?;
        let child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
        drop(jail);
        let control = Arc::new(server);
        order::send(&control, order, &[])?;
        let received = order::receive_within::<Made>(Arc::clone(&control), JAIL_TIMEOUT).await;
        match received {
            Ok(Some((Made::Door(door), mut descriptors))) => {
                let packages = (order.packages && !descriptors.is_empty()).then(|| descriptors.remove(0).into());
                let kill = CancellationToken::new();
                let (told, end) = watch::channel(None);
                tokio::spawn(wait(child, kill.clone(), told));
                Ok(Self { _control: control, kill, end, door: *door, packages, descriptors })
            }
            Ok(Some((Made::Failed(reason), _))) => Err(EngineError::Unavailable(reason)),
            Ok(None) => Err(EngineError::Unavailable("the jail's first process has ended".to_owned())),
            Err(error) => Err(EngineError::Unavailable(format!("the jail's first process does not answer: {error}"))),
        }
    }

    /// Lists the descriptors of the door.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.descriptors.iter().map(|fd| fd.as_fd())
    }

    /// Returns the directory of the session's files.
    pub(crate) fn workspace(&self) -> io::Result<OwnedFd> {
        self.descriptor(0)
    }

    /// Returns the directory of the kernel's sockets.
    pub(crate) fn sockets(&self) -> io::Result<OwnedFd> {
        self.descriptor(1)
    }

    fn descriptor(&self, index: usize) -> io::Result<OwnedFd> {
        self.descriptors.get(index).ok_or_else(|| io::Error::other("the jail sent no directory"))?.try_clone()
    }

    /// Takes the listener for packages, if it was ordered.
    pub(crate) fn take_packages(&mut self) -> Option<TcpListener> {
        self.packages.take()
    }

    /// Returns a descriptor of the program's process, if a program was ordered.
    pub(crate) fn program(&self) -> io::Result<OwnedFd> {
        self.descriptor(self.descriptors.len().saturating_sub(1))
    }

    /// Ends all processes of the jail.
    pub(crate) fn kill(&self) {
        self.kill.cancel();
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) -> JailEnd {
        let mut end = self.end.clone();
        match end.wait_for(Option::is_some).await {
            Ok(end) => end.unwrap_or(JailEnd::Exit(0)),
            // The runtime ends.
            Err(_) => JailEnd::Exit(0),
        }
    }
}

impl Drop for JailProcess {
    fn drop(&mut self) {
        self.kill.cancel();
    }
}

/// Waits for the first process, and tells how it ended.
async fn wait(mut child: tokio::process::Child, kill: CancellationToken, told: watch::Sender<Option<JailEnd>>) {
    use std::os::unix::process::ExitStatusExt as _;
    let status = tokio::select! {
        status = child.wait() => status,
        () = kill.cancelled() => {
            let _ = child.start_kill();
            child.wait().await
        }
    };
    let end = match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(MEMORY_EXIT_STATUS), _) => JailEnd::Memory,
            (Some(code), _) => JailEnd::Exit(code),
            (None, signal) => JailEnd::Signal(signal.unwrap_or_default()),
        },
        Err(_) => JailEnd::Exit(0),
    };
    let _ = told.send(Some(end));
}

/// Runs the internal command `brumate internal native-jail`. Must be called at the very start of `main`, before any thread exists.
/// Returns `None` if `arguments` (without the program's name) are another command.
pub fn internal_main(arguments: &[OsString]) -> Option<ExitCode> {
    let [first, command] = arguments else { return None };
    (first == "internal" && command == COMMAND).then(|| run().unwrap_or(ExitCode::FAILURE))
}

fn run() -> Option<ExitCode> {
    let control = spawn::control_socket()?;
    let (order, _) = order::receive::<JailOrder>(&control).ok()??;
    let made = native::enter(&order.config, CONTROL_FD).map_err(|error| error.to_string()).and_then(|jail| {
        // Before any code of a stranger could listen there.
        let packages = order.packages.then(|| TcpListener::bind((Ipv4Addr::LOCALHOST, INDEX_PORT))).transpose();
        let packages = packages.map_err(|error| format!("the jail's loopback interface: {error}"))?;
        let begun = begin(&jail, &order);
        begun.map(|program| (jail, program, packages))
    });
    let (jail, program, packages) = match made {
        Ok(made) => made,
        Err(mut reason) => {
            reason.truncate(reason.floor_char_boundary(MAX_REASON));
            order::send(&control, &Made::Failed(reason), &[]).ok()?;
            return Some(ExitCode::FAILURE);
        }
    };
    let mut descriptors: Vec<_> = packages.iter().map(|listener| listener.as_fd()).collect();
    descriptors.extend(jail.descriptors());
    descriptors.extend(program.as_ref().map(|(_, process)| process.as_fd()));
    order::send(&control, &Made::Door(Box::new(jail.door())), &descriptors).ok()?;
    drop(packages);
    let program = program.map(|(pid, _)| pid);
    Some(match jail.guard(control.as_fd(), program) {
        GuardEnd::Hangup => ExitCode::SUCCESS,
        GuardEnd::Memory(_) => ExitCode::from(u8::try_from(MEMORY_EXIT_STATUS).unwrap_or(1)),
        GuardEnd::Ended { status, signal } => {
            let status = status.or(signal.map(|signal| 128 + signal)).unwrap_or(1);
            ExitCode::from(u8::try_from(status).unwrap_or(1))
        }
    })
}

/// Writes the connection file and starts the program. Returns its process.
fn begin(jail: &NativeJail, order: &JailOrder) -> Result<Option<(Pid, OwnedFd)>, String> {
    let text = serde_json::to_vec(&order.connection).map_err(|error| error.to_string())?;
    std::fs::write(CONNECTION_FILE, text).map_err(|error| format!("{CONNECTION_FILE}: {error}"))?;
    let Some(program) = &order.program else { return Ok(None) };
    let pid = jail.start(program).map_err(|error| error.to_string())?;
    let process = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(|error| error.to_string())?;
    Ok(Some((pid, process)))
}
