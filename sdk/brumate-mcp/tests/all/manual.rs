//! Code of the manual that is part of no example. It is compiled, and not run.

#![allow(dead_code, clippy::print_stdout, clippy::print_stderr, reason = "nobody calls it")]

mod application;
mod callbacks;
mod layers;
mod provider;
mod requests;
mod state;
mod verifier;
