//! The gateway: a process in a jail of its own that has sockets and nothing else.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::rc::Rc;

use brumate_jail::{JailConfig, Profile};
use brumate_network::packet::PacketError;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use crate::machine::{Session, serve};
use crate::names::Names;
use crate::order::{MAX_ORDER, Order, Report};
use crate::socket::PacketSocket;

/// Reports that wait for the server. While it does not take them, connections that end wait.
pub(crate) const MAX_REPORTS: usize = 1024;

/// Runs the gateway with its socket to the server. Called at the start of `main`, before any thread exists.
pub(crate) fn main(control: OwnedFd) -> ExitCode {
    let config = JailConfig::of(Profile::Gateway);
    let entered = brumate_jail::enter(Profile::Gateway, &config);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return ExitCode::FAILURE };
    let result = runtime.block_on(async {
        let socket = PacketSocket::new(control).map_err(|_| PacketError::Closed)?;
        match entered {
            Ok(report) => {
                let missing = report.missing_walls().map(|(wall, reason)| format!("{wall:?}: {reason}")).collect();
                socket.send(&Report::Ready(missing), None).await?;
            }
            Err(error) => return socket.send(&Report::Failed(error.to_string()), None).await,
        }
        LocalSet::new().run_until(run(socket)).await
    });
    if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Serves machines until the server is gone.
async fn run(socket: PacketSocket) -> Result<(), PacketError> {
    let (Order::Names { servers, hosts }, _) = socket.receive(MAX_ORDER).await? else {
        return Err(PacketError::Malformed);
    };
    let names = match Names::new(&servers, hosts) {
        Ok(names) => Rc::new(names),
        Err(error) => return socket.send(&Report::Failed(error), None).await,
    };
    let (reports, mut outgoing) = mpsc::channel::<Report>(MAX_REPORTS);
    let mut sessions: HashMap<u64, Rc<Session>> = HashMap::new();
    loop {
        tokio::select! {
            order = socket.receive(MAX_ORDER) => match order {
                Ok((Order::Serve { session: id, principal, rules }, Some(machine))) => {
                    let session = sessions.entry(id).or_insert_with(|| Rc::new(Session::new(id, principal))).clone();
                    if let Ok(machine) = PacketSocket::new(machine) {
                        tokio::task::spawn_local(serve(machine, session, rules.into(), names.clone(), reports.clone()));
                    }
                }
                Ok((Order::End { session }, _)) => {
                    sessions.remove(&session);
                }
                Ok(_) => return Err(PacketError::Malformed),
                Err(PacketError::Closed) => return Ok(()),
                Err(error) => return Err(error),
            },
            Some(report) = outgoing.recv() => socket.send(&report, None).await?,
        }
    }
}
