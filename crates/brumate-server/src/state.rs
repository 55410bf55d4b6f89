//! The state that all calls of a server share.

use std::ops::Deref;
use std::time::Duration;

use brumate_mcp::{Context, Error, Principal, Suspension};
use brumate_session::sessions::{LOCAL_PRINCIPAL, Sessions};
use brumate_session::{CancellationToken, Runner};

use crate::format::ReturnMode;

/// How long interrupted calls may take to answer, in addition to the grace time of running code.
pub(crate) const ANSWER_GRACE: Duration = Duration::from_secs(1);
/// How long a cancelled call may take to put in order what it has begun. Nobody waits for it.
const CANCEL_GRACE: Duration = Duration::from_secs(60);

/// The result for input that comes too late.
const INPUT_TOO_LATE: &str = "The code no longer waits for this input: the input was given already, or it came too late and the \
                              code was interrupted. A session keeps what the code did before that. Run the code again.";

/// The error for input that belongs to a call in another process.
const INPUT_FOR_ANOTHER_SERVER: &str = "This server does not run the code that asked for this input: the code runs in another \
     server process, or its process has ended. If several servers share an address, route all requests of a client to the same \
     one. Run the code again.";

/// The set of tools that a server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolSet {
    /// `run_python_code` alone, with the arguments and results of mcp-run-python.
    #[default]
    Run,
    /// The tools of the code interpreter, with sessions.
    Interpreter,
    /// All tools. `run_python_code` takes a session as well.
    All,
}

/// The state of a server.
#[derive(Debug, Clone)]
pub(crate) struct ServerState {
    pub(crate) runner: Runner,
    pub(crate) mode: ReturnMode,
    /// Whether results of `run_python_code` contain figures.
    pub(crate) figures: bool,
    pub(crate) tools: ToolSet,
    /// `None` for [`ToolSet::Run`].
    pub(crate) sessions: Option<Sessions>,
    /// How long a person may take for an answer to `input()`.
    pub(crate) input_timeout: Duration,
    /// The time after which a call becomes a task, for clients that know tasks.
    pub(crate) task_after: Duration,
    /// Cancels all running calls.
    pub(crate) stop: CancellationToken,
}

impl ServerState {
    /// Returns the sessions.
    ///
    /// # Errors
    ///
    /// Fails if the server has no sessions.
    pub(crate) fn sessions(&self) -> Result<&Sessions, Error> {
        self.sessions.as_ref().ok_or_else(|| Error::new("this server has no sessions"))
    }

    /// Returns how long interrupted calls may take to answer.
    pub(crate) fn grace(&self) -> Duration {
        self.runner.limits().grace + ANSWER_GRACE
    }

    /// Returns the token of a call's work.
    pub(crate) fn call_token(&self, context: &Context) -> CallToken {
        let (token, cancelled) = (self.stop.child_token(), context.cancellation());
        let of_call = token.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = cancelled.cancelled() => of_call.cancel(),
                () = of_call.cancelled() => {}
            }
        });
        CallToken(token)
    }
}

/// A token that fires when the call is cancelled, when the server stops, and when it is dropped.
pub(crate) struct CallToken(CancellationToken);

impl Deref for CallToken {
    type Target = CancellationToken;

    fn deref(&self) -> &CancellationToken {
        &self.0
    }
}

impl Drop for CallToken {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Returns how calls live on while their clients fetch input, and when they are cancelled.
pub(crate) fn suspension() -> Suspension {
    Suspension::new()
        .grace(CANCEL_GRACE)
        .too_late_message(INPUT_TOO_LATE)
        .other_process_message(INPUT_FOR_ANOTHER_SERVER)
}

/// Returns the name of the principal that sends a request. Its sessions belong to it.
pub(crate) fn principal(context: &Context) -> &str {
    context.principal().map_or(LOCAL_PRINCIPAL, Principal::name)
}
