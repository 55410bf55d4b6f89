//! The loop of a server over lines: it passes messages on, and keeps the server alive.

use std::time::Duration;

use brumate_setting::Setting;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::StdioOptions;
use super::answers::{self, StopCause};
use super::envelope::{self, Message};
use super::event::Event;
use super::lines::{Line, LineReader, OutputQueue};
use super::live::LiveMachine;
use super::request_id::RequestId;
use super::requests::{AnswerOf, Requests};
use crate::backoff::{Backoff, MAX_FAILED_STARTS};
use crate::machine::{Launcher, MachineEnd};
use crate::reports::{ReportLog, elide_middle};
use crate::start::StartedMachine;

/// Bytes of the client that are read at once.
const CHUNK_BYTES: usize = 64 << 10;
/// How long open requests may take to end when the client has closed its end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// Exit status of a server that the host has given up.
const FAILURE: u8 = 1;
/// Longest reason of a start that failed in the text of a server's end, in bytes.
const MAX_LAST_WORDS: usize = 16 << 10;
/// Notifications that tell a client to read the lists of a server again.
const LISTS_CHANGED: [&str; 3] =
    ["notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed"];

/// Requests of a server that a person or a model of the client answers. The time limit of a call stands still meanwhile.
const ASKING: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/// Serves one client; see [`serve_stdio`](super::serve_stdio).
pub(super) struct Supervisor<'a, R, W> {
    launcher: &'a dyn Launcher,
    pub(super) options: StdioOptions,
    pub(super) client: LineReader<R>,
    pub(super) client_output: W,
    pub(super) to_client: OutputQueue,
    pub(super) requests: Requests,
    pub(super) machine: Option<LiveMachine>,
    /// The client's `initialize` and its id, for a new machine.
    pub(super) initialize: Option<(RequestId, Vec<u8>)>,
    /// The client's `notifications/initialized`.
    pub(super) initialized: Option<Vec<u8>>,
    backoff: Backoff,
    reports: ReportLog,
    /// The end of the server, once it is given up.
    pub(super) given_up: Option<MachineEnd>,
    /// The client has closed its end, or the host is to end.
    pub(super) closing: bool,
    /// The host is to end.
    pub(super) shutting_down: bool,
    /// The client reads no more.
    pub(super) client_gone: bool,
    /// When the machine's input is closed although requests are open.
    pub(super) drain_until: Option<Instant>,
    /// Pings sent so far.
    pings: u64,
}

impl<'a, R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Supervisor<'a, R, W> {
    pub(super) fn new(
        launcher: &'a dyn Launcher,
        first: StartedMachine,
        (input, output): (R, W),
        options: StdioOptions,
    ) -> Self {
        Self {
            launcher,
            client: LineReader::new(BufReader::with_capacity(CHUNK_BYTES, input)),
            client_output: output,
            to_client: OutputQueue::default(),
            requests: Requests::new(options.request_timeout),
            machine: Some(LiveMachine::new(first)),
            options,
            initialize: None,
            initialized: None,
            backoff: Backoff::default(),
            reports: ReportLog::default(),
            given_up: None,
            closing: false,
            shutting_down: false,
            client_gone: false,
            drain_until: None,
            pings: 0,
        }
    }

    /// Serves until the client or the server has ended.
    pub(super) async fn run(mut self, shutdown: CancellationToken) -> std::io::Result<MachineEnd> {
        loop {
            match self.next_event(&shutdown).await {
                Event::Client(line) => match line? {
                    Some(line) => self.handle_client_line(line, &shutdown).await,
                    None => self.close(),
                },
                Event::Server(Ok(Some(line))) => self.handle_server_line(line),
                Event::Server(Ok(None) | Err(_)) => self.with_machine(|machine, grace| machine.output_ended(grace)),
                Event::ToClient(Ok(())) => {}
                Event::ToClient(Err(_)) => {
                    self.client_gone = true;
                    self.to_client.clear();
                    self.close();
                }
                Event::ToServer(written) => self.with_machine(|machine, _| {
                    if written.is_err() {
                        // It will end soon, or it closed the pipe.
                        machine.queue.clear();
                    }
                    machine.close_when_written();
                }),
                Event::End(end) => self.with_machine(|machine, _| machine.note_end(end)),
                Event::Time => self.handle_time(),
                Event::Reload => self.with_machine(|machine, grace| {
                    machine.reloading = true;
                    machine.close(grace);
                }),
                Event::Shutdown => {
                    self.shutting_down = true;
                    self.close();
                }
            }
            self.close_machine_when_idle();
            if let Some(end) = self.machine.as_mut().and_then(LiveMachine::take_end)
                && let Some(end) = self.handle_end(end, &shutdown).await
            {
                self.given_up = Some(end);
            }
            if let Some(end) = self.given_up.take() {
                self.flush().await;
                return Ok(end);
            }
            if self.closing && self.machine.is_none() {
                self.flush().await;
                return Ok(MachineEnd { status: 0, text: String::new() });
            }
        }
    }

