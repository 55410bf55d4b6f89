//! The server over the fake engine, seen from the wire. One program, so that it is linked once.

#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]

mod interpreter;
mod protocol;
mod questions;
mod reference;
mod resources;
mod results;
mod running;
mod support;
mod tasks;
