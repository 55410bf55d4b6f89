//! Work that the guest hands to the host's processor: linear algebra ([`blas`]) and hash functions ([`hashes`]).
//!
//! A kernel gets the guest's memory and one address in it, of a block of arguments. Every number comes from the guest: it is bounded and
//! checked. A kernel that refuses has written nothing. Nothing here knows how the guest calls: `brumate-engine` defines the imports.

pub mod blas;
pub mod hashes;

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
