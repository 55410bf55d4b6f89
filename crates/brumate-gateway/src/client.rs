//! The server's side: starts the gateway, and hands machines their sockets.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use brumate_network::host::Host;
use brumate_network::packet::pair;
use brumate_network::rules::Rules;
use hickory_resolver::system_conf::read_system_conf;
use rustix::net::{SocketType, sockopt};
use rustix::process::Pid;
use tokio::sync::Mutex;

use crate::order::{MAX_HOST_NAMES, MAX_ORDER, MAX_SERVERS, Order, Record, Report};
use crate::socket::PacketSocket;

/// Native stack of the gateway, in bytes.
const STACK: u64 = 8 << 20;
/// Time for the gateway to start.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Largest hosts file that is read, in bytes.
const MAX_HOSTS_FILE: u64 = 1 << 20;
/// The system's names of hosts.
const HOSTS_FILE: &str = "/etc/hosts";

/// Takes the records of connections.
pub type Recorder = Arc<dyn Fn(&Record) + Send + Sync>;

/// How sandboxes look names up.
#[derive(Debug, Clone, Default)]
pub struct NameSettings {
    /// Name servers. Default: the system's, if the list is empty.
    pub servers: Vec<SocketAddr>,
}

/// The gateway, seen from the server. It starts when a machine needs it, and starts again after it has died.
pub struct Gateway {
    program: PathBuf,
    names: NameSettings,
    running: Mutex<Option<Running>>,
    recorder: Recorder,
    last_session: AtomicU64,
}

struct Running {
    socket: Arc<PacketSocket>,
    child: tokio::process::Child,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Gateway").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Gateway {
    /// Returns a gateway that has not been started. `program` is the path of this program.
    pub fn new(program: PathBuf, names: NameSettings, recorder: Recorder) -> Gateway {
        Gateway { program, names, running: Mutex::default(), recorder, last_session: AtomicU64::new(0) }
    }

    /// Returns the number of a new session.
    pub fn new_session(&self) -> u64 {
        self.last_session.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the socket over which a machine of a session reaches the gateway.
    ///
    /// # Errors
    /// The reason why the gateway cannot be started.
    pub async fn serve(&self, session: u64, principal: &str, rules: &Rules) -> Result<OwnedFd, String> {
        let order = Order::Serve { session, principal: principal.to_owned(), rules: rules.clone() };
        let mut running = self.running.lock().await;
        // One that has died is noticed when it is written to.
        for is_last in [false, true] {
            if running.is_none() {
                *running = Some(self.start().await?);
            }
            let Some(gateway) = running.as_ref() else { continue };
            let (ours, given) = pair(SocketType::SEQPACKET).map_err(|errno| errno.to_string())?;
            match gateway.socket.send(&order, Some(given.as_fd())).await {
                Ok(()) => return Ok(ours),
                Err(error) if is_last => return Err(format!("the gateway does not answer: {error}")),
                Err(_) => *running = None,
            }
        }
        Err("the gateway does not answer".to_owned())
    }

    /// Forgets a session that has ended.
    pub async fn end(&self, session: u64) {
        if let Some(running) = self.running.lock().await.as_ref() {
            let _ = running.socket.send(&Order::End { session }, None).await;
        }
    }

    /// Returns the process id of the gateway's supervisor, if it runs.
    pub async fn process_id(&self) -> Option<Pid> {
        let id = self.running.lock().await.as_ref()?.child.id()?;
        Pid::from_raw(id.cast_signed())
    }

    async fn start(&self) -> Result<Running, String> {
        let failed = |error: &dyn std::fmt::Display| format!("the gateway cannot be started: {error}");
        let (ours, control) = pair(SocketType::SEQPACKET).map_err(|errno| failed(&errno))?;
        // Rules are in one message.
        let _ = sockopt::set_socket_send_buffer_size(&ours, 2 * MAX_ORDER);
        let command = brumate_jail::spawn::command(&self.program, ["internal", crate::COMMAND], control.as_fd(), STACK);
        let mut command = tokio::process::Command::from(command.map_err(|error| failed(&error))?);
        let child = command.kill_on_drop(true).spawn().map_err(|error| failed(&error))?;
        drop(control);
        let socket = Arc::new(PacketSocket::new(ours).map_err(|error| failed(&error))?);
        let ready = tokio::time::timeout(START_TIMEOUT, socket.receive::<Report>(MAX_ORDER));
        match ready.await {
            Ok(Ok((Report::Ready(missing), _))) => {
                for wall in missing {
                    tracing::debug!(wall, "the gateway's jail lacks a wall");
                }
            }
            Ok(Ok((Report::Failed(reason), _))) => return Err(failed(&reason)),
            Ok(Ok(_)) => return Err(failed(&"an unexpected message came")),
            Ok(Err(error)) => return Err(failed(&error)),
            Err(_) => return Err(failed(&format_args!("no answer in {} s", START_TIMEOUT.as_secs()))),
        }
        let servers = if self.names.servers.is_empty() { system_servers() } else { self.names.servers.clone() };
        let order = Order::Names { servers, hosts: system_hosts() };
        socket.send(&order, None).await.map_err(|error| failed(&error))?;
        tokio::spawn(read(socket.clone(), self.recorder.clone()));
        Ok(Running { socket, child })
    }
}

/// Reads what the gateway reports, until it is gone.
async fn read(socket: Arc<PacketSocket>, recorder: Recorder) {
    loop {
        match socket.receive::<Report>(MAX_ORDER).await {
            Ok((Report::Connection(record), None)) => recorder(&record),
            Ok((Report::Failed(reason), None)) => tracing::error!(reason, "the gateway has failed"),
            Ok(_) | Err(_) => return,
        }
    }
}

/// Returns the system's name servers.
fn system_servers() -> Vec<SocketAddr> {
    let config = match read_system_conf() {
        Ok((config, _)) => config,
        Err(error) => {
            tracing::warn!(%error, "the system's name servers are unknown: sandboxes look up names of the hosts file only");
            return Vec::new();
        }
    };
    let mut servers = Vec::new();
    for server in config.name_servers() {
        let port = server.connections.first().map_or(53, |connection| connection.port);
        let address = SocketAddr::new(server.ip, port);
        if !servers.contains(&address) && servers.len() < MAX_SERVERS {
            servers.push(address);
        }
    }
    servers
}

/// Returns the names of the system's hosts file, in their order.
fn system_hosts() -> Vec<(String, IpAddr)> {
    use std::io::Read;
    let mut text = String::new();
    let file = std::fs::File::open(HOSTS_FILE);
    #[expect(clippy::disallowed_methods, reason = "bounded by `take`")]
    let read = file.and_then(|file| file.take(MAX_HOSTS_FILE).read_to_string(&mut text));
    if read.is_err() {
        return Vec::new();
    }
    let mut names = Vec::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(Ok(address)) = words.next().map(str::parse::<IpAddr>) else { continue };
        for name in words {
            if let Ok(Host::Name(name)) = Host::parse(name)
                && names.len() < MAX_HOST_NAMES
            {
                names.push((name, address));
            }
        }
    }
    names
}
