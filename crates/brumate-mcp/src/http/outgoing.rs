//! Messages of the server on the account of whoever they go to.

use super::budget::{Account, Charge, OverBudget};
use super::unanswerable::not_sent;
use rmcp::model::ServerJsonRpcMessage;

/// A message, its JSON, and the room that it takes.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) message: ServerJsonRpcMessage,
    pub(crate) text: Vec<u8>,
    pub(crate) charge: Charge,
}

impl Outgoing {
    /// Puts a message on an account: in the room that was reserved for it, or in what there is. `room` says first whether the place
    /// that it goes to takes so many bytes. Where there is no room, an answer becomes a short error, and a notification nothing.
    ///
    /// # Errors
    ///
    /// [`OverBudget`] for a request of the server's.
    pub(crate) fn charged(
        message: ServerJsonRpcMessage,
        account: &Account,
        reserved: Option<Charge>,
        room: impl FnOnce(usize) -> Result<(), OverBudget>,
    ) -> Result<Option<Self>, OverBudget> {
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

    /// A short message of the transport's own, for which there is always room.
    pub(crate) fn small(message: ServerJsonRpcMessage, account: &Account) -> Self {
        let text = serde_json::to_vec(&message).unwrap_or_default();
        let charge = account.charge(text.len());
        Self { message, text, charge }
    }
}
