//! Tests of what the engine offers without a running interpreter: translated modules, and messages between processes.
//! One program: each would be linked with wasmtime and the bundle.

#![allow(clippy::disallowed_methods, reason = "tests read files that they wrote")]

mod exceptions;
mod exceptions_differential;
mod exceptions_hostile;
mod exceptions_modules;
mod exceptions_mutations;
mod exceptions_programs;
mod exceptions_translate;
mod module_dylink;
mod module_patches;
mod wire_mutations;
