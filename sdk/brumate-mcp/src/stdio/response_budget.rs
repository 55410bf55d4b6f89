//! The room for the answers of one connection.

use crate::http::{Account, Budget, ResponseReservation};

/// Bounds the answers of one connection that its client has not read: 64 MiB.
#[derive(Clone, Debug)]
pub(super) struct ResponseBudget(Account);

/// The room of the answer to a request, until it was written.
#[derive(Clone, Debug)]
pub(super) struct ResponseRoom {
    _reservation: ResponseReservation,
}

impl Default for ResponseBudget {
    fn default() -> Self {
        Self(Budget::default().account(None))
    }
}

impl ResponseBudget {
    /// Notes in a request's extensions that [`Context::reserve_response`](crate::Context::reserve_response) has to wait for room.
    pub(super) fn enter(&self, extensions: &mut rmcp::model::Extensions) -> ResponseRoom {
        let reservation = ResponseReservation::new(self.0.clone());
        extensions.insert(reservation.clone());
        ResponseRoom { _reservation: reservation }
    }
}
