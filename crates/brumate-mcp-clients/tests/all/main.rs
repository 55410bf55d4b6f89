//! Tests of the crate through its interface.

#![allow(clippy::disallowed_methods, reason = "tests read files that they wrote")]

mod concurrent;
mod env_file;
mod home;
mod install;
mod links;
mod permissions;
mod random;
mod refused;
mod remove;