    fn with_machine(&mut self, change: impl FnOnce(&mut LiveMachine, Duration)) {
        if let Some(machine) = &mut self.machine {
            change(machine, self.options.grace);
        }
    }

    /// The client sends no more, or the host is to end. Open requests may still be answered.
    fn close(&mut self) {
        self.closing = true;
        let drain = if self.shutting_down || self.client_gone { Duration::ZERO } else { DRAIN_TIMEOUT };
        let until = Instant::now() + drain;
        self.drain_until = Some(self.drain_until.map_or(until, |before| before.min(until)));
    }

    /// Closes the input of the machine if the client has closed its end, and no request is open or there is no time left.
    fn close_machine_when_idle(&mut self) {
        if self.drain_until.is_some_and(|until| !self.requests.any_open() || until <= Instant::now()) {
            self.with_machine(|machine, grace| machine.close(grace));
        }
    }

    /// Adds a line for the client.
    pub(super) fn tell_client(&mut self, line: &[u8]) {
        if !self.client_gone {
            self.to_client.push(line);
        }
    }

    /// Writes what the client has not got yet, as long as it reads.
    async fn flush(&mut self) {
        let written = tokio::time::timeout(self.options.grace, async {
            while !self.to_client.is_empty() {
                self.to_client.write_to(&mut self.client_output).await?;
            }
            tokio::io::AsyncWriteExt::flush(&mut self.client_output).await
        });
        // A client that does not read gets nothing more.
        let _ = written.await;
    }

    /// Stops the requests whose time is up, and what is due at the machine.
    fn handle_time(&mut self) {
        let overdue = self.requests.take_overdue();
        if !overdue.is_empty() {
            let limit = self.options.request_timeout.as_secs_f64();
            let setting = Setting::Timeout.quoted();
            let reason = format!("The request was stopped at its time limit of {limit} seconds ({setting}).");
            for (id, request) in &overdue {
                self.tell_client(answers::stopped(id, request, StopCause::TimeLimit, &reason).as_bytes());
                let cancelled = answers::cancelled(id, &reason);
                self.with_machine(|machine, _| machine.send(cancelled.as_bytes()));
            }
            self.probe();
        }
        self.with_machine(|machine, _| machine.tick());
    }

    /// Finds out whether the server's loop goes on.
    pub(super) fn probe(&mut self) {
        self.pings += 1;
        let id = RequestId::of_text(&format!("brumate-ping-{}", self.pings));
        let ping = answers::ping(&id);
        self.with_machine(|machine, grace| machine.probe(id, &ping, grace));
    }

    /// Passes a line of the server on. A server that breaks the protocol is killed.
    fn handle_server_line(&mut self, line: Line) {
        let Line::Whole(line) = line else {
            return self.violate("it sent a message of more than 16 MiB".to_owned());
        };
        let messages = match envelope::split(&line) {
            Ok(messages) => messages,
            Err(error) => return self.violate(format!("it sent a line that is no message: {error}")),
        };
        for message in messages {
            if let Err(reason) = self.handle_server_message(message) {
                return self.violate(reason);
            }
        }
    }

    fn violate(&mut self, reason: String) {
        self.with_machine(|machine, _| machine.kill(reason));
    }

