//! Runs the cells of a notebook in a kernel, as nbclient does.

use std::sync::Arc;

use async_trait::async_trait;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use brumate_engine_api::{FrontendKind, StopReason, StreamName};
use brumate_notebook::{Notebook, OUTPUT_DROPPED, OutputPolicy, Outputs, Recorded, Widgets, language_info};
use brumate_packages::PYTHON_FULL_VERSION;
use brumate_session::sessions::{SessionError, Sessions};
use brumate_session::{CancellationToken, RunEvent};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::kernel::{Destination, Frontends, Kernel, KernelSession};
use brumate_jupyter_protocol::{Header, Message};

/// Most bytes of the outputs of all cells of one run.
const MAX_OUTPUT_BYTES: usize = 512 << 20;
/// Tag of cells whose errors do not end the run.
const RAISES: &str = "raises-exception";
/// Tag of cells that do not run.
const SKIPPED: &str = "skip-execution";
/// Name of the times of a cell in its metadata.
const EXECUTION: &str = "execution";

/// Error of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellFailure {
    /// Index of the cell, from 0.
    pub index: usize,
    /// Name of the exception.
    pub name: String,
    /// Its message.
    pub message: String,
    /// The lines of its traceback, without colors.
    pub traceback: Vec<String>,
    /// Limit or signal that stopped the cell, if one did.
    pub stopped: Option<StopReason>,
}

/// End of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotebookEnd {
    /// All cells have run.
    Completed,
    /// A cell failed. The cells behind it did not run.
    Failed(CellFailure),
}

/// A kernel for the run of one notebook.
pub struct NotebookRun {
    kernel: Kernel,
    client: Arc<Client>,
}

impl NotebookRun {
    /// Makes a kernel with a session of its own, which belongs to `principal`. `live` receives the texts of outputs at once.
    pub fn new(
        sessions: Sessions,
        principal: &str,
        policy: OutputPolicy,
        live: Option<mpsc::Sender<RunEvent>>,
    ) -> Self {
        let client = Arc::new(Client { state: Mutex::new(State::new()), live });
        let frontends = Arc::clone(&client) as Arc<dyn Frontends>;
        Self { kernel: Kernel::new(sessions, principal, KernelSession::New, policy, frontends), client }
    }

    /// Runs code that is no cell of the notebook. Its outputs are not kept.
    ///
    /// # Errors
    ///
    /// [`SessionError`].
    pub async fn prepare(&self, code: &str) -> Result<(), SessionError> {
        self.kernel.start().await?;
        if !code.is_empty() {
            self.execute(code, true).await;
        }
        Ok(())
    }

