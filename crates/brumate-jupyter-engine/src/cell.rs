//! One request to a kernel: its output, its questions, its limits and its end.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use brumate_engine_api::{
    Ended, EngineError, Event, Execute, ExecuteMode, ExitReason, FrontendRequest, GuestAnswer, GuestRequest,
    InterruptHandle, Layer, Limits, MAX_INPUT, MAX_PROMPT, Outcome, RequestBody, ReturnValue, StopReason, StreamName,
};
use brumate_jupyter_protocol::Message;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use crate::kernel::{Kernel, protocol};
use crate::messages;

/// Time in which a kernel says that it is idle, after its reply and its last output.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);
/// Time in which the output arrives that was written before the reply.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Time between two looks at the CPU time.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Bytes of displayed objects and of other messages of one request. Further ones are dropped.
const MAX_DISPLAY_BYTES: usize = 128 << 20;
/// Questions of one request.
const MAX_QUESTIONS: u64 = 1000;
/// Type of the pictures that matplotlib shows.
const PICTURE: &str = "image/png";
/// Key in the metadata of a request that comes from a tool; `DIRECT` of `kernel.py`.
const DIRECT: &str = "brumate";
/// Displayed objects of one request. Further ones are counted.
const MAX_DISPLAYS: usize = 10_000;
/// Events that wait for their receiver. Then the kernel's output waits.
const MAX_PENDING: usize = 64;
/// Answers that wait for the code.
const ANSWERS: usize = 4;

/// Stops the code of a kernel, and answers its questions, from elsewhere.
#[derive(Debug)]
pub(crate) struct Handle {
    state: Mutex<HandleState>,
    changed: Notify,
    answers: mpsc::Sender<(u64, Option<String>)>,
}

#[derive(Debug, Default)]
struct HandleState {
    interrupt: bool,
    kill: bool,
    /// Number of the question that waits.
    question: Option<u64>,
}

impl Handle {
    /// Makes a handle, and the receiver of its answers.
    pub(crate) fn new() -> (Arc<Self>, mpsc::Receiver<(u64, Option<String>)>) {
        let (answers, received) = mpsc::channel(ANSWERS);
        (Arc::new(Self { state: Mutex::default(), changed: Notify::new(), answers }), received)
    }

    /// Waits until the code is to be stopped. Returns whether it is to be killed.
    async fn stopped(&self, interrupted: bool) -> bool {
        loop {
            let changed = self.changed.notified();
            {
                let state = self.state.lock();
                if state.kill {
                    return true;
                }
                if state.interrupt && !interrupted {
                    return false;
                }
            }
            changed.await;
        }
    }
}

impl InterruptHandle for Handle {
    fn interrupt(&self) {
        self.state.lock().interrupt = true;
        self.changed.notify_waiters();
    }

    fn kill(&self) {
        self.state.lock().kill = true;
        self.changed.notify_waiters();
    }

    fn answer(&self, request: u64, answer: GuestAnswer) -> bool {
        let GuestAnswer::Input(line) = answer else { return false };
        if line.as_ref().is_some_and(|line| line.len() > MAX_INPUT) {
            return false;
        }
        let mut state = self.state.lock();
        if state.question != Some(request) {
            return false;
        }
        state.question = None;
        self.answers.try_send((request, line)).is_ok()
    }

    fn layers(&self) -> Vec<Layer> {
        Vec::new()
    }

    fn clear(&self) {
        self.state.lock().interrupt = false;
    }
}

/// Properties of a request to a kernel.
struct KernelRequest {
    /// Id of its message.
    id: String,
    /// Whether the kernel replies to it. Messages of comms have no reply.
    has_reply: bool,
    /// Whether the kernel may not say that it is idle.
    is_silent: bool,
    /// Whether the messages go to frontends as they are.
    for_frontends: bool,
}

