//! The connection to one machine: it is read, written and watched by a task of its own, which ends the machine.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::frames::{ProtocolError, decode};
use super::heartbeat;
use super::limits::HttpLimits;
use super::stream_table::{StartProgress, StreamTable};
use crate::{Announcement, MachineEnd, StartedMachine};

/// Most bytes that are read of a machine at once.
const READ_BYTES: usize = 64 << 10;
/// How long the last bytes of a machine that has ended may take.
const LAST_BYTES_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a machine may take to end after its messages have ended, or after it was killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// An application did not start.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ApplicationError {
    /// The server speaks something else than HTTP.
    #[error("the server serves no HTTP")]
    NoHttp,
    /// The application says so.
    #[error("the application failed to start: {0}")]
    Failed(String),
    /// The machine ended before.
    #[error("the server ended before it had started: {0}")]
    Ended(String),
    /// It took too long. The machine is killed.
    #[error("the application did not start within {0:?}")]
    TimedOut(Duration),
}

/// The reason for which a machine ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum EndReason {
    #[error("its messages ended")]
    Ended,
    #[error("its messages cannot be read: {0}")]
    Read(String),
    #[error("it broke the protocol: {0}")]
    Protocol(#[from] ProtocolError),
    #[error("it was busy beyond the time limit and could not be interrupted")]
    Busy,
    #[error("it did not end in time")]
    NotEnded,
    #[error("it is not needed")]
    NotNeeded,
}

/// The connection to a machine whose application has started. Clones are the same connection.
#[derive(Debug, Clone)]
pub(super) struct Connection(Arc<ConnectionInner>);

#[derive(Debug)]
struct ConnectionInner {
    table: Arc<Mutex<StreamTable>>,
    /// Asks the machine to end; it is killed when it does not.
    stop: CancellationToken,
    /// Kills the machine.
    kill: CancellationToken,
    /// Its end, when the machine has ended.
    ended: watch::Sender<Option<ConnectionEnd>>,
}

/// The end of a machine.
#[derive(Debug, Clone)]
struct ConnectionEnd {
    /// The reason, for the log.
    reason: String,
    /// Whether nobody had asked it to end.
    is_crash: bool,
}

impl Connection {
    /// Waits until the application of a machine has started.
    ///
    /// # Errors
    ///
    /// [`ApplicationError`]; the machine is killed.
    pub(super) async fn start(machine: StartedMachine, limits: &HttpLimits) -> Result<Self, ApplicationError> {
        let is_http = matches!(machine.announcement, Announcement::Http { .. });
        let writer = Arc::new(Notify::new());
        let table = Arc::new(Mutex::new(StreamTable::new(Arc::clone(&writer))));
        let mut start = table.lock().start();
        let (stop, kill) = (CancellationToken::new(), CancellationToken::new());
        let inner = Arc::new(ConnectionInner { table, stop, kill, ended: watch::Sender::new(None) });
        // Ends the machine when this future is dropped, or returns an error.
        let unstarted = inner.kill.clone().drop_guard();
        tokio::spawn(drive(Arc::clone(&inner), machine, writer, limits.clone()));
        let this = Self(inner);
        if !is_http {
            return Err(ApplicationError::NoHttp);
        }
        let started = async {
            tokio::select! {
                biased;
                started = start.wait_for(|start| *start != StartProgress::Awaited) => {
                    started.map(|start| start.clone()).unwrap_or(StartProgress::Awaited)
                }
                () = this.closed() => StartProgress::Awaited,
            }
        };
        match tokio::time::timeout(limits.start_timeout, started).await {
            Ok(StartProgress::Ready) => {
                unstarted.disarm();
                Ok(this)
            }
            Ok(StartProgress::Failed(text)) => Err(ApplicationError::Failed(text)),
            Ok(StartProgress::Awaited) => Err(ApplicationError::Ended(this.closed_because())),
            Err(_) => Err(ApplicationError::TimedOut(limits.start_timeout)),
        }
    }

