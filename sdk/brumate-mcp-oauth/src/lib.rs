//! OAuth 2.1 of MCP clients and servers. [brumate-mcp](https://docs.rs/brumate-mcp), an SDK for the Model Context
//! Protocol, exports all of it: use it through that crate.
//!
//! | type | is |
//! |---|---|
//! | [`OAuth`], [`ClientCredentials`], [`Bearer`] | sources of tokens for a client |
//! | [`TokenStore`] | where a client keeps tokens: [`MemoryTokenStore`], [`FileTokenStore`], `KeyringTokenStore` |
//! | [`JwtVerifier`], [`Introspection`] | verifiers of the access tokens that a server is shown |
//! | [`Access`] | what a token grants, and to whom |
//!
//! # Features
//!
//! | feature | what | default |
//! |---|---|---|
//! | `auth` | authorization of clients, verifiers of access tokens | yes |
//! | `keyring` | a client's tokens in the system's keyring (Secret Service) | no |
//! | `http-client` | what `auth` shares with the HTTP clients of brumate-mcp | with `auth` |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read files that they wrote"))]
#![cfg_attr(not(feature = "auth"), allow(rustdoc::broken_intra_doc_links, reason = "they are of this feature"))]

mod access;
mod causes;
#[cfg(feature = "auth")]
mod client;
#[cfg(feature = "http-client")]
mod http_client;
#[cfg(feature = "auth")]
mod oauth;
#[cfg(feature = "auth")]
mod outbound;
mod sync;
#[cfg(feature = "auth")]
mod verifier;

pub use access::Access;
#[cfg(feature = "keyring")]
pub use client::KeyringTokenStore;
#[cfg(feature = "auth")]
pub use client::{
    AuthError, Authorization, Bearer, ClientCredentials, ClientRegistration, FileTokenStore, MemoryTokenStore, OAuth,
    Secret, SigningAlgorithm, StoredTokens, TokenStore, TokenStoreError, open_in_browser,
};
#[cfg(feature = "auth")]
pub use verifier::{Introspection, JwtVerifier, VerifyError};

/// Items for brumate-mcp only. They are not part of the interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::causes::causes;
    #[cfg(feature = "auth")]
    pub use crate::client::{Authorizer, MAX_AUTHORIZATIONS, TokenChallenge, fuzzing as client_fuzzing};
    #[cfg(feature = "http-client")]
    pub mod http_client {
        //! The settings of all HTTP clients, and reading bodies of bounded size.
        pub use crate::http_client::{builder, read};
    }
    #[cfg(feature = "auth")]
    pub use crate::oauth::{now, random_token, s256, sha256_hex};
    #[cfg(feature = "auth")]
    pub use crate::outbound::{AddressPolicy, Outbound, OutboundError, is_loopback};
    pub use crate::sync::lock;
    #[cfg(feature = "auth")]
    pub use crate::verifier::fuzzing as verifier_fuzzing;
}

/// Compiles the examples of the README, and runs those that can run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
