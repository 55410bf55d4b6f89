//! What the exception tests share.
#![allow(dead_code, reason = "each test binary uses its part")]

pub(crate) mod build;
pub(crate) mod engine;
pub(crate) mod generator;
pub(crate) mod inspect;
pub(crate) mod modules;
pub(crate) mod programs;
pub(crate) mod random;
mod statements;