    fn handle_server_message(&mut self, text: &[u8]) -> Result<(), String> {
        match envelope::parse(text).map_err(|error| format!("it sent a line that is no message: {error}"))? {
            Message::Notification { cancelled, .. } => {
                if let Some(id) = cancelled {
                    // The client need not answer it any more.
                    self.requests.end_of_server(&id);
                }
                self.tell_client(text);
            }
            Message::Response { id: None } => self.tell_client(text),
            Message::Request { id, method } => {
                let asks_somebody = ASKING.contains(&&*method);
                self.requests.begin_of_server(id, asks_somebody).map_err(|_| {
                    "it sent a request whose id is in use, or more than 1,024 requests at once".to_owned()
                })?;
                self.tell_client(text);
            }
            Message::Response { id: Some(id) } => {
                if let Some(machine) = &mut self.machine {
                    if machine.end_probe(&id) {
                        return Ok(());
                    }
                    if machine.handshake.as_ref() == Some(&id) {
                        self.end_handshake();
                        return Ok(());
                    }
                }
                match self.requests.answered(&id) {
                    AnswerOf::Open | AnswerOf::Cancelled => {
                        // Clients ignore changes that a server has not declared, and the SDK declares none.
                        let declares = self.options.reload.is_some()
                            && self.initialize.as_ref().is_some_and(|(initialize, _)| *initialize == id);
                        let declared = declares.then(|| answers::with_changing_lists(&id, text)).flatten();
                        self.tell_client(declared.as_deref().map_or(text, str::as_bytes));
                    }
                    AnswerOf::Stopped => {}
                    AnswerOf::Nothing => return Err(format!("it answered {}, which is no open request", id.as_json())),
                }
            }
        }
        Ok(())
    }

    /// The new machine has answered `initialize`.
    fn end_handshake(&mut self) {
        let initialized = self.initialized.clone();
        self.with_machine(|machine, _| {
            machine.handshake = None;
            for message in initialized.into_iter().chain(std::mem::take(&mut machine.pending)) {
                machine.queue.push(&message);
            }
            machine.close_when_written();
        });
    }

    /// Handles the end of the machine. Returns the end of the server, if it is not to be started again.
    async fn handle_end(&mut self, end: MachineEnd, shutdown: &CancellationToken) -> Option<MachineEnd> {
        let machine = self.machine.take()?;
        let (open, of_server) = self.requests.take_all();
        let ended_itself = end.status == 0 && end.text.is_empty() && machine.violation.is_none();
        let what = match &machine.violation {
            _ if machine.reloading => "The server was started again, because its file has changed.".to_owned(),
            Some(violation) => format!("The server was ended: {violation}."),
            None if ended_itself => "The server has ended.".to_owned(),
            None => format!("The server has died: {}.", end.reason()),
        };
        for (id, request) in &open {
            self.tell_client(answers::stopped(id, request, StopCause::MachineEnd, &what).as_bytes());
        }
        for id in &of_server {
            self.tell_client(answers::cancelled(id, &what).as_bytes());
        }
        if self.closing {
            // What a machine says that was told to end is of no interest, unless the program failed by itself.
            let failed = machine.violation.is_none() && end.status != 0 && !self.shutting_down;
            return Some(if failed { end } else { MachineEnd { status: 0, text: String::new() } });
        }
        if machine.reloading {
            self.restart(shutdown).await;
            if self.initialized.is_some() && self.machine.is_some() {
                for method in LISTS_CHANGED {
                    self.tell_client(answers::notification(method).as_bytes());
                }
            }
            return None;
        }
        if ended_itself {
            return Some(end);
        }
        self.backoff.crashed();
        let text = if machine.violation.is_none() { end.text.as_str() } else { "" };
        self.reports.error(&format!("{what} The next request of the client starts it again"), text);
        None
    }

    /// Starts a new machine, and gives it the client's `initialize`. A failure leaves no machine; the server is given up after
    /// [`MAX_FAILED_STARTS`] of them, unless it is watched: its file may be changed.
    pub(super) async fn restart(&mut self, shutdown: &CancellationToken) {
        let start = async {
            tokio::time::sleep(self.backoff.delay()).await;
            StartedMachine::start(self.launcher).await
        };
        let started = tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            started = start => started,
        };
        let started = match started {
            Ok(started) => started,
            Err(error) => {
                let reason = error.to_string();
                if self.backoff.start_failed() && self.options.reload.is_none() {
                    let reason = elide_middle(reason.trim_end(), MAX_LAST_WORDS);
                    let text = format!(
                        "The server could not be started again {MAX_FAILED_STARTS} times, one after the other. The last time: {reason}"
                    );
                    self.given_up = Some(MachineEnd { status: FAILURE, text });
                } else {
                    self.reports.error("The server cannot be started again", &reason);
                }
                return;
            }
        };
        self.backoff.started();
        self.given_up = None;
        let mut machine = LiveMachine::new(started);
        if let Some((id, message)) = &self.initialize {
            machine.queue.push(message);
            machine.handshake = Some(id.clone());
        }
        self.machine = Some(machine);
    }
}
