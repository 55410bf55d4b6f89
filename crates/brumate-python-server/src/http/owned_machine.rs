//! A machine that belongs to one session, or to one principal.

use std::time::Duration;

use super::connection::Connection;
use super::machine_places::MachinePlace;

/// A machine that is asked to end when this is dropped.
#[derive(Debug)]
pub(super) struct OwnedMachine(Connection);

impl OwnedMachine {
    pub(super) fn new(connection: Connection) -> Self {
        Self(connection)
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.0
    }
}

impl Drop for OwnedMachine {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Holds the place of a machine until the machine has ended. Asks it to end when it had no request for `idle`.
pub(super) async fn hold_place(connection: Connection, place: MachinePlace, idle: Duration) {
    let mut busy = connection.table().busy();
    let idling = async {
        loop {
            if busy.wait_for(|busy| !busy).await.is_err() {
                return;
            }
            if tokio::time::timeout(idle, busy.wait_for(|busy| *busy)).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = connection.closed() => {}
        () = idling => connection.stop(),
    }
    connection.closed().await;
    drop(place);
}
