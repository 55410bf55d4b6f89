//! Jupyter kernels of the host as an engine of Brumate: each session is a kernel in a jail.
//!
//! | part | job |
//! |---|---|
//! | [`KernelSpec`] | an installed kernel: how it is started |
//! | [`Interpreter`] | a Python of the host: its directories, and whether it has `ipykernel` |
//! | [`JupyterEngine`] | makes sessions. Kernels of Python are forked from a zygote that has imported their modules |
//! | [`internal_main`] | the first process of a jail |
//! | [`PackageServer`] | serves packages to code in jails |
//!
//! Everything behind a kernel's sockets is hostile: the code that it runs can send any message in the kernel's name, and none at all.

mod cell;
mod connection;
mod directory;
mod engine;
mod interpreter;
mod jail_process;
mod kernel;
mod kernel_spec;
mod messages;
mod order;
mod packages;
mod session;
mod zygote;

pub use engine::{JupyterEngine, JupyterEngineConfig};
pub use interpreter::{Interpreter, InterpreterError};
pub use jail_process::internal_main;
pub use kernel_spec::{KernelSpec, KernelSpecError};
pub use packages::PackageServer;

/// The examples of the README are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
