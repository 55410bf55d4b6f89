//! Input for running code (`input()`, `getpass()`) from the person at the client, by MCP's elicitation.
//!
//! | protocol | how the server asks |
//! |---|---|
//! | before 2026-07-28 | with a request of its own, during the call ([`ask`]) |
//! | since 2026-07-28 | the call is answered with `input_required`, and the client repeats it with the answer; meanwhile the code waits in [`PendingCalls`] |
//! | tasks | through the task that the call has become ([`ask_through_task`]) |

mod form;
mod pending;
mod running_call;

use std::time::Duration;

use brumate_mcp::lowlevel::TaskHandle;
use brumate_session::units::format_duration;
use brumate_session::{InputReply, InputRequest, explain};
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitResult, InputRequest as McpInputRequest, RequestId, ServerRequest,
};
use rmcp::service::{OriginatingRequestId, Peer, PeerRequestOptions, RequestContext};

pub(crate) use pending::{PendingCalls, suspend};
pub(crate) use running_call::{CallEvent, ClientNotifier, EventSink, RunningCall};

/// Name of the one input request of a call, in `inputRequests` and `inputResponses`.
const INPUT: &str = "input";

/// Default time for an answer: 10 minutes.
pub(crate) const DEFAULT_INPUT_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Longest error of a client that the code's output repeats, in characters.
const MAX_REASON: usize = 200;

/// Returns whether the client can ask with a form. A client that names no kind of elicitation supports forms.
pub(crate) fn supports_form_elicitation(context: &RequestContext<RoleServer>) -> bool {
    let elicitation = context.client_capabilities().and_then(|capabilities| capabilities.elicitation);
    elicitation.is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
}

/// Returns the reply that stops the code because nobody answered within `timeout`.
fn timed_out(timeout: Duration) -> InputReply {
    let time = format_duration(timeout);
    InputReply::Stop(format!("[nobody answered within {time} (set by {})]\n", explain::INPUT_TIMEOUT))
}

/// Asks the client during the call `request`, and passes the answer to the code. Over HTTP the question goes to the stream of
/// that request. The question is cancelled when the code no longer waits.
pub(crate) async fn ask(peer: Peer<RoleServer>, request: RequestId, question: InputRequest, timeout: Duration) {
    let mut elicit = ElicitRequest::new(form::form(&question));
    elicit.extensions.insert(OriginatingRequestId(request));
    let request = ServerRequest::ElicitRequest(elicit);
    let mut reply = question.reply;
    let answer = match peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await {
        Err(error) => client_failed(&error.to_string()),
        Ok(mut handle) => {
            let (answer, reason) = tokio::select! {
                answered = &mut handle.rx => match answered {
                    Ok(Ok(ClientResult::ElicitResult(result))) => (form::reply(result), None),
                    Ok(Ok(_)) => (client_failed("it gave another answer"), None),
                    Ok(Err(error)) => (client_failed(&error.to_string()), None),
                    Err(_) => (client_failed("it is gone"), None),
                },
                () = reply.closed() => (InputReply::End, Some("the code no longer waits")),
                () = tokio::time::sleep(timeout) => (timed_out(timeout), Some("nobody answered in time")),
            };
            if let Some(reason) = reason {
                // The client may be gone.
                let _ = handle.cancel(Some(reason.to_owned())).await;
            }
            answer
        }
    };
    // The code may have stopped waiting.
    let _ = reply.send(answer);
}

/// Asks the client through the task that its call has become, and passes the answer to the code.
pub(crate) async fn ask_through_task(task: TaskHandle, question: InputRequest, timeout: Duration) {
    let request = McpInputRequest::Elicitation(ElicitRequest::new(form::form(&question)));
    let mut reply = question.reply;
    let answer = tokio::select! {
        // The error does not repeat the answer: it may contain a password.
        answered = task.request_input(INPUT, request) => match answered.map(serde_json::from_value::<ElicitResult>) {
            Ok(Ok(result)) => form::reply(result),
            Ok(Err(_)) => client_failed("it gave another answer"),
            Err(reason) => client_failed(&reason),
        },
        () = reply.closed() => InputReply::End,
        () = tokio::time::sleep(timeout) => timed_out(timeout),
    };
    // The code may have stopped waiting.
    let _ = reply.send(answer);
}

/// Returns the reply that stops the code because the client could not ask.
fn client_failed(reason: &str) -> InputReply {
    let reason: String = reason.chars().take(MAX_REASON).collect();
    InputReply::Stop(format!("[the client could not ask: {reason}]\n"))
}
