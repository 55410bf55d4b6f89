//! Tests of the server over the fake engine, through its JSON-RPC messages. One program, so that it is linked once.

#![allow(clippy::disallowed_methods, reason = "tests read files that they wrote")]

mod elicitation;
mod interpreter;
mod protocol;
mod reference;
mod resources;
mod results;
mod running;
mod support;
mod tasks;
