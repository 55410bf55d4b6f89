//! A running machine, with its queue, its probe and its end.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::Instant;

use super::lines::{LineReader, OutputQueue};
use super::request_id::RequestId;
use crate::machine::{MachineControl, MachineEnd};
use crate::start::StartedMachine;

/// How long a server may take to answer the host's `ping` before the tool that keeps its loop busy is interrupted.
const PING_TIMEOUT: Duration = Duration::from_millis(250);
/// Time between two interrupts of a busy tool.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(500);
/// How long the pipe of a machine that has ended may take to end.
const PIPE_TIMEOUT: Duration = Duration::from_secs(1);

/// A running machine.
pub(super) struct LiveMachine {
    /// `None` once its input is closed.
    pub(super) input: Option<Sender>,
    pub(super) output: LineReader<Receiver>,
    pub(super) queue: OutputQueue,
    pub(super) control: Arc<dyn MachineControl>,
    pub(super) end: BoxFuture<'static, MachineEnd>,
    /// Its end, until its last message has been read.
    pub(super) ended: Option<MachineEnd>,
    output_ended: bool,
    /// Its input is closed when everything is written.
    closing: bool,
    /// The `initialize` that was sent again: its answer is not for the client, and messages of the client wait for it.
    pub(super) handshake: Option<RequestId>,
    /// Messages of the client that wait for the handshake.
    pub(super) pending: Vec<Vec<u8>>,
    /// Reason for which the host killed it.
    pub(super) violation: Option<String>,
    /// It ends because its file has changed.
    pub(super) reloading: bool,
    probe: Option<Probe>,
    kill_at: Option<Instant>,
}

/// A `ping` of the host's that shows whether the server's loop goes on.
struct Probe {
    id: RequestId,
    interrupt_at: Instant,
    kill_at: Instant,
}

impl LiveMachine {
    pub(super) fn new(machine: StartedMachine) -> Self {
        let StartedMachine { input, output, control, end, .. } = machine;
        Self {
            input: Some(input),
            output: LineReader::new(output),
            queue: OutputQueue::default(),
            control,
            end,
            ended: None,
            output_ended: false,
            closing: false,
            handshake: None,
            pending: Vec::new(),
            violation: None,
            reloading: false,
            probe: None,
            kill_at: None,
        }
    }

    /// Adds a message of the client, which waits for the handshake.
    pub(super) fn send(&mut self, message: &[u8]) {
        match self.handshake {
            None => self.queue.push(message),
            Some(_) => self.pending.push(message.to_vec()),
        }
    }

    /// Closes its input once everything is written, and kills it if it has not ended after `grace`.
    pub(super) fn close(&mut self, grace: Duration) {
        if !self.closing {
            self.closing = true;
            self.kill_at.get_or_insert(Instant::now() + grace);
        }
        self.close_when_written();
    }

    /// Returns whether its input is closed, or will be.
    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Closes its input if that is due.
    pub(super) fn close_when_written(&mut self) {
        if self.closing && self.queue.is_empty() && self.handshake.is_none() {
            self.input = None;
        }
    }

    /// Kills it because of what it sent.
    pub(super) fn kill(&mut self, reason: String) {
        if self.violation.is_none() {
            self.violation = Some(reason);
            self.control.kill();
            // What it still sends is not looked at.
            self.output_ended = true;
        }
    }

    /// Its messages have ended. It has `grace` to end as well.
    pub(super) fn output_ended(&mut self, grace: Duration) {
        self.output_ended = true;
        self.kill_at.get_or_insert(Instant::now() + grace);
    }

    /// Returns whether its messages are read.
    pub(super) fn is_read(&self) -> bool {
        !self.output_ended
    }

    /// Notes its end. Its last messages are still in the pipe.
    pub(super) fn note_end(&mut self, end: MachineEnd) {
        self.ended = Some(end);
        self.input = None;
        self.probe = None;
        self.kill_at = Some(Instant::now() + PIPE_TIMEOUT);
    }

    /// Returns its end once its last message has been read.
    pub(super) fn take_end(&mut self) -> Option<MachineEnd> {
        if self.output_ended { self.ended.take() } else { None }
    }

    /// Sends a `ping`. If it is not answered soon, a busy tool is interrupted, and after `grace` the machine is killed.
    pub(super) fn probe(&mut self, id: RequestId, ping: &str, grace: Duration) {
        if self.probe.is_none() {
            let now = Instant::now();
            self.queue.push(ping.as_bytes());
            self.probe = Some(Probe { id, interrupt_at: now + PING_TIMEOUT, kill_at: now + PING_TIMEOUT + grace });
        }
    }

    /// Ends the probe whose answer has come. Returns whether it was one.
    pub(super) fn end_probe(&mut self, id: &RequestId) -> bool {
        let is_answer = self.probe.as_ref().is_some_and(|probe| probe.id == *id);
        if is_answer {
            self.probe = None;
        }
        is_answer
    }

    /// Returns when [`LiveMachine::tick`] has something to do.
    pub(super) fn next_tick(&self) -> Option<Instant> {
        let probe = self.probe.as_ref().map(|probe| probe.interrupt_at.min(probe.kill_at));
        probe.into_iter().chain(self.kill_at).min()
    }

    /// Interrupts or kills it when that is due.
    pub(super) fn tick(&mut self) {
        let now = Instant::now();
        if let Some(probe) = &mut self.probe {
            if now >= probe.kill_at {
                self.probe = None;
                self.kill("it did not go on after the time limit of a request".to_owned());
            } else if now >= probe.interrupt_at {
                probe.interrupt_at = now + INTERRUPT_AGAIN;
                self.control.interrupt_busy_task();
            }
        }
        if self.kill_at.is_some_and(|at| now >= at) {
            self.kill_at = None;
            match self.ended {
                // Something else keeps the pipe open.
                Some(_) => self.output_ended = true,
                None => self.kill("it did not end in time".to_owned()),
            }
        }
    }
}
