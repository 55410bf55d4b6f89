//! Serves one machine: looks names up, connects, and copies bytes.

use std::cell::Cell;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use brumate_network::address::canonical;
use brumate_network::host::Host;
use brumate_network::message::{Answer, Failure, MAX_MESSAGE, MAX_REQUESTS, Request};
use brumate_network::packet::{PacketError, pair};
use brumate_network::refusal::{Reason, Refusal};
use brumate_network::rules::{Pattern, Rules};
use rustix::net::SocketType;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use crate::names::{HOST_MACHINE, Names};
use crate::order::{Record, Report};
use crate::relay::copy;
use crate::socket::PacketSocket;

/// Connections that a session may have at a time.
pub(crate) const MAX_CONNECTIONS: usize = 64;

/// Time for one connection, for each address of a name.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// State of a session, for all its machines.
#[derive(Debug)]
pub(crate) struct Session {
    id: u64,
    principal: String,
    connections: Cell<usize>,
}

impl Session {
    /// A session without connections.
    pub(crate) fn new(id: u64, principal: String) -> Session {
        Session { id, principal, connections: Cell::new(0) }
    }

    /// Counts a connection until the value is dropped.
    fn connection(self: &Rc<Session>) -> Result<Counted, Failure> {
        let count = self.connections.get();
        if count >= MAX_CONNECTIONS {
            let text = format!("this session has {MAX_CONNECTIONS} connections open. Close one, and try again");
            return Err(Failure::Refused(Refusal::new(Reason::Limit, text)));
        }
        self.connections.set(count + 1);
        Ok(Counted(self.clone()))
    }
}

/// A connection that counts.
struct Counted(Rc<Session>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.set(self.0.connections.get() - 1);
    }
}

/// One machine: the state that its requests share.
struct Machine {
    socket: PacketSocket,
    session: Rc<Session>,
    rules: Rules,
    names: Rc<Names>,
    reports: mpsc::Sender<Report>,
}

/// Serves a machine until it is gone. Connections that it has end when their descriptors are closed.
pub(crate) async fn serve(
    socket: PacketSocket,
    session: Rc<Session>,
    rules: Box<Rules>,
    names: Rc<Names>,
    reports: mpsc::Sender<Report>,
) {
    let machine = Rc::new(Machine { socket, session, rules: *rules, names, reports });
    let mut requests: HashMap<u64, AbortHandle> = HashMap::new();
    let mut running = JoinSet::new();
    loop {
        let request = tokio::select! {
            request = machine.socket.receive::<Request>(MAX_MESSAGE) => request,
            Some(done) = running.join_next() => {
                if let Ok(id) = done {
                    requests.remove(&id);
                }
                continue;
            }
        };
        let Ok((request, None)) = request else { return };
        let handle = match request {
            Request::Cancel { id } => {
                if let Some(handle) = requests.remove(&id) {
                    handle.abort();
                }
                continue;
            }
            // A machine of ours waits for answers.
            _ if requests.len() >= MAX_REQUESTS => return,
            Request::Resolve { id, host } => {
                let machine = machine.clone();
                (
                    id,
                    running.spawn_local(async move {
                        machine.resolve(id, host).await;
                        id
                    }),
                )
            }
            Request::Connect { id, host, port } => {
                let machine = machine.clone();
                (
                    id,
                    running.spawn_local(async move {
                        machine.connect(id, host, port).await;
                        id
                    }),
                )
            }
        };
        requests.insert(handle.0, handle.1);
    }
}

impl Machine {
    async fn resolve(&self, id: u64, host: Host) {
        let answer = match self.addresses_of(&host).await {
            Ok(addresses) => Answer::Resolved { id, addresses },
            Err(failure) => Answer::Failed { id, failure },
        };
        let _ = self.socket.send(&answer, None).await;
    }

    /// Returns the addresses of a host that a rule has.
    async fn addresses_of(&self, host: &Host) -> Result<Vec<IpAddr>, Failure> {
        self.rules.name(host).map_err(Failure::Refused)?;
        match host {
            Host::Address(address) => Ok(vec![*address]),
            Host::Name(name) => self.names.look_up(name).await,
        }
    }

    async fn connect(self: Rc<Machine>, id: u64, host: Host, port: u16) {
        let began = Instant::now();
        let mut record = Record {
            session: self.session.id,
            principal: self.session.principal.clone(),
            host: host.clone(),
            port,
            rule: None,
            address: None,
            failure: None,
            bytes_in: 0,
            bytes_out: 0,
            milliseconds: 0,
        };
        let copying = match self.connected(&host, port, &mut record).await {
            Ok((stream, counted)) => self.hand_over(id, stream).await.map(|ends| (ends, counted)),
            Err(failure) => {
                record.failure = Some(failure.clone());
                self.socket.send(&Answer::Failed { id, failure }, None).await.map_err(drop).and(Err(()))
            }
        };
        let machine = self.clone();
        // Apart from the machine's requests: a connection lives on when its request has been answered.
        tokio::task::spawn_local(async move {
            if let Ok(((inside, outside), counted)) = copying {
                let ended = |reset| machine.ended(id, reset);
                (record.bytes_out, record.bytes_in) = copy(inside, outside, ended).await;
                drop(counted);
            }
            record.milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let _ = machine.reports.send(Report::Connection(record)).await;
        });
    }

    /// Connects to a host: one look-up, the rules, then the addresses that were checked.
    async fn connected(&self, host: &Host, port: u16, record: &mut Record) -> Result<(TcpStream, Counted), Failure> {
        let (number, rule) = self.rules.connection(host, port).map_err(Failure::Refused)?;
        // Not `*.internal`.
        let is_host_machine = rule.hosts == Pattern::Name(HOST_MACHINE.to_owned());
        record.rule = Some(number);
        let counted = self.session.connection()?;
        let mut failure = Failure::Unreachable;
        for address in self.addresses_of(host).await? {
            let address = canonical(address);
            if !is_host_machine {
                match self.rules.address(host, port, address) {
                    Ok(()) => {}
                    Err(refusal) => {
                        failure = Failure::Refused(refusal);
                        continue;
                    }
                }
            }
            match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(SocketAddr::new(address, port))).await {
                Ok(Ok(stream)) => {
                    record.address = Some(address);
                    let _ = stream.set_nodelay(true);
                    return Ok((stream, counted));
                }
                Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    failure = Failure::ConnectionRefused;
                }
                Ok(Err(_)) => failure = Failure::Unreachable,
                Err(_) => failure = Failure::Timeout,
            }
        }
        Err(failure)
    }

    /// Tells the machine that the host sends nothing more.
    async fn ended(&self, id: u64, reset: bool) {
        let _ = self.socket.send(&Answer::Ended { id, reset }, None).await;
    }

    /// Gives the machine its end of a connection; returns the gateway's.
    async fn hand_over(&self, id: u64, stream: TcpStream) -> Result<(UnixStream, TcpStream), ()> {
        let local = stream.local_addr().map_err(drop)?;
        let (inside, given) = pair(SocketType::STREAM).map_err(drop)?;
        let inside = UnixStream::from_std(inside.into()).map_err(drop)?;
        let answer = Answer::Connected { id, local };
        self.socket.send(&answer, Some(given.as_fd())).await.map_err(|_: PacketError| ())?;
        Ok((inside, stream))
    }
}
