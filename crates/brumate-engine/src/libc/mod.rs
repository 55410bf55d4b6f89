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
mod poll;
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

/// A linker with every host function.
///
/// # Errors
/// Never: each name is defined once.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    syscalls::define(&mut linker)?;
    wait::define(&mut linker)?;
    time::define(&mut linker)?;
    memory::define(&mut linker)?;
    process::define(&mut linker)?;
    sockets::define(&mut linker)?;
    dynlink::define(&mut linker)?;
    ffi::define(&mut linker)?;
    misc::define(&mut linker)?;
    kernels::define(&mut linker)?;
    Ok(linker)
}
