//! Messages of Jupyter (source: the Jupyter messaging specification 5.4), for kernels and for their clients.

mod message;

pub use message::{
    Header, Message, MessageError, PROTOCOL_VERSION, Signer, empty, new_id, now, object, parsed_object, raw,
};

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