    /// Returns the requests.
    pub(super) fn table(&self) -> MutexGuard<'_, StreamTable> {
        self.0.table.lock()
    }

    /// Returns whether requests can be opened.
    pub(super) fn is_open(&self) -> bool {
        !self.table().is_ended()
    }

    /// Asks the application to end. When it does not within the grace time, its machine is killed.
    pub(super) fn stop(&self) {
        self.table().shutdown();
        self.0.stop.cancel();
    }

    /// Waits until the machine has ended.
    pub(super) async fn closed(&self) {
        // This cannot fail: the sender is in `self`.
        let _ = self.0.ended.subscribe().wait_for(Option::is_some).await;
    }

    /// Returns why the machine has ended; empty if it has not.
    pub(super) fn closed_because(&self) -> String {
        self.0.ended.borrow().as_ref().map(|end| end.reason.clone()).unwrap_or_default()
    }

    /// Returns whether the machine has ended although nobody had asked it to.
    pub(super) fn has_crashed(&self) -> bool {
        self.0.ended.borrow().as_ref().is_some_and(|end| end.is_crash)
    }
}

/// Serves the connection until the machine has ended.
async fn drive(inner: Arc<ConnectionInner>, machine: StartedMachine, writer: Arc<Notify>, limits: HttpLimits) {
    let StartedMachine { input, output, control, mut end, .. } = machine;
    let (table, mut machine_end) = (&inner.table, None);
    let reason = {
        let reading = read_frames(table, output);
        tokio::pin!(reading);
        tokio::select! {
            reason = &mut reading => reason,
            never = write_frames(table, &writer, input) => never,
            () = heartbeat::watch(table, &inner.stop, &*control, &limits) => EndReason::Busy,
            () = async {
                inner.stop.cancelled().await;
                tokio::time::sleep(limits.shutdown_grace).await;
            } => EndReason::NotEnded,
            () = inner.kill.cancelled() => EndReason::NotNeeded,
            ended = &mut end => {
                machine_end = Some(ended);
                tokio::time::timeout(LAST_BYTES_TIMEOUT, reading).await.unwrap_or(EndReason::Ended)
            }
        }
    };
    let is_crash = !inner.stop.is_cancelled() && !inner.kill.is_cancelled();
    table.lock().end();
    if reason != EndReason::Ended {
        control.kill();
    }
    if machine_end.is_none() {
        machine_end = tokio::time::timeout(EXIT_TIMEOUT, &mut end).await.ok();
    }
    if machine_end.is_none() {
        control.kill();
        machine_end = tokio::time::timeout(EXIT_TIMEOUT, end).await.ok();
    }
    inner.ended.send_replace(Some(ConnectionEnd { reason: explain(&reason, machine_end), is_crash }));
}

/// Returns why a machine has ended, for the log.
fn explain(reason: &EndReason, end: Option<MachineEnd>) -> String {
    match (reason, end) {
        (EndReason::Ended, Some(end)) if end.text.is_empty() => format!("it ended with status {}", end.status),
        (EndReason::Ended, Some(end)) => end.text,
        (reason, _) => reason.to_string(),
    }
}

async fn read_frames(table: &Mutex<StreamTable>, mut output: BufReader<Receiver>) -> EndReason {
    let mut received = BytesMut::new();
    loop {
        received.reserve(READ_BYTES);
        match output.read_buf(&mut received).await {
            Ok(0) => return EndReason::Ended,
            Ok(_) => {}
            Err(error) => return EndReason::Read(error.to_string()),
        }
        loop {
            match decode(&mut received).and_then(|frame| frame.map(|frame| table.lock().take(frame)).transpose()) {
                Ok(Some(())) => {}
                Ok(None) => break,
                Err(error) => return error.into(),
            }
        }
    }
}

/// Writes frames for ever. A machine that takes none has ended, or will be found busy.
async fn write_frames(table: &Mutex<StreamTable>, writer: &Notify, mut input: Sender) -> EndReason {
    let mut to_write = BytesMut::new();
    loop {
        table.lock().write_frames(&mut to_write);
        if to_write.is_empty() {
            writer.notified().await;
            continue;
        }
        if let Err(error) = input.write_all(&to_write).await {
            tracing::debug!(%error, "a server takes no more messages");
            return std::future::pending().await;
        }
        to_write.clear();
    }
}
