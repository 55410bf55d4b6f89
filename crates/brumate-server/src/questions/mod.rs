//! Questions of running code to the person before the client: MCP's elicitation, in both eras.
//!
//! Before 2026-07-28 the server asks during the call, with a request of its own. Since then the call answers that input is
//! required and is repeated with the answer; meanwhile the code goes on waiting, among the [`Parked`].

mod conversation;
mod form;
mod parked;

use std::time::Duration;

use brumate_mcp::lowlevel::TaskHandle;
use brumate_session::units::format_duration;
use brumate_session::{InputReply, InputRequest, explain};
use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitResult, InputRequest as McpInputRequest, RequestId, ServerRequest,
};
use rmcp::service::{OriginatingRequestId, Peer, PeerRequestOptions, RequestContext};

pub(crate) use conversation::{Audience, Conversation, Listener, Step};
pub(crate) use parked::{Parked, Resumed, digest};

/// What a question is called.
const INPUT: &str = "input";

/// How long an answer is waited for, when nothing else is said.
pub(crate) const DEFAULT_PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Longest error of a client that is repeated.
const MAX_REASON: usize = 200;

/// Can a person be asked with a form? A client that names no kind of elicitation means this one.
pub(crate) fn can_be_asked(context: &RequestContext<RoleServer>) -> bool {
    let elicitation = context.client_capabilities().and_then(|capabilities| capabilities.elicitation);
    elicitation.is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
}

/// What the code's output says when nobody answered in time.
fn too_late(patience: Duration) -> InputReply {
    let time = format_duration(patience);
    InputReply::Stop(format!("[nobody answered within {time} (set by {})]\n", explain::INPUT_TIMEOUT))
}

/// Asks the client during the call `request`, on its stream where each has its own, and passes its answer on. The client is told when the code waits no longer.
pub(crate) async fn ask(peer: Peer<RoleServer>, request: RequestId, question: InputRequest, patience: Duration) {
    let mut elicit = ElicitRequest::new(form::form(&question));
    elicit.extensions.insert(OriginatingRequestId(request));
    let request = ServerRequest::ElicitRequest(elicit);
    let mut reply = question.reply;
    let answer = match peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await {
        Err(error) => failed(&error.to_string()),
        Ok(mut handle) => {
            let (answer, reason) = tokio::select! {
                answered = &mut handle.rx => match answered {
                    Ok(Ok(ClientResult::ElicitResult(result))) => (form::reply(result), None),
                    Ok(Ok(_)) => (failed("it gave another answer"), None),
                    Ok(Err(error)) => (failed(&error.to_string()), None),
                    Err(_) => (failed("it is gone"), None),
                },
                () = reply.closed() => (InputReply::End, Some("the code waits no longer")),
                () = tokio::time::sleep(patience) => (too_late(patience), Some("nobody answered in time")),
            };
            if let Some(reason) = reason {
                // A client that is gone needs not know.
                let _ = handle.cancel(Some(reason.to_owned())).await;
            }
            answer
        }
    };
    // Code that waits no longer wants no answer.
    let _ = reply.send(answer);
}

/// Asks the client through the task that its call has become.
pub(crate) async fn ask_in_task(task: TaskHandle, question: InputRequest, patience: Duration) {
    let request = McpInputRequest::Elicitation(ElicitRequest::new(form::form(&question)));
    let mut reply = question.reply;
    let answer = tokio::select! {
        // What is wrong with an answer is not repeated: it may hold a password.
        answered = task.request_input(INPUT, request) => match answered.map(serde_json::from_value::<ElicitResult>) {
            Ok(Ok(result)) => form::reply(result),
            Ok(Err(_)) => failed("it gave another answer"),
            Err(reason) => failed(&reason),
        },
        () = reply.closed() => InputReply::End,
        () = tokio::time::sleep(patience) => too_late(patience),
    };
    // Code that waits no longer wants no answer.
    let _ = reply.send(answer);
}

fn failed(reason: &str) -> InputReply {
    let reason: String = reason.chars().take(MAX_REASON).collect();
    InputReply::Stop(format!("[the client could not ask: {reason}]\n"))
}
