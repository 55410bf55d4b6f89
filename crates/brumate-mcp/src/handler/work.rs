//! What handlers make of a request: an answer, a question, or what goes wrong.

use super::{Handler, internal};
use crate::context::{Context, Known, Questions};
use crate::error::Error;
use crate::run::Outcome;
use rmcp::model::{self as wire, SealOptions};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a client may take between the rounds of one request.
const ROUND_TTL: Duration = Duration::from_secs(60 * 60);

/// The most that is carried from round to round, in bytes.
const MAX_CARRIED: usize = 256 * 1024;

/// A client's answers, and the state that they belong to.
type Inputs = (Option<BTreeMap<String, Value>>, Option<String>);

/// How a handler's work ended that was not cut short.
pub(super) enum Interrupted<T> {
    /// It returned.
    Not(Result<T, Error>),
    /// It asks the client something first.
    Asks(wire::InputRequiredResult),
}

impl Handler {
    /// The context of a request that may ask questions; `identity` is what a retry must repeat.
    pub(super) async fn context(
        &self,
        request: RequestContext<RoleServer>,
        (answers, state): Inputs,
        identity: &str,
    ) -> Result<Context, ErrorData> {
        self.server.start_for_client().await?;
        let known = match state {
            Some(state) => self.server.shared.sealing.open_json_with(&state, identity.as_bytes()).map_err(|error| {
                tracing::info!(%error, "a request's state was refused");
                ErrorData::invalid_params(
                    "requestState is not one of this server's for this request, or has expired",
                    None,
                )
            })?,
            None => Known::default(),
        };
        let questions = Questions::new(known, answers.unwrap_or_default());
        Ok(Context::new(self.server.clone(), self.connection.clone(), request, questions))
    }

    /// What ends a request whose handler did not return.
    pub(super) fn interrupted<T>(
        &self,
        outcome: Outcome<T>,
        what: &str,
        identity: &str,
    ) -> Result<Interrupted<T>, ErrorData> {
        match outcome {
            Outcome::Done(result) => Ok(Interrupted::Not(result.map_err(|error| self.server.shown(what, error)))),
            Outcome::Panicked(message) => {
                tracing::error!(panic = message, "{what} panicked");
                Err(ErrorData::internal_error(format!("{what} failed unexpectedly"), None))
            }
            // Nobody reads this answer.
            Outcome::Cancelled => Err(ErrorData::internal_error(format!("{what} was cancelled"), None)),
            Outcome::Asks(asked, known) => {
                let options = SealOptions::new().associated_data(identity.as_bytes()).ttl(ROUND_TTL);
                let carried = self.server.shared.sealing.seal_json_with(&known, &options);
                let carried = carried.map_err(internal)?;
                if carried.len() > MAX_CARRIED {
                    return Err(ErrorData::internal_error(
                        format!("{what} carries more than {MAX_CARRIED} bytes between its questions"),
                        None,
                    ));
                }
                Ok(Interrupted::Asks(wire::InputRequiredResult::new(Some(asked), Some(carried))))
            }
        }
    }
}