    /// Runs the code cells of a notebook in order, and sets their outputs, numbers and times. Ends at the first error, unless
    /// `allow_errors` or the cell's tag `raises-exception` allows it. When `cancel` is cancelled, the running cell is interrupted, and no
    /// other runs.
    ///
    /// # Errors
    ///
    /// [`SessionError`] when there is no session. The notebook has the outputs so far.
    pub async fn run(
        &self,
        notebook: &mut Notebook,
        allow_errors: bool,
        cancel: &CancellationToken,
    ) -> Result<NotebookEnd, SessionError> {
        self.kernel.start().await?;
        notebook.set_language_info(language_info(PYTHON_FULL_VERSION));
        *self.client.state.lock() = State::new();
        let mut ran = Vec::new();
        let mut end = NotebookEnd::Completed;
        for index in 0..notebook.len() {
            let Some(code) = notebook.code(index).map(str::to_owned) else { continue };
            if notebook.has_tag(index, SKIPPED) {
                continue;
            }
            self.client.state.lock().begin_cell();
            ran.push(index);
            let executing = self.execute(&code, false);
            tokio::pin!(executing);
            let (reply, times) = tokio::select! {
                ran = &mut executing => ran,
                () = cancel.cancelled() => {
                    self.kernel.interrupt().await;
                    executing.await
                }
            };
            let count = self.client.state.lock().count.or(reply["execution_count"].as_u64());
            notebook.set_execution_count(index, count);
            notebook.set_cell_metadata(index, EXECUTION, Value::Object(times));
            let stopped = self.kernel.last_stop();
            let is_allowed = allow_errors || notebook.has_tag(index, RAISES);
            let is_cancelled = cancel.is_cancelled();
            if is_cancelled || (reply["status"] != "ok" && !is_allowed) {
                let text = |part: &Value| part.as_str().unwrap_or_default().to_owned();
                let stopped = if is_cancelled { Some(StopReason::Cancelled) } else { stopped };
                end = NotebookEnd::Failed(CellFailure {
                    index,
                    name: text(&reply["ename"]),
                    message: text(&reply["evalue"]),
                    traceback: texts(&reply["traceback"]).map(without_colors).collect(),
                    stopped,
                });
                break;
            }
        }
        let state = std::mem::replace(&mut *self.client.state.lock(), State::new());
        // Updates of displayed objects may have changed the outputs of all cells.
        for (index, Recorded { outputs, dropped }) in ran.into_iter().zip(state.outputs.finish()) {
            notebook.set_outputs(index, outputs);
            if dropped > 0 {
                notebook.set_cell_metadata(index, "brumate", json!({OUTPUT_DROPPED: dropped}));
            }
        }
        let widgets = state.widgets.finish();
        if !widgets.is_empty() {
            notebook.set_widgets(widgets);
        }
        Ok(end)
    }

    /// Returns the id of the session, once there is one.
    pub fn session_id(&self) -> Option<Arc<str>> {
        self.kernel.session_id()
    }

    /// Ends the kernel, and removes its session.
    pub async fn end(&self) {
        self.kernel.end().await;
    }

    /// Runs code. Returns the content of the reply, and the times.
    async fn execute(&self, code: &str, silent: bool) -> (Value, Map<String, Value>) {
        let content = json!({
            "code": code,
            "silent": silent,
            "store_history": !silent,
            "user_expressions": {},
            "allow_stdin": false,
            "stop_on_error": true,
        });
        self.request("execute_request", &content).await;
        let (reply, times, changed) = {
            let mut state = self.client.state.lock();
            (state.reply.take().unwrap_or_default(), std::mem::take(&mut state.times), state.widgets.changed())
        };
        // The code learns what its output widgets have.
        for (id, outputs) in changed {
            let update = json!({"method": "update", "state": {"outputs": outputs}, "buffer_paths": []});
            self.request("comm_msg", &json!({"comm_id": id, "data": update})).await;
        }
        (reply, times)
    }

    async fn request(&self, kind: &str, content: &Value) {
        let request = Message::new(kind, self.kernel.id(), &Header::default(), content);
        self.client.state.lock().request.clone_from(&request.header.msg_id);
        self.kernel.shell(Vec::new(), request).await;
    }
}

/// The frontend of a run: collects what the kernel sends.
struct Client {
    state: Mutex<State>,
    live: Option<mpsc::Sender<RunEvent>>,
}

struct State {
    outputs: Outputs,
    /// Number of the present cell, if the kernel has said it.
    count: Option<u64>,
    /// Times of the present cell, as nbclient has them.
    times: Map<String, Value>,
    /// Content of the last reply.
    reply: Option<Value>,
    /// Id of the request that runs.
    request: String,
    widgets: Widgets,
}

impl State {
    fn new() -> Self {
        Self {
            outputs: Outputs::new(MAX_OUTPUT_BYTES),
            count: None,
            times: Map::new(),
            reply: None,
            request: String::new(),
            widgets: Widgets::default(),
        }
    }

    fn begin_cell(&mut self) {
        self.outputs.begin_cell();
        (self.count, self.times) = (None, Map::new());
    }

