//! Calls that were answered with `input_required`: their code waits until the client repeats them with the input.

use std::time::Duration;

use brumate_mcp::lowlevel::SuspendedCalls;
use brumate_session::{InputReply, InputRequest};
use rmcp::model::{ElicitRequest, InputRequest as McpInputRequest, InputRequiredResult, InputResponses};
use tokio::sync::oneshot;

use super::{CallEvent, INPUT, RunningCall, client_failed, form, timed_out};

/// The calls of one connection that wait for input. Clones share them.
pub(crate) type PendingCalls = SuspendedCalls<PendingCall>;

/// A call that waits for input.
pub(crate) struct PendingCall {
    call: RunningCall,
    reply: oneshot::Sender<InputReply>,
}

/// Keeps a call until its client repeats it with the input. After `timeout` the code is stopped.
///
/// # Errors
///
/// The call, when it cannot be kept. Its code is stopped then.
pub(crate) fn suspend(
    calls: &PendingCalls,
    call: RunningCall,
    question: InputRequest,
    timeout: Duration,
) -> Result<InputRequiredResult, RunningCall> {
    let request = McpInputRequest::Elicitation(ElicitRequest::new(form::form(&question)));
    let requests = [(INPUT.to_owned(), request)].into();
    let (digest, pending) = (call.digest, PendingCall { call, reply: question.reply });
    let expire = move |pending: PendingCall| pending.expire(timeout);
    calls.suspend(pending, digest, requests, timeout, expire).map_err(|PendingCall { call, reply }| {
        let text = "[too many calls of this client wait for input]\n".to_owned();
        let _ = reply.send(InputReply::Stop(text));
        call
    })
}

impl PendingCall {
    /// Gives the code its input. Returns the call, which goes on.
    pub(crate) fn resume(self, mut input: InputResponses) -> RunningCall {
        let result = input.remove(INPUT).map(serde_json::from_value);
        let reply = match result {
            Some(Ok(result)) => form::reply(result),
            // The form of the response was checked before.
            _ => client_failed("it gave another answer"),
        };
        // The code may have stopped waiting. Then the call has a result.
        let _ = self.reply.send(reply);
        self.call
    }

    /// Stops the code of a call whose client did not come back, and waits for its end. Further input requests have no answer.
    async fn expire(mut self, timeout: Duration) {
        let _ = self.reply.send(timed_out(timeout));
        self.call.set_event_sink(None);
        while let CallEvent::InputRequested(_) = self.call.next_event().await {}
        tracing::info!("the client did not come back with the input that a call waited for; its code was interrupted");
    }
}