impl KernelRequest {
    /// Makes the message of a request, and reads its properties.
    fn of(kernel: &Kernel, request: &Execute) -> Result<(Self, Message), EngineError> {
        if request.mode == ExecuteMode::Frontend {
            let parsed = FrontendRequest::parse(&request.code).map_err(|error| protocol(&error.to_string()))?;
            let mut message = kernel.message(&parsed.kind, &parsed.content);
            message.buffers = messages::buffers_of(&parsed);
            if parsed.metadata.is_object() {
                message.metadata = brumate_jupyter_protocol::raw(&parsed.metadata);
            }
            let properties = Self {
                id: message.header.msg_id.clone(),
                has_reply: !parsed.kind.starts_with("comm_") || parsed.kind == "comm_info_request",
                is_silent: parsed.content["silent"] == true,
                for_frontends: true,
            };
            return Ok((properties, message));
        }
        let content = json!({
            "code": request.code,
            "silent": false,
            "store_history": true,
            "user_expressions": {},
            "allow_stdin": request.allow_stdin,
            "stop_on_error": true,
        });
        let mut message = kernel.message("execute_request", &content);
        message.metadata = brumate_jupyter_protocol::raw(&json!({DIRECT: true}));
        let id = message.header.msg_id.clone();
        Ok((Self { id, has_reply: true, is_silent: false, for_frontends: false }, message))
    }
}

/// State of a request that runs.
struct Running<'a> {
    kernel: &'a mut Kernel,
    request: KernelRequest,
    limits: Limits,
    begun: Instant,
    cpu_before: Duration,
    reply: Option<Value>,
    error: Option<messages::Exception>,
    is_idle: bool,
    pending: VecDeque<Event>,
    output_bytes: u64,
    dropped: u64,
    display_bytes: usize,
    displays: usize,
    /// Digests of pictures that were shown.
    pictures: HashSet<u64>,
    questions: u64,
    /// Header of the question that waits.
    question: Option<Message>,
    paused_at: Option<Instant>,
    paused: Duration,
    stopped: Option<StopReason>,
    interrupted_at: Option<Instant>,
    interrupts: u32,
}

/// Runs a request. The kernel is to be given up after an error.
pub(crate) async fn run(
    kernel: &mut Kernel,
    request: &Execute,
    (limits, handle): (&Limits, &Handle),
    answers: &mut mpsc::Receiver<(u64, Option<String>)>,
    events: &mpsc::Sender<Event>,
) -> Result<Outcome, EngineError> {
    let mut limits = *limits;
    limits.wall = request.wall.unwrap_or(limits.wall);
    let (request, message) = KernelRequest::of(kernel, request)?;
    let cpu_before = kernel.cpu();
    // Answers to questions of earlier requests come too late.
    handle.state.lock().question = None;
    while answers.try_recv().is_ok() {}
    kernel.send_shell(message).await?;
    let mut running = Running {
        kernel,
        request,
        limits,
        begun: Instant::now(),
        cpu_before,
        reply: None,
        error: None,
        is_idle: false,
        pending: VecDeque::new(),
        output_bytes: 0,
        dropped: 0,
        display_bytes: 0,
        displays: 0,
        pictures: HashSet::new(),
        questions: 0,
        question: None,
        paused_at: None,
        paused: Duration::ZERO,
        stopped: None,
        interrupted_at: None,
        interrupts: 0,
    };
    running.finish(handle, answers, events).await?;
    Ok(running.outcome())
}

