//! Tests of the file system, one file per subject.

mod archives;
mod descriptors;
mod devices;
mod differential;
mod exchange;
mod hosts;
mod layers;
mod links;
mod listing;
mod paths;
mod recover;
mod restore;
mod sockets;
mod support;
mod tree;
mod wheels;
