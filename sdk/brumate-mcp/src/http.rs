//! Serving over HTTP.

mod app;
mod authenticate;
mod authority;
mod budget;
mod charged_message;
mod clients;
mod connections;
mod credentials;
pub mod fuzzing;
mod guard;
mod guarded_router;
mod json_response;
mod limits;
mod mount;
mod options;
mod parse_errors;
mod proxies;
mod query_token;
mod refusal_log;
mod request_body;
pub(crate) mod request_extensions;
mod request_scope;
mod resource_metadata;
mod response;
mod response_body;
mod router_bodies;
pub(crate) mod rpc_errors;
mod running_requests;
mod server_card;
mod service;
mod session;
mod session_store;
#[cfg(feature = "sqlite")]
mod sqlite;
mod sse;
mod store;
mod streams;
mod tls;
mod write_timeout;

pub use app::App;
pub(crate) use app::listen;
pub use limits::ResumptionLimits;
pub use options::HttpOptions;
pub use request_extensions::TokenRevocation;
pub use server_card::ServerCard;
pub use service::HttpService;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteEventStore;
pub use store::{EventStore, StoreError, StoredSession, StoredStream};
pub use tls::Tls;

pub(crate) use budget::{Account, Budget};
pub(crate) use clients::{Clients, without_charge};
#[cfg(feature = "auth-server")]
pub(crate) use guard::Guard;
#[cfg(feature = "auth-server")]
pub(crate) use proxies::{Network, client_address};
pub(crate) use response_body::ResponseReservation;
pub(crate) use running_requests::DrainSignal;