    /// Returns the collector of the outputs of the present cell: an output widget's, if one takes them.
    fn taker(&mut self) -> &mut Outputs {
        self.widgets.taker(&self.request).unwrap_or(&mut self.outputs)
    }

    /// Takes a message on iopub. Returns its text, if a terminal would show some.
    fn take(&mut self, message: &Message) -> Option<(StreamName, String)> {
        let content = message.content();
        let text = |part: &Value| part.as_str().unwrap_or_default().to_owned();
        match message.header.msg_type.as_str() {
            "status" => {
                let name = format!("iopub.status.{}", text(&content["execution_state"]));
                self.times.insert(name, message.header.date.as_str().into());
                None
            }
            "execute_input" => {
                self.times.insert("iopub.execute_input".to_owned(), message.header.date.as_str().into());
                self.count = content["execution_count"].as_u64();
                None
            }
            "stream" => {
                let name = if content["name"] == "stderr" { StreamName::Stderr } else { StreamName::Stdout };
                let text = text(&content["text"]);
                self.taker().stream(name, &text);
                Some((name, text))
            }
            kind => {
                let kind = kind_of(kind)?;
                if matches!(kind, FrontendKind::CommOpen | FrontendKind::CommMsg | FrontendKind::CommClose) {
                    let buffers: Vec<String> =
                        message.buffers.iter().map(|buffer| BASE64_STANDARD.encode(buffer)).collect();
                    self.widgets.message(kind, &content, &buffers);
                    return None;
                }
                let shown = match kind {
                    FrontendKind::DisplayData | FrontendKind::ExecuteResult => {
                        content["data"]["text/plain"].as_str().map(|text| (StreamName::Stdout, format!("{text}\n")))
                    }
                    FrontendKind::Error => {
                        let lines: Vec<String> = texts(&content["traceback"]).map(without_colors).collect();
                        Some((StreamName::Stderr, format!("{}\n", lines.join("\n"))))
                    }
                    _ => None,
                };
                match kind {
                    // Displayed objects outside of output widgets may be meant.
                    FrontendKind::UpdateDisplayData => self.outputs.message(kind, content),
                    _ => self.taker().message(kind, content),
                }
                shown
            }
        }
    }
}

#[async_trait]
impl Frontends for Client {
    async fn send(&self, to: Destination, message: Message) {
        match to {
            Destination::Iopub => {
                let shown = self.state.lock().take(&message);
                if let (Some((name, text)), Some(live)) = (shown, &self.live) {
                    // The receiver ends when the reader of the output is gone.
                    let _ = live.send(RunEvent::Output { name, text }).await;
                }
            }
            Destination::Shell(_) => {
                let mut state = self.state.lock();
                state.times.insert("shell.execute_reply".to_owned(), message.header.date.as_str().into());
                state.reply = Some(message.content());
            }
            Destination::Control(_) | Destination::Stdin(_) => {}
        }
    }
}

/// Returns the kind of a message of code; `None` for messages of the kernel.
fn kind_of(msg_type: &str) -> Option<FrontendKind> {
    FrontendKind::parse(msg_type).filter(|kind| *kind != FrontendKind::ExecuteInput)
}

/// Returns the strings of a list.
fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Returns a text without the sequences that set colors (`ESC [ … m`).
fn without_colors(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut plain, part| {
        let rest = part.trim_start_matches(|char: char| char.is_ascii_digit() || matches!(char, ';' | ':'));
        match rest.strip_prefix('m') {
            Some(rest) => plain.push_str(rest),
            None => {
                plain.push_str("\u{1b}[");
                plain.push_str(part);
            }
        }
        plain
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_left_out() {
        for (text, plain) in [
            ("a", "a"),
            ("\u{1b}[31mred\u{1b}[0m, \u{1b}[38;5;1mx\u{1b}[m", "red, x"),
            ("\u{1b}[2Ja\u{1b}[", "\u{1b}[2Ja\u{1b}["),
        ] {
            assert_eq!(without_colors(text), plain);
        }
    }
}
