//! Limits of a socket: bytes and numbers that it keeps for peers, and times that peers have.

use std::time::Duration;

/// Longest frame and longest message of a peer, in bytes.
const MESSAGE_BYTES: usize = 128 << 20;
/// Most parts of a message.
const PARTS: usize = 1024;
/// Most peers of a socket.
const PEERS: usize = 64;
/// Bytes that are queued for one peer.
const QUEUE_BYTES: usize = 128 << 20;
/// Bytes of large messages that a socket holds before they are taken.
const RECEIVED_BYTES: usize = 256 << 20;
/// Most topics of one subscriber.
const SUBSCRIPTIONS: usize = 256;
/// Longest topic of a subscription, in bytes.
const TOPIC_BYTES: usize = 1024;
/// Time for greeting and READY.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time in which a peer must read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time from the beginning of a large message to its end.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(120);

/// Bytes that each peer may send of a message before they count against [`Limits::received_bytes`].
pub(crate) const SMALL_MESSAGE_BYTES: usize = 64 << 10;
/// Messages that are received and not yet taken. Further ones wait in the connections: a peer has one of them at most.
pub(crate) const INBOX_MESSAGES: usize = 64;
/// Messages that are queued for one peer, whatever their size.
pub(crate) const QUEUED_MESSAGES: usize = 1 << 16;
/// Bytes that a message and each of its parts count beside their own.
pub(crate) const PART_BYTES: usize = 64;
/// Longest command of a peer, in bytes.
pub(crate) const COMMAND_BYTES: usize = 8 << 10;
/// Commands and messages without meaning that a connection may have.
pub(crate) const IGNORED: usize = 1024;
/// Bytes that one read takes, and that one write gives.
pub(crate) const CHUNK_BYTES: usize = 64 << 10;
/// Time in which a peer closes its side of a connection that has ended.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// Bounds of a socket. `Default` has those of a Jupyter kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Longest frame of a peer, in bytes; 128 MiB by default. A longer one ends the connection when its head is read.
    pub frame_bytes: usize,
    /// Longest message of a peer, in bytes of all its parts; 128 MiB by default. Memory is taken as the bytes arrive: up to twice
    /// as much as has arrived.
    pub message_bytes: usize,
    /// Most parts of a message of a peer; 1024 by default.
    pub parts: usize,
    /// Most connections of a bound socket at the same time, those in the handshake among them; 64 by default. Further ones are
    /// closed at once.
    pub peers: usize,
    /// Bytes that are queued for one peer; 128 MiB by default. Sending waits for room. A message that is longer waits until all
    /// before it is written.
    pub queue_bytes: usize,
    /// Bytes of all peers' messages above 64 KiB that have arrived and are not yet taken; 256 MiB by default. A peer waits for
    /// room before more of its message is read.
    pub received_bytes: usize,
    /// Most topics of one subscriber of a [`Publisher`](crate::Publisher); 256 by default.
    pub subscriptions: usize,
    /// Longest topic of a subscription, in bytes; 1024 by default.
    pub topic_bytes: usize,
    /// Time for greeting and READY, and for the connection itself at the connecting side; 5 s by default.
    pub handshake_timeout: Duration,
    /// Time in which a peer must read 64 KiB, or all there is, and in which sending must find room in the queue; 30 s by default.
    /// Then the peer loses its connection.
    pub write_timeout: Duration,
    /// Time for a message above 64 KiB to arrive in full, without what it waits for room here; 120 s by default.
    pub message_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame_bytes: MESSAGE_BYTES,
            message_bytes: MESSAGE_BYTES,
            parts: PARTS,
            peers: PEERS,
            queue_bytes: QUEUE_BYTES,
            received_bytes: RECEIVED_BYTES,
            subscriptions: SUBSCRIPTIONS,
            topic_bytes: TOPIC_BYTES,
            handshake_timeout: HANDSHAKE_TIMEOUT,
            write_timeout: WRITE_TIMEOUT,
            message_timeout: MESSAGE_TIMEOUT,
        }
    }
}
