//! Verifiers of access tokens.

#[doc(hidden)]
pub mod fuzzing;
mod introspection;
mod jwk;
mod jwt;
mod jwt_verifier;

pub use introspection::Introspection;
pub use jwt_verifier::JwtVerifier;

use crate::client::AuthError;
use crate::outbound::OutboundError;

/// The reason why a token cannot be checked now.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct VerifyError(String);

impl From<AuthError> for VerifyError {
    fn from(error: AuthError) -> Self {
        Self(error.to_string())
    }
}

impl From<OutboundError> for VerifyError {
    fn from(error: OutboundError) -> Self {
        Self(error.to_string())
    }
}
