//! One interpreter in this process: a store, the main module's instance, and CPython inside it.

mod boot;
mod identity;
mod non_memory_state;
mod python;
mod restore;

use std::sync::Arc;

use parking_lot::Mutex;
use wasmtime::{AsContextMut, Func, Instance, Memory, Store, Val};

pub(crate) use boot::Prelude;
use non_memory_state::Globals;
pub(crate) use non_memory_state::NonMemoryState;
use python::Python;
pub(crate) use restore::join;

use crate::caps::output::GuestOutput;
use crate::host::{GuestExit, Host, guest};

/// Why a call into the guest failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InterpreterError {
    /// The guest ended itself.
    #[error("{0}")]
    Exit(GuestExit),
    /// A wasm trap or a fault in a host function.
    #[error("{0}")]
    Trap(String),
    /// Python raised where our driver should not have; the text is what it printed.
    #[error("the Python driver failed: {0}")]
    Driver(String),
    /// The driver returned an invalid answer: guest code has replaced it or written to its objects.
    #[error("the code damaged its interpreter: its answer makes no sense")]
    Damaged,
}

impl From<wasmtime::Error> for InterpreterError {
    fn from(error: wasmtime::Error) -> InterpreterError {
        match error.downcast_ref::<GuestExit>() {
            Some(exit) => InterpreterError::Exit(*exit),
            None => InterpreterError::Trap(describe(&error)),
        }
    }
}

/// One line about a trap: its root cause, without host addresses.
fn describe(error: &wasmtime::Error) -> String {
    match error.downcast_ref::<wasmtime::Trap>() {
        Some(wasmtime::Trap::StackOverflow) => "the native stack is exhausted".to_owned(),
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    }
}

/// A booted interpreter.
pub(crate) struct Interpreter {
    store: Store<Host>,
    memory: Memory,
    python: Python,
    output: Arc<Mutex<GuestOutput>>,
    globals: Globals,
}

impl Interpreter {
    /// Makes the host functions that threads need, for all forks of this process.
    ///
    /// # Errors
    /// The errors of `Threads::prepare`.
    pub(crate) fn prepare_threads(&mut self) -> wasmtime::Result<()> {
        let engine = self.store.engine().clone();
        self.store.data_mut().threads.prepare(&engine).map(drop)
    }

    /// Host state.
    pub(crate) fn host(&mut self) -> &mut Host {
        self.store.data_mut()
    }

    /// Returns where output goes.
    pub(crate) fn output(&self) -> &Arc<Mutex<GuestOutput>> {
        &self.output
    }

