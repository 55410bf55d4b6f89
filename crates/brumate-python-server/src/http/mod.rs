//! HTTP services whose application is in a machine: the host has the sockets and passes each request as a stream of frames.
//!
//! | module | subject |
//! |---|---|
//! | `headers`, `request_head`, `response_head` | heads of requests and responses, as HTTP has them and as frames have them |
//! | `frames`, `stream`, `stream_table` | the protocol without I/O: frames, one request, all requests of a machine |
//! | `heartbeat`, `connection` | the task that reads, writes, watches and ends a machine |
//! | `forward`, `refusals` | one request, from a client to a machine and back; answers of the host's own |
//! | `starting`, `shared_machine` | starting machines; one machine for all clients, which is started again when it has ended |
//! | `machine_places`, `owned_machine`, `spare_machine`, `sessions`, `session_routes`, `endpoint_event` | a machine for each session |
//! | `service` | the service with its sockets |

mod connection;
mod endpoint_event;
mod forward;
mod frames;
#[doc(hidden)]
pub mod fuzzing;
mod headers;
mod heartbeat;
mod limits;
mod machine_places;
mod owned_machine;
mod refusals;
mod request_head;
mod response_head;
mod service;
mod session_routes;
mod sessions;
mod shared_machine;
mod spare_machine;
mod starting;
mod stream;
mod stream_table;

pub use connection::ApplicationError;
pub use limits::HttpLimits;
pub use service::{HttpServeError, HttpService, Isolation};
pub use starting::MachineStartError;