impl Running<'_> {
    async fn finish(
        &mut self,
        handle: &Handle,
        answers: &mut mpsc::Receiver<(u64, Option<String>)>,
        events: &mpsc::Sender<Event>,
    ) -> Result<(), EngineError> {
        let mut replied_at: Option<Instant> = None;
        let mut heard_at = self.begun;
        loop {
            let has_ended = (self.reply.is_some() || !self.request.has_reply) && self.is_idle;
            let grace_is_over = replied_at.is_some_and(|at| {
                let quiet = heard_at.max(at).elapsed();
                quiet >= IDLE_TIMEOUT || at.elapsed() >= DRAIN_TIMEOUT
            });
            if has_ended || self.reply.is_some() && grace_is_over {
                self.count_left_out();
                if self.pending.is_empty() {
                    return Ok(());
                }
            }
            let takes = self.pending.len() < MAX_PENDING;
            let tick = if replied_at.is_some() { IDLE_TIMEOUT / 4 } else { self.until_next_look() };
            tokio::select! {
                biased;
                permit = events.reserve(), if !self.pending.is_empty() => match (permit, self.pending.pop_front()) {
                    (Ok(permit), Some(event)) => permit.send(event),
                    _ => self.pending.clear(),
                },
                kill = handle.stopped(self.stopped.is_some()) => {
                    self.stopped.get_or_insert(StopReason::Cancelled);
                    if kill {
                        return Err(self.killed());
                    }
                    self.interrupt().await;
                }
                parts = self.kernel.connection.shell.recv() => match parts {
                    Ok(parts) => {
                        self.replied(parts);
                        if self.reply.is_some() {
                            replied_at.get_or_insert_with(Instant::now);
                        }
                    }
                    Err(_) => return Err(self.lost().await),
                },
                parts = self.kernel.connection.stdin.recv() => match parts {
                    Ok(parts) => self.asked(parts, handle),
                    Err(_) => return Err(self.lost().await),
                },
                Some((_, line)) = answers.recv() => self.answer(line).await?,
                reason = self.kernel.ended() => return Err(self.exited(reason)),
                // Last, since code can fill it for ever.
                parts = self.kernel.connection.iopub.recv(), if takes => match parts {
                    Ok(parts) => {
                        heard_at = Instant::now();
                        self.published(parts);
                    }
                    Err(_) => return Err(self.lost().await),
                },
                () = tokio::time::sleep(tick) => {}
            }
            self.enforce_limits().await?;
        }
    }

    /// Returns the time that the request has run, without the time in which it waited for answers.
    fn elapsed(&self) -> Duration {
        let waiting = self.paused_at.map_or(Duration::ZERO, |at| at.elapsed());
        self.begun.elapsed().saturating_sub(self.paused).saturating_sub(waiting)
    }

    fn until_next_look(&self) -> Duration {
        let left = self.limits.wall.saturating_sub(self.elapsed());
        if self.stopped.is_some() { LOOK_EVERY / 4 } else { LOOK_EVERY.min(left.max(Duration::from_millis(1))) }
    }

    /// Interrupts a request that has used up its time, and kills the kernel that does not react.
    async fn enforce_limits(&mut self) -> Result<(), EngineError> {
        if let Some(at) = self.interrupted_at {
            if at.elapsed() >= self.limits.grace {
                return Err(self.killed());
            }
            // Code may have caught the first one. The second comes late: it would spoil a traceback that a busy machine is making.
            if self.interrupts < 2 && at.elapsed() >= self.limits.grace * 3 / 4 {
                self.interrupts += 1;
                self.kernel.interrupt().await;
            }
            return Ok(());
        }
        if self.elapsed() >= self.limits.wall {
            self.stopped = Some(StopReason::TimeLimit);
            self.interrupt().await;
        } else if self.begun.elapsed() >= self.limits.cpu.min(LOOK_EVERY)
            && self.kernel.cpu().saturating_sub(self.cpu_before) >= self.limits.cpu
        {
            self.stopped = Some(StopReason::CpuLimit);
            self.interrupt().await;
        }
        Ok(())
    }

    async fn interrupt(&mut self) {
        if self.interrupted_at.is_none() {
            self.interrupted_at = Some(Instant::now());
            self.interrupts = 1;
            self.kernel.interrupt().await;
        }
    }

    /// Kills a kernel that has not reacted to its interrupt.
    fn killed(&mut self) -> EngineError {
        self.kernel.kill();
        self.exited(match self.stopped {
            Some(StopReason::TimeLimit) => ExitReason::TimeLimit,
            Some(StopReason::CpuLimit) => ExitReason::CpuLimit,
            Some(StopReason::Cancelled) | None => ExitReason::Cancelled,
        })
    }

    /// Returns the error of a kernel whose connection has ended: usually the kernel has ended, too.
    async fn lost(&mut self) -> EngineError {
        match tokio::time::timeout(IDLE_TIMEOUT, self.kernel.ended()).await {
            Ok(reason) => self.exited(reason),
            Err(_) => {
                self.kernel.kill();
                self.exited(ExitReason::Protocol("it broke its connection".to_owned()))
            }
        }
    }

    fn exited(&self, reason: ExitReason) -> EngineError {
        EngineError::MachineExited {
            reason,
            output_dropped: self.dropped,
            peak_memory_bytes: self.kernel.peak_memory(),
        }
    }

    /// Takes a message of the iopub channel.
    fn published(&mut self, parts: Vec<bytes::Bytes>) {
        // The topic in front is part of the identities.
        let Some(message) = self.kernel.read(parts) else { return };
        let is_own = messages::parent_of(&message).as_deref() == Some(&*self.request.id);
        let kind = message.header.msg_type.as_str();
        if kind == "status" {
            let content = message.content();
            if is_own && content["execution_state"] == "idle" {
                self.is_idle = true;
            }
            return;
        }
        // Threads of earlier cells go on writing.
        if kind == "stream" {
            if let Some((name, text)) = messages::stream_of(&message.content()) {
                self.write(name, text);
            }
            return;
        }
        let size = message.content.get().len() + message.buffers.iter().map(bytes::Bytes::len).sum::<usize>();
        if self.display_bytes.saturating_add(size) > MAX_DISPLAY_BYTES {
            self.dropped = self.dropped.saturating_add(size as u64);
            return;
        }
        self.display_bytes += size;
        if self.request.for_frontends {
            self.pending.extend(messages::frontend_message(&message).map(Event::Frontend));
            return;
        }
        let content = message.content();
        match kind {
            "display_data" | "update_display_data" | "execute_result" => {
                self.displays += usize::from(kind != "execute_result");
                if self.displays > MAX_DISPLAYS && kind != "execute_result" {
                    return;
                }
                let Some(mut data) = messages::bundle_of(&content) else { return };
                // A figure that is shown and is the value as well is one picture.
                if data.get(PICTURE).is_some_and(|picture| !self.pictures.insert(digest(picture))) {
                    data.remove(PICTURE);
                    if kind == "display_data" {
                        return;
                    }
                }
                let event =
                    if kind == "execute_result" { Event::ExecuteResult { data } } else { Event::DisplayData { data } };
                self.pending.push_back(event);
            }
            "error" if is_own => self.error = Some(messages::exception_of(&content)),
            _ => {}
        }
    }

    /// Passes text on, within the limit.
    fn write(&mut self, name: StreamName, mut text: String) {
        // The lines of `!command` come from a terminal.
        if !self.request.for_frontends && text.contains('\r') {
            text = text.replace("\r\n", "\n");
        }
        let room = self.limits.output_bytes.saturating_sub(self.output_bytes);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        if text.len() > room {
            let kept = text.floor_char_boundary(room);
            self.dropped = self.dropped.saturating_add((text.len() - kept) as u64);
            text.truncate(kept);
        }
        self.output_bytes = self.output_bytes.saturating_add(text.len() as u64);
        if text.is_empty() {
            return;
        }
        match self.pending.back_mut() {
            Some(Event::Stream { name: last, text: joined }) if *last == name => joined.push_str(&text),
            _ => self.pending.push_back(Event::Stream { name, text }),
        }
    }

    /// Takes a message of the shell channel.
    fn replied(&mut self, parts: Vec<bytes::Bytes>) {
        let Some(message) = self.kernel.read(parts) else { return };
        if messages::parent_of(&message).as_deref() != Some(&*self.request.id) || self.reply.is_some() {
            return;
        }
        let reply = message.content();
        if !self.request.for_frontends {
            self.show_pages(&reply);
        }
        if self.request.is_silent {
            self.is_idle = true;
        }
        self.reply = Some(reply);
    }

    /// Writes how many displays were left out, at the end of the request.
    fn count_left_out(&mut self) {
        let left_out = self.displays.saturating_sub(MAX_DISPLAYS);
        if left_out > 0 {
            self.displays = 0;
            let text = format!("[{left_out} more displays were left out: a cell may show {MAX_DISPLAYS}]\n");
            self.write(StreamName::Stdout, text);
        }
    }

    /// Writes texts that a frontend would show in a pager: the help of `name?`.
    fn show_pages(&mut self, reply: &Value) {
        let pages = reply["payload"].as_array().map(Vec::as_slice).unwrap_or_default();
        for page in pages.iter().filter(|page| page["source"] == "page") {
            if let Some(text) = page["data"]["text/plain"].as_str() {
                let plain = anstream::adapter::strip_str(text).to_string();
                self.write(StreamName::Stdout, format!("{plain}\n"));
            }
        }
    }

    /// Takes a message of the stdin channel: a question.
    fn asked(&mut self, parts: Vec<bytes::Bytes>, handle: &Handle) {
        let Some(message) = self.kernel.read(parts) else { return };
        let is_own = messages::parent_of(&message).as_deref() == Some(&*self.request.id);
        if message.header.msg_type != "input_request" || !is_own || self.questions >= MAX_QUESTIONS {
            return;
        }
        self.questions += 1;
        let content = message.content();
        let mut prompt = content["prompt"].as_str().unwrap_or_default().to_owned();
        prompt.truncate(prompt.floor_char_boundary(MAX_PROMPT));
        self.paused_at.get_or_insert_with(Instant::now);
        self.question = Some(message);
        handle.state.lock().question = Some(self.questions);
        let body = RequestBody::Input { prompt, password: content["password"] == true };
        self.pending.push_back(Event::Request(GuestRequest { id: self.questions, body }));
    }

    /// Passes an answer to the kernel. At the end of the input the kernel gets an empty line, and the code an interrupt.
    async fn answer(&mut self, line: Option<String>) -> Result<(), EngineError> {
        if let Some(at) = self.paused_at.take() {
            self.paused += at.elapsed();
        }
        let Some(question) = self.question.take() else { return Ok(()) };
        let content = json!({"value": line.as_deref().unwrap_or("\u{4}"), "status": "ok"});
        let mut reply = self.kernel.message("input_reply", &content);
        reply.parent_header = brumate_jupyter_protocol::raw(&question.header);
        self.kernel.send_stdin(reply).await
    }

    fn outcome(self) -> Outcome {
        let reply = self.reply.unwrap_or(Value::Null);
        let ended = if self.request.for_frontends {
            let json = if reply.is_null() { "{}".to_owned() } else { reply.to_string() };
            Ended::Returned(Some(ReturnValue { json, is_str: false }))
        } else if reply["status"] == "ok" {
            Ended::Returned(None)
        } else {
            let exception = self.error.unwrap_or_else(|| messages::exception_of(&reply));
            ended_by(exception)
        };
        Outcome {
            ended,
            is_printed: false,
            stopped: self.stopped,
            output_dropped: self.dropped,
            peak_memory_bytes: self.kernel.peak_memory().unwrap_or_default(),
            cpu: self.kernel.cpu().saturating_sub(self.cpu_before),
            new_files: Vec::new(),
            more_new_files: 0,
        }
    }
}

/// Returns a number that other pictures do not have.
fn digest(picture: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    picture.hash(&mut hasher);
    hasher.finish()
}

/// Returns the end of code with this exception. `SystemExit` is an exit.
fn ended_by(exception: messages::Exception) -> Ended {
    let messages::Exception { ename, evalue, traceback } = exception;
    if ename == "SystemExit" {
        return match evalue.parse::<i32>() {
            Ok(code) => Ended::Exited { code: code & 0xff, message: String::new() },
            Err(_) if evalue.is_empty() || evalue == "None" => Ended::Exited { code: 0, message: String::new() },
            Err(_) => Ended::Exited { code: 1, message: evalue },
        };
    }
    let ename = if ename.is_empty() { "KernelError".to_owned() } else { ename };
    Ended::Raised { ename, evalue, traceback }
}
