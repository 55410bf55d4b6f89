//! What the guest's C library and the host agree on: error numbers ([`errno`]) and checked access to the guest's memory ([`memory`]).

pub mod errno;
pub mod memory;
