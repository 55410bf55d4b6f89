//! ZMTP 3.0, the wire protocol of ZeroMQ ([RFC 23](https://rfc.zeromq.org/spec/23/)), with the mechanism NULL over TCP and Unix sockets.
//!
//! | type | socket of ZeroMQ | does |
//! |---|---|---|
//! | [`Router`] | ROUTER, bound | receives messages of many peers, and sends to each by its name |
//! | [`Publisher`] | XPUB, bound | sends each message to the peers that subscribed to its topic |
//! | [`Echo`] | REP, bound | sends each message back: the heartbeat of a Jupyter kernel |
//! | [`Dealer`] | DEALER, connected | sends and receives messages |
//! | [`Subscriber`] | SUB, connected | receives the messages of its topics |
//! | [`Requester`] | REQ, connected | sends a request and waits for its reply |
//!
//! The first three serve peers, and the other three are clients. Neither trusts the other side: what it makes this side keep is
//! bounded by [`Limits`], and a peer that breaks the protocol, that is silent in the handshake or that does not read loses its
//! connection.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use brumate_zmtp::{Dealer, Endpoint, Limits, Router};
//! use bytes::Bytes;
//!
//! let router = Router::bind(Endpoint::Tcp { host: [127, 0, 0, 1].into(), port: 0 }, Limits::default()).await?;
//! let dealer = Dealer::connect(router.local_endpoint(), Bytes::from("me"), Limits::default()).await?;
//! dealer.send(vec![Bytes::from("a request")]).await?;
//!
//! let received = router.recv().await.ok_or("closed")?;
//! assert_eq!(received.peer.as_bytes(), "me");
//! router.send(&received.peer, vec![Bytes::from("a reply")]).await?;
//! assert_eq!(dealer.recv().await?, ["a reply"]);
//! # Ok(())
//! # }
//! ```
//!
//! There is no reconnection, no other mechanism than NULL and no message above [`Limits::message_bytes`]. Sockets need a runtime
//! of tokio with time and I/O.

mod endpoint;
mod limits;

mod error;

mod command;
mod frame;
mod greeting;
mod socket_type;

mod listener;
mod stream;

mod budget;
mod outbox;
mod peer;

mod connection;
mod handshake;
mod incoming;

mod echo;
mod publisher;
mod router;
mod server;

mod dealer;
mod link;
mod requester;
mod subscriber;

pub use dealer::Dealer;
pub use echo::Echo;
pub use endpoint::Endpoint;
pub use error::{BindError, ConnectError, ConnectionError, ProtocolError, SendError};
pub use limits::Limits;
pub use peer::PeerId;
pub use publisher::{Publisher, Subscription};
pub use requester::Requester;
pub use router::{Received, Router};
pub use stream::Stream;
pub use subscriber::Subscriber;

/// Parts of a message, in order; at least one.
pub type Parts = Vec<bytes::Bytes>;

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
