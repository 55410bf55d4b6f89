//! Resolution against package indexes, the cache shared by processes, and popular wheels.

#![allow(clippy::disallowed_methods, reason = "tests read files that they wrote")]

mod cache_processes;
mod index;
mod real_wheels;
