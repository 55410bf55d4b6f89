//! Events that the supervisor waits for.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe::Sender;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lines::{Line, OutputQueue};
use super::live::LiveMachine;
use super::supervisor::Supervisor;
use crate::machine::MachineEnd;

/// An event: a line, a completed write, an end, or a time.
#[derive(Debug)]
pub(super) enum Event {
    /// A line of the client; `None` at its end.
    Client(std::io::Result<Option<Line>>),
    /// A line of the server; `None` at its end.
    Server(std::io::Result<Option<Line>>),
    /// Bytes were written to the client.
    ToClient(std::io::Result<()>),
    /// Bytes were written to the server.
    ToServer(std::io::Result<()>),
    /// The machine has ended.
    End(MachineEnd),
    /// A time has come.
    Time,
    /// The server's file has changed.
    Reload,
    /// The host is to end.
    Shutdown,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Supervisor<'_, R, W> {
    /// Waits for the next event. Nothing is lost when the future is dropped.
    ///
    /// A side whose counterpart does not read is read no further.
    pub(super) async fn next_event(&mut self, shutdown: &CancellationToken) -> Event {
        let time = self.requests.next_deadline();
        // A time to drain counts once: afterwards the machine is closing.
        let drain = self.drain_until.filter(|_| self.machine.as_ref().is_some_and(|machine| !machine.is_closing()));
        let tick = self.machine.as_ref().and_then(LiveMachine::next_tick);
        let time = time.into_iter().chain(tick).chain(drain).min();
        let to_client_full = self.to_client.is_full();
        let handshaking = self.machine.as_ref().is_some_and(|machine| machine.handshake.is_some());
        let to_server_full = self.machine.as_ref().is_some_and(|machine| machine.queue.is_full());
        let reads_client = !self.closing && !handshaking && !to_server_full;
        let (client, output, to_client) = (&mut self.client, &mut self.client_output, &mut self.to_client);
        let writes_client = !to_client.is_empty();
        let reload = self.options.reload.as_mut().filter(|_| !self.closing);
        let machine = self.machine.as_mut();
        tokio::select! {
            biased;
            () = shutdown.cancelled(), if !self.shutting_down => Event::Shutdown,
            written = to_client.write_to(output), if writes_client => Event::ToClient(written),
            event = machine_event(machine, !to_client_full) => event,
            line = client.next(), if reads_client => Event::Client(line),
            () = until(time) => Event::Time,
            reloaded = next_reload(reload) => reloaded,
        }
    }
}

/// Waits for an event of the machine; forever if there is none.
async fn machine_event(machine: Option<&mut LiveMachine>, may_read: bool) -> Event {
    let Some(machine) = machine else { return std::future::pending().await };
    let reads = may_read && machine.is_read();
    let LiveMachine { input, output, queue, end, ended, .. } = machine;
    let waits_for_end = ended.is_none();
    tokio::select! {
        biased;
        line = output.next(), if reads => Event::Server(line),
        written = write(queue, input), if !queue.is_empty() => Event::ToServer(written),
        end = end, if waits_for_end => Event::End(end),
        else => std::future::pending().await,
    }
}

/// Writes to the machine; forever if its input is closed.
async fn write(queue: &mut OutputQueue, input: &mut Option<Sender>) -> std::io::Result<()> {
    match input {
        Some(input) => queue.write_to(input).await,
        None => std::future::pending().await,
    }
}

/// Waits for a time; forever without one.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Waits for a change of the server's file; forever if nobody watches it.
async fn next_reload(reload: Option<&mut mpsc::Receiver<()>>) -> Event {
    if let Some(reload) = reload
        && reload.recv().await.is_some()
    {
        return Event::Reload;
    }
    std::future::pending().await
}
