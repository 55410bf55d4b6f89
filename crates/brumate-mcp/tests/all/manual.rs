//! Code of the manual that is part of no example. It is compiled, and not run.

#![allow(dead_code, reason = "nobody calls it")]

mod application;
mod callbacks;
mod state;
mod verifier;
