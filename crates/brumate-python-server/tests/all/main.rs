//! Python servers behind the host: CPython on this machine in place of a sandbox, machines that are tasks of the test, and guests that
//! break the protocol.

mod busy;
mod disconnects;
mod frameworks;
mod hostile;
mod life;
mod requests;
mod scripted;
mod sessions;
mod stdio;
mod streaming;
mod support;
