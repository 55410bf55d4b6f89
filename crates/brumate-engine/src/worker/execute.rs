//! Executions, and the warm-up before the first one.

use std::time::Duration;

use super::{Failure, Worker, files};
use crate::api::{COMMAND_NAME, Ended, Execute, ExecuteMode, Outcome, StopReason};
use crate::interpreter::InterpreterError;
use crate::meter::cpu_time;
use crate::wire::{HEADER, MachineMessage, MachineRequest, WireError, decode, encode};

/// Answer of the driver's `execute`.
#[derive(serde::Deserialize)]
struct ExecuteReply {
    ended: Ended,
    printed: bool,
}

/// Returns the arguments that a program is started with, as its `sys.orig_argv` has them.
fn command_line(request: &Execute) -> Vec<&str> {
    let mut line = vec!["python"];
    let option = match request.mode {
        ExecuteMode::Module => Some("-m"),
        ExecuteMode::Script if request.file_name == COMMAND_NAME => Some("-c"),
        ExecuteMode::Script | ExecuteMode::Server => None,
        ExecuteMode::Snippet | ExecuteMode::Cell | ExecuteMode::NotebookCell => return line,
    };
    match option {
        // In the place of the first argument.
        Some(option) => line.extend([option, &request.code]),
        None => line.push(request.argv.first().unwrap_or(&request.file_name)),
    }
    line.extend(request.argv.iter().skip(1).map(String::as_str));
    line
}

impl Worker {
    /// Runs the request code path once so that its pages are resident.
    pub(super) fn touch_pages(&mut self) -> Result<(), WireError> {
        self.start(self.limits, None, None, Vec::new());
        self.touch_message_pages()
    }

    /// The part of [`Worker::touch_pages`] that is repeated after each checkpoint.
    pub(super) fn touch_message_pages(&self) -> Result<(), WireError> {
        let start = MachineRequest::Start { limits: self.limits, stdin: false, messages: false, mounts: Vec::new() };
        decode::<MachineRequest>(&encode(&start, 0)?[HEADER..])?;
        let request = Box::new(Execute { code: "1+1".to_owned(), ..Execute::default() });
        let request = MachineRequest::Execute { number: 1, request, list: None, checkpoint: false };
        if let MachineRequest::Execute { request, .. } = decode(&encode(&request, 0)?[HEADER..])? {
            // Cannot fail: it was decoded from a request.
            drop(serde_json::to_string(&*request));
        }
        let answer = r#"{"ended":{"Returned":{"json":"2","is_str":false}},"printed":false}"#;
        if let Ok(reply) = serde_json::from_str(answer) {
            let outcome = Box::new(self.outcome(reply, cpu_time(), false));
            encode(&MachineMessage::Done { outcome, listed: None }, 0)?;
        }
        Ok(())
    }

    pub(super) fn execute(&mut self, number: u64, request: &Execute) -> Result<Outcome, Failure> {
        let text = serde_json::to_string(request)
            .map_err(|error| InterpreterError::Driver(format!("bad request: {error}")))?;
        let channel = self.channel.clone();
        self.lock_output().begin(crate::files::event_sink(channel), self.limits.output_bytes);
        let host = self.machine.host();
        host.account.refused = false;
        host.vfs.process_mut().set_command_line(command_line(request));
        let since = self.machine.host().vfs.last_change();
        let before = cpu_time();
        crate::signals::arm(number);
        self.meter.begin(self.limits.cpu, self.limits.grace);
        let answer = self.machine.call_driver("execute", &text);
        if answer.is_ok() && request.ends_program {
            // Files of the C library's; a failure is the program's, and nobody is left to hear it.
            let _ = self.machine.call_export("fflush", &[0]);
        }
        self.meter.end();
        let cpu_limit = crate::signals::disarm();
        let answer = answer?;
        let executed: ExecuteReply = serde_json::from_str(&answer).map_err(|_| InterpreterError::Damaged)?;
        let mut outcome = self.outcome(executed, before, cpu_limit);
        let except = request.mode.keeps_names().then_some(crate::files::WORKSPACE);
        (outcome.new_files, outcome.more_new_files) = files::new_files(&mut self.machine.host().vfs, since, except);
        if matches!(request.mode, ExecuteMode::Script | ExecuteMode::Server) {
            // The driver puts the script there.
            let script = format!("{}/{}", crate::files::HOME, request.file_name);
            outcome.new_files.retain(|file| file.path != script);
        }
        Ok(outcome)
    }

    /// Returns the outcome of an execution. `before` is the CPU time when it began.
    fn outcome(&self, reply: ExecuteReply, before: Duration, cpu_limit: bool) -> Outcome {
        Outcome {
            ended: reply.ended,
            is_printed: reply.printed,
            stopped: cpu_limit.then_some(StopReason::CpuLimit),
            output_dropped: self.lock_output().end(),
            peak_memory_bytes: self.machine.memory_bytes(),
            cpu: cpu_time().saturating_sub(before),
            new_files: Vec::new(),
            more_new_files: 0,
        }
    }
}
