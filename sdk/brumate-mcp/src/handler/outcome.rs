//! Contexts of requests, and outcomes of handlers.

use super::{Handler, internal};
use crate::context::{Context, InputRequests, RequestState};
use crate::error::Error;
use crate::run::RunOutcome;
use rmcp::model::{self as wire, SealOptions};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long a client may take between the rounds of one request.
const ROUND_TTL: Duration = Duration::from_secs(60 * 60);

/// The most bytes of `requestState`, which travels from round to round.
const MAX_CARRIED: usize = 256 * 1024;

/// The answers of a client, and the state that they belong to.
type Inputs = (Option<BTreeMap<String, Value>>, Option<String>);

/// The outcome of a handler that was not cut short.
pub(super) enum HandlerOutcome<T> {
    /// The handler returned.
    Returned(Result<T, Error>),
    /// The handler requests input from the client first.
    InputRequired(wire::InputRequiredResult),
}

impl Handler {
    /// Makes the context of a request that may request input. A retry must repeat `identity`.
    pub(super) async fn context(
        &self,
        request: RequestContext<RoleServer>,
        (answers, state): Inputs,
        identity: &str,
    ) -> Result<Context, ErrorData> {
        self.server.start_for_client().await?;
        let known = match state {
            Some(state) => {
                self.server.shared.request_state_codec.open_json_with(&state, identity.as_bytes()).map_err(|error| {
                    tracing::info!(%error, "a request's state was refused");
                    ErrorData::invalid_params(
                        "requestState is not one of this server's for this request, or has expired",
                        None,
                    )
                })?
            }
            None => RequestState::default(),
        };
        let input_requests = InputRequests::new(known, answers.unwrap_or_default());
        Ok(Context::new(Arc::new(self.server.clone()), self.connection.clone(), request, input_requests))
    }

    /// Turns the outcome of a run into a result or into input requests. A run that ended otherwise is an error.
    pub(super) fn handler_outcome<T>(
        &self,
        outcome: RunOutcome<T>,
        what: &str,
        identity: &str,
    ) -> Result<HandlerOutcome<T>, ErrorData> {
        match outcome {
            RunOutcome::Returned(result) => {
                Ok(HandlerOutcome::Returned(result.map_err(|error| self.server.shown(what, error))))
            }
            RunOutcome::Panicked(message) => {
                tracing::error!(panic = message, "{what} panicked");
                Err(ErrorData::internal_error(format!("{what} failed unexpectedly"), None))
            }
            // The client does not read this answer.
            RunOutcome::Cancelled => Err(ErrorData::internal_error(format!("{what} was cancelled"), None)),
            RunOutcome::InputRequired(asked, known) => {
                let options = SealOptions::new().associated_data(identity.as_bytes()).ttl(ROUND_TTL);
                let carried = self.server.shared.request_state_codec.seal_json_with(&known, &options);
                let carried = carried.map_err(internal)?;
                if carried.len() > MAX_CARRIED {
                    return Err(ErrorData::internal_error(
                        format!("{what} carries more than {MAX_CARRIED} bytes of state between its rounds"),
                        None,
                    ));
                }
                Ok(HandlerOutcome::InputRequired(wire::InputRequiredResult::new(Some(asked), Some(carried))))
            }
        }
    }
}
