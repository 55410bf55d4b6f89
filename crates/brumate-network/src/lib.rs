//! The rules of a sandbox's network, and the messages between a machine and the gateway.
//!
//! | module | content |
//! |---|---|
//! | [`address`] | addresses with a special purpose |
//! | [`host`] | one form for each host |
//! | [`message`], [`packet`] | messages between a machine and the gateway, and how they are sent |
//! | [`refusal`] | reasons |
//! | [`rules`] | hosts and ports that are allowed |

pub mod address;
pub mod host;
pub mod message;
pub mod packet;
pub mod refusal;
pub mod rules;
