//! What the exception tests share.

pub(crate) mod build;
pub(crate) mod engine;
pub(crate) mod generator;
pub(crate) mod inspect;
pub(crate) mod modules;
pub(crate) mod programs;
mod statements;
