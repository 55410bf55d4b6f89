//! The imports of Pyodide's main module, by family. Thin: arguments are decoded, `vfs` and `caps` do the work, errors
//! become error numbers. What is not here (the JavaScript interface) is a stub that traps with its name.

mod dirs;
mod dynlink;

pub(crate) mod ffi;
mod files;

mod kernels;
mod memory;
mod misc;
mod mmap;
pub(crate) mod poll;
mod process;
mod sockets;
mod syscalls;
mod time;
mod wait;
pub(crate) mod zone;

use wasmtime::{Engine, Linker};

use crate::host::Host;

#[cfg(test)]
mod tests;

/// A linker with every host function, for the main thread's store or for those of other `threads`.
///
/// # Errors
/// Never: each name is defined once.
pub(crate) fn linker(engine: &Engine, threads: bool) -> wasmtime::Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    syscalls::define(&mut linker, threads)?;
    wait::define(&mut linker, threads)?;
    time::define(&mut linker, threads)?;
    memory::define(&mut linker, threads)?;
    process::define(&mut linker, threads)?;
    sockets::define(&mut linker, threads)?;
    dynlink::define(&mut linker, threads)?;
    ffi::define(&mut linker, threads)?;
    misc::define(&mut linker)?;
    kernels::define(&mut linker)?;
    crate::threads::define(&mut linker, threads)?;
    Ok(linker)
}
