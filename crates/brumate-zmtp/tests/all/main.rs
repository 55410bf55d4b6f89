//! Sockets with each other, and with peers that break the protocol, that are silent or that do not read.

mod closing;
mod hostile;
mod slow;
mod sockets;
mod support;
