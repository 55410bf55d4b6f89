//! The server over the fake engine, seen from the wire. One program, so that it is linked once.

mod interpreter;
mod protocol;
mod questions;
mod resources;
mod results;
mod running;
mod support;
mod tasks;