    /// Returns the current size of the linear memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory.data_size(&self.store) as u64
    }

    /// Calls a function of the driver that takes a string and returns one.
    ///
    /// # Errors
    /// When the guest ended, trapped, or the driver raised.
    pub(crate) fn call_driver(&mut self, name: &'static str, argument: &str) -> Result<String, InterpreterError> {
        let callable = self.python.function(name);
        let text = self.string(argument)?;
        let result = self.python.call_one_arg.call(&mut self.store, (callable, text))?;
        self.python.dec_ref.call(&mut self.store, text)?;
        self.take_string(name, result)
    }

    /// Calls a function of the driver that takes a string; its result is ignored.
    ///
    /// # Errors
    /// As [`Interpreter::call_driver`].
    pub(crate) fn run_driver(&mut self, name: &'static str, argument: &str) -> Result<(), InterpreterError> {
        let callable = self.python.function(name);
        let text = self.string(argument)?;
        let result = self.python.call_one_arg.call(&mut self.store, (callable, text))?;
        self.python.dec_ref.call(&mut self.store, text)?;
        self.release(name, result)
    }

    /// Calls a function of the driver that takes bytes; its result is ignored.
    ///
    /// # Errors
    /// As [`Interpreter::call_driver`].
    pub(crate) fn call_driver_bytes(&mut self, name: &'static str, argument: &[u8]) -> Result<(), InterpreterError> {
        let callable = self.python.function(name);
        let buffer = self.copy_in(argument)?;
        let length =
            i32::try_from(argument.len()).map_err(|_| InterpreterError::Trap("argument too large".to_owned()))?;
        let object = self.python.bytes_from_string_and_size.call(&mut self.store, (buffer, length))?;
        self.python.free.call(&mut self.store, buffer)?;
        let result = self.python.call_one_arg.call(&mut self.store, (callable, object))?;
        self.python.dec_ref.call(&mut self.store, object)?;
        self.release(name, result)
    }

    /// Releases a result; null is an exception.
    fn release(&mut self, name: &str, object: u32) -> Result<(), InterpreterError> {
        if object == 0 {
            return Err(self.raised(name));
        }
        Ok(self.python.dec_ref.call(&mut self.store, object)?)
    }

    fn end_output(&self) {
        self.output.lock().end();
    }

    /// Calls an exported C function of integers.
    pub(crate) fn call_export(&mut self, name: &str, arguments: &[u32]) -> Result<u32, InterpreterError> {
        let instance = guest(&self.store.as_context_mut())?.instance;
        call(&mut self.store, instance, name, arguments)
    }

    /// A Python `str`.
    fn string(&mut self, text: &str) -> Result<u32, InterpreterError> {
        let buffer = self.copy_in(text.as_bytes())?;
        let length = i32::try_from(text.len()).map_err(|_| InterpreterError::Trap("argument too large".to_owned()))?;
        let object = self.python.unicode_from_string_and_size.call(&mut self.store, (buffer, length))?;
        self.python.free.call(&mut self.store, buffer)?;
        if object == 0 { Err(self.raised("str")) } else { Ok(object) }
    }

    fn copy_in(&mut self, bytes: &[u8]) -> Result<u32, InterpreterError> {
        let length = u32::try_from(bytes.len()).map_err(|_| InterpreterError::Trap("argument too large".to_owned()))?;
        let buffer = self.python.malloc.call(&mut self.store, length.max(1))?;
        if buffer == 0 {
            return Err(InterpreterError::Driver("out of memory".to_owned()));
        }
        self.memory.write(&mut self.store, buffer as usize, bytes).map_err(|_| fault())?;
        Ok(buffer)
    }

    /// Returns the text of a Python `str` and releases its reference.
    fn take_string(&mut self, name: &str, object: u32) -> Result<String, InterpreterError> {
        if object == 0 {
            return Err(self.raised(name));
        }
        let out = self.python.malloc.call(&mut self.store, 4)?;
        let data = self.python.unicode_as_utf8_and_size.call(&mut self.store, (object, out))?;
        if data == 0 {
            return Err(self.raised(name));
        }
        let mut word = [0; 4];
        self.memory.read(&self.store, out as usize, &mut word).map_err(|_| fault())?;
        let length = u32::from_le_bytes(word) as usize;
        let start = data as usize;
        let bytes = self.memory.data(&self.store).get(start..start.saturating_add(length)).ok_or_else(fault)?;
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.python.free.call(&mut self.store, out)?;
        self.python.dec_ref.call(&mut self.store, object)?;
        Ok(text)
    }

    /// Prints the pending exception to the guest's stderr and reports it.
    fn raised(&mut self, name: &str) -> InterpreterError {
        match self.python.err_print.call(&mut self.store, ()) {
            Ok(()) => InterpreterError::Driver(format!("`{name}` raised")),
            Err(error) => error.into(),
        }
    }

    /// Sends the signal handlers the addresses where CPython checks for interrupts.
    fn set_signal_words(&mut self) -> Result<(), InterpreterError> {
        let instance = guest(&self.store.as_context_mut())?.instance;
        let mut address = |name: &str| -> Result<*mut u8, InterpreterError> {
            let value = instance
                .get_global(&mut self.store, name)
                .and_then(|global| global.get(&mut self.store).i32())
                .ok_or_else(|| InterpreterError::Trap(format!("the main module has no export `{name}`")))?;
            let offset = value as u32 as usize;
            if !offset.is_multiple_of(4) || offset + 4 > self.memory.data_size(&self.store) {
                return Err(fault());
            }
            Ok(self.memory.data_ptr(&self.store).wrapping_add(offset))
        };
        let in_memory = address("_Py_emscripten_signal_in_memory")?;
        let clock = address("_Py_emscripten_signal_clock")?;
        crate::signals::set_words(in_memory, clock);
        Ok(())
    }
}

fn fault() -> InterpreterError {
    InterpreterError::Trap("memory fault".to_owned())
}

/// Calls an exported function of i32 parameters; a missing result is zero.
fn call(store: &mut Store<Host>, instance: Instance, name: &str, arguments: &[u32]) -> Result<u32, InterpreterError> {
    let func: Func = instance
        .get_func(&mut *store, name)
        .ok_or_else(|| InterpreterError::Trap(format!("the main module has no export `{name}`")))?;
    let values: Vec<Val> = arguments.iter().map(|&value| Val::I32(value as i32)).collect();
    let mut results: Vec<Val> = func.ty(&*store).results().map(|_| Val::I32(0)).collect();
    func.call(&mut *store, &values, &mut results)?;
    Ok(results.first().and_then(Val::i32).unwrap_or(0) as u32)
}

#[cfg(test)]
mod tests;
