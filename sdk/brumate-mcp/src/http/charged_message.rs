//! Messages of the server, on the account of their client.

use super::budget::{Account, BudgetExceeded, Charge};
use super::rpc_errors::not_sent;
use rmcp::model::ServerJsonRpcMessage;

/// A message, its JSON, and the charge for it.
#[derive(Debug)]
pub(crate) struct ChargedMessage {
    pub(crate) message: ServerJsonRpcMessage,
    pub(crate) text: Vec<u8>,
    pub(crate) charge: Charge,
}

impl ChargedMessage {
    /// Puts a message on an account: on the room that was reserved for it, or on free room. `room` says first whether
    /// the destination takes so many bytes. Without room, an answer becomes a short error, and a notification is
    /// dropped.
    ///
    /// # Errors
    ///
    /// Returns [`BudgetExceeded`] for a request of the server.
    pub(crate) fn charged(
        message: ServerJsonRpcMessage,
        account: &Account,
        reserved: Option<Charge>,
        room: impl FnOnce(usize) -> Result<(), BudgetExceeded>,
    ) -> Result<Option<Self>, BudgetExceeded> {
        let text = serde_json::to_vec(&message).unwrap_or_default();
        let charge = room(text.len()).and_then(|()| match reserved {
            Some(mut charge) => {
                charge.resize(text.len());
                Ok(charge)
            }
            None => account.try_charge(text.len()),
        });
        let refused = match charge {
            Ok(charge) => return Ok(Some(Self { message, text, charge })),
            Err(refused) => refused,
        };
        let answered = match message {
            ServerJsonRpcMessage::Response(response) => Some(response.id),
            ServerJsonRpcMessage::Error(error) => error.id,
            ServerJsonRpcMessage::Notification(_) => None,
            ServerJsonRpcMessage::Request(_) => return Err(refused),
        };
        Ok(answered.map(|id| Self::small(not_sent(id, &refused), account)))
    }

    /// Charges a short message of the transport itself, for which there is always room.
    pub(crate) fn small(message: ServerJsonRpcMessage, account: &Account) -> Self {
        let text = serde_json::to_vec(&message).unwrap_or_default();
        let charge = account.charge(text.len());
        Self { message, text, charge }
    }
}
