//! What the guest's C library and the host agree on: error numbers ([`errno`]) and checked access to the guest's memory ([`memory`]).

pub mod errno;
pub mod memory;

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
