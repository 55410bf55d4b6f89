//! Boots an interpreter.

use std::sync::Arc;

use parking_lot::Mutex;
use wasmtime::{AsContextMut, Engine, Instance, Memory, Module, Store};

use super::non_memory_state::Globals;
use super::python::Python;
use super::{Interpreter, InterpreterError, call, fault};
use crate::api::PACKAGES;
use crate::caps::output::GuestOutput;
use crate::code::ModuleSource;
use crate::engine::shared_memory;
use crate::files::{DRIVER, EVENT_FD, HOME, PREFIX, SITE_PACKAGES, STDLIB, file_system};
use crate::host::{Host, guest};
use crate::link::{self, Helper};
use crate::threads::Threads;
use brumate_vfs::{EXECUTABLE, Vfs};

/// Part of the guest's C stack CPython may use before it raises `RecursionError`, in bytes. A small part of the 10 MiB, so
/// that recursion in C ends cleanly long before the native stack does.
const C_STACK: u32 = 2 << 20;

/// Reference count of an immortal object where pointers have 32 bits (`_Py_IMMORTAL_INITIAL_REFCNT` of CPython 3.14).
const IMMORTAL: u32 = 5 << 28;

/// The compiled modules every machine needs.
pub(crate) struct Prelude {
    /// Pyodide's main module.
    pub(crate) main: Module,
    /// The call trampoline.
    pub(crate) trampoline: Module,
}

/// A store with an instance of the main module in which nothing has run.
pub(super) fn instantiate(
    engine: &Engine,
    prelude: &Prelude,
    modules: Box<dyn ModuleSource>,
    vfs: Vfs,
) -> wasmtime::Result<(Store<Host>, Instance)> {
    let environment = vec![
        format!("HOME={HOME}"),
        "USER=user".to_owned(),
        "LANG=C.UTF-8".to_owned(),
        "TZ=UTC".to_owned(),
        "PATH=/bin".to_owned(),
    ];
    let mut store = Store::new(engine, Host::new(vfs, modules, environment, Threads::none()));
    store.limiter(|host| &mut host.account);
    let linker = crate::libc::linker(engine, false)?;
    let instance = link::instantiate_main(&mut store, &linker, &prelude.main)?;
    store.data_mut().threads = Threads::new(&prelude.main, &prelude.trampoline, shared_memory::latest());
    let helper = Helper::new(&mut store.as_context_mut(), &prelude.trampoline)?;
    store.data_mut().store.helper = Some(helper);
    Ok((store, instance))
}

impl Interpreter {
    /// Boots CPython: instantiates, runs constructors, initialises Python, imports the driver.
    ///
    /// # Errors
    /// When the modules are not the expected ones or the driver does not start.
    pub(crate) fn boot(
        engine: &Engine,
        prelude: &Prelude,
        modules: Box<dyn ModuleSource>,
    ) -> Result<Interpreter, InterpreterError> {
        let output = Arc::new(Mutex::new(GuestOutput::new()));
        let boot_text = capture(&output);
        let with_text = |error: InterpreterError| match error {
            InterpreterError::Driver(text) => InterpreterError::Driver(format!("{text}\n{}", boot_text())),
            other => other,
        };
        let vfs = file_system(&output).map_err(InterpreterError::Trap)?;
        let (mut store, instance) = instantiate(engine, prelude, modules, vfs)?;
        link::index_table(&mut store.as_context_mut(), 1)?;
        call(&mut store, instance, "__wasm_call_ctors", &[])?;
        let high = call(&mut store, instance, "emscripten_stack_get_base", &[])?;
        call(&mut store, instance, "emscripten_stack_set_limits", &[high, high - C_STACK])?;
        let helper = store.data().store.helper;
        if let Some(helper) = helper {
            helper.install(&mut store.as_context_mut())?;
        }
        let memory = guest(&store.as_context_mut())?.memory;
        let initialised = initialise_python(&mut store, instance, memory);
        let python = initialised.and_then(|()| Python::new(&mut store, instance)).map_err(with_text)?;
        let mut machine = Interpreter { store, memory, python, output: output.clone(), globals: Globals::default() };
        machine.run_driver("boot", &EVENT_FD.to_string()).map_err(with_text)?;
        machine.end_output();
        machine.set_signal_words()?;
        Ok(machine)
    }

    /// Imports packages and runs code that makes their first use fast; then collects garbage.
    ///
    /// # Errors
    /// When one cannot be imported.
    pub(crate) fn preload(&mut self, packages: &[String]) -> Result<(), InterpreterError> {
        let text = capture(&self.output);
        let names = serde_json::to_string(packages).map_err(|error| InterpreterError::Driver(error.to_string()))?;
        let done = self.run_driver("preload", &names);
        self.end_output();
        done.map_err(|error| InterpreterError::Driver(format!("{error}\n{}", text())))?;
        self.find_places()?;
        self.make_immortal()
    }

    /// Makes every Python object immortal: using one then writes nothing, and a fork shares its page.
    ///
    /// # Errors
    /// When the driver fails, or names an address outside of memory.
    fn make_immortal(&mut self) -> Result<(), InterpreterError> {
        for address in self.call_driver("object_addresses", "")?.split_terminator(',') {
            let address = usize::from_str_radix(address, 16).map_err(|_| fault())?;
            // An object starts with its reference count.
            self.memory.write(&mut self.store, address, &IMMORTAL.to_le_bytes()).map_err(|_| fault())?;
        }
        Ok(())
    }
}

/// Initialises CPython by PEP 741's configuration.
fn initialise_python(store: &mut Store<Host>, instance: Instance, memory: Memory) -> Result<(), InterpreterError> {
    let put = |store: &mut Store<Host>, bytes: &[u8]| -> Result<u32, InterpreterError> {
        let block = call(store, instance, "malloc", &[bytes.len() as u32])?;
        memory.write(&mut *store, block as usize, bytes).map_err(|_| fault())?;
        Ok(block)
    };
    let text = |store: &mut Store<Host>, text: &str| put(store, format!("{text}\0").as_bytes());
    let config = call(store, instance, "PyInitConfig_Create", &[])?;
    let set_int = instance.get_typed_func::<(u32, u32, i64), i32>(&mut *store, "PyInitConfig_SetInt")?;
    let mut failed = false;
    for (name, value) in [
        ("utf8_mode", 1),
        ("write_bytecode", 0),
        ("use_environment", 0),
        ("install_signal_handlers", 1),
        ("site_import", 1),
        ("configure_locale", 1),
        ("parse_argv", 0),
        ("buffered_stdio", 1),
    ] {
        let name = text(store, name)?;
        failed |= set_int.call(&mut *store, (config, name, value))? != 0;
    }
    for (name, value) in
        [("home", PREFIX), ("stdlib_dir", STDLIB), ("program_name", "python"), ("executable", EXECUTABLE)]
    {
        let (name, value) = (text(store, name)?, text(store, value)?);
        failed |= call(store, instance, "PyInitConfig_SetStr", &[config, name, value])? != 0;
    }
    let lists: [(&str, &[&str]); 2] =
        [("module_search_paths", &[STDLIB, PACKAGES, SITE_PACKAGES, DRIVER]), ("argv", &["main.py"])];
    for (name, values) in lists {
        let mut pointers = Vec::new();
        for value in values {
            pointers.extend_from_slice(&text(store, value)?.to_le_bytes());
        }
        let array = call(store, instance, "malloc", &[pointers.len() as u32])?;
        memory.write(&mut *store, array as usize, &pointers).map_err(|_| fault())?;
        let name = text(store, name)?;
        let length = values.len() as u32;
        failed |= call(store, instance, "PyInitConfig_SetStrList", &[config, name, length, array])? != 0;
    }
    if failed || call(store, instance, "Py_InitializeFromInitConfig", &[config])? != 0 {
        let out = text(store, "    ")?;
        call(store, instance, "PyInitConfig_GetError", &[config, out])?;
        let mut word = [0; 4];
        memory.read(&*store, out as usize, &mut word).map_err(|_| fault())?;
        let bytes = memory.data(&*store);
        let start = (u32::from_le_bytes(word) as usize).min(bytes.len());
        let end = bytes[start..].iter().take(500).position(|&byte| byte == 0).unwrap_or(0);
        let reason = String::from_utf8_lossy(&bytes[start..start + end]).into_owned();
        return Err(InterpreterError::Driver(format!("CPython does not start: {reason}")));
    }
    call(store, instance, "PyInitConfig_Free", &[config])?;
    Ok(())
}

/// Collects what the guest prints while it boots. The returned function returns the text.
fn capture(output: &Arc<Mutex<GuestOutput>>) -> impl Fn() -> String + use<> {
    const BOOT_TEXT: u64 = 64 << 10;
    let text = Arc::new(Mutex::new(String::new()));
    let copy = text.clone();
    let sink = Box::new(move |event| {
        if let crate::api::Event::Stream { text, .. } = event {
            copy.lock().push_str(&text);
        }
    });
    output.lock().begin(sink, BOOT_TEXT);
    move || text.lock().clone()
}
