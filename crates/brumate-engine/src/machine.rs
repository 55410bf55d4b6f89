//! One interpreter in this process: a store, the main module's instance, and CPython inside it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use wasmtime::{AsContextMut, Engine, Func, Instance, Memory, Module, Store, TypedFunc, Val};

use crate::caps::clock::Clock;
use crate::caps::output::Output;
use crate::code::ModuleSource;
use crate::files::{DRIVER, HOME, SITE_PACKAGES, STDLIB, file_system};
use crate::host::{GuestExit, Host, MemoryLimit, guest};
use crate::libc::ffi::Closures;
use crate::link::{self, Libraries};

/// Part of the guest's C stack CPython may use before it raises `RecursionError`, in bytes. A small part of the 10 MiB, so
/// that recursion in C ends cleanly long before the native stack does.
const C_STACK: u32 = 2 << 20;

/// Descriptor number of the driver's event channel: high, so that the first file a program opens is 3, as on Linux.
pub(crate) const EVENT_FD: i32 = 1000;

/// The compiled modules every machine needs.
pub(crate) struct Prelude {
    /// Pyodide's main module.
    pub(crate) main: Module,
    /// The call trampoline.
    pub(crate) trampoline: Module,
}

/// Why a call into the guest failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MachineError {
    /// The guest ended itself.
    #[error("{0}")]
    Exit(GuestExit),
    /// A wasm trap or a fault in a host function.
    #[error("{0}")]
    Trap(String),
    /// Python raised where our driver should not have; the text is what it printed.
    #[error("the Python driver failed: {0}")]
    Driver(String),
}

impl From<wasmtime::Error> for MachineError {
    fn from(error: wasmtime::Error) -> MachineError {
        match error.downcast_ref::<GuestExit>() {
            Some(exit) => MachineError::Exit(*exit),
            None => MachineError::Trap(describe(&error)),
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

/// Handles of the C API functions used at run time.
struct Python {
    unicode_from_string_and_size: TypedFunc<(u32, i32), u32>,
    unicode_as_utf8_and_size: TypedFunc<(u32, u32), u32>,
    call_one_arg: TypedFunc<(u32, u32), u32>,
    get_attr_string: TypedFunc<(u32, u32), u32>,
    import_module: TypedFunc<u32, u32>,
    dec_ref: TypedFunc<u32, ()>,
    err_print: TypedFunc<(), ()>,
    bytes_from_string_and_size: TypedFunc<(u32, i32), u32>,
    malloc: TypedFunc<u32, u32>,
    free: TypedFunc<u32, ()>,
    /// The driver's module object.
    driver: u32,
    /// Callables of the driver by name.
    callables: HashMap<&'static str, u32>,
}

/// A booted interpreter.
pub(crate) struct Machine {
    store: Store<Host>,
    memory: Memory,
    python: Python,
    output: Arc<Mutex<Output>>,
}

impl Machine {
    /// Boots CPython: instantiates, runs constructors, initialises Python, imports the driver.
    ///
    /// # Errors
    /// When the modules are not the expected ones or the driver does not start.
    pub(crate) fn boot(
        engine: &Engine,
        prelude: &Prelude,
        modules: Box<dyn ModuleSource>,
    ) -> Result<Machine, MachineError> {
        let output = Arc::new(Mutex::new(Output::new()));
        let boot_text = capture(&output);
        let host = Host {
            vfs: file_system(&output).map_err(MachineError::Trap)?,
            guest: None,
            libraries: Libraries::default(),
            closures: Closures::default(),
            functions: HashMap::new(),
            slots: HashMap::new(),
            modules,
            clock: Clock::new(),
            environment: vec![
                format!("HOME={HOME}"),
                "USER=user".to_owned(),
                "LANG=C.UTF-8".to_owned(),
                "TZ=UTC".to_owned(),
                "PATH=/bin".to_owned(),
            ],
            memory: MemoryLimit { max_bytes: 4 << 30, peak_bytes: 0, refused: false },
        };
        let mut store = Store::new(engine, host);
        store.limiter(|host| &mut host.memory);
        let linker = crate::libc::linker(engine)?;
        let instance = link::instantiate_main(&mut store, &linker, &prelude.main)?;
        link::index_table(&mut store.as_context_mut(), 1)?;
        call(&mut store, instance, "__wasm_call_ctors", &[])?;
        let high = call(&mut store, instance, "emscripten_stack_get_base", &[])?;
        call(&mut store, instance, "emscripten_stack_set_limits", &[high, high - C_STACK])?;
        link::install_trampoline(&mut store.as_context_mut(), &prelude.trampoline)?;
        let memory = guest(&store.as_context_mut())?.memory;

        let initialised = initialise_python(&mut store, instance, memory);
        let python = initialised.and_then(|()| Python::new(&mut store, instance));
        let python = python.map_err(|error| match error {
            MachineError::Driver(text) => MachineError::Driver(format!("{text}\n{}", boot_text())),
            other => other,
        })?;
        let mut machine = Machine { store, memory, python, output };
        let started = machine.run_driver("boot", &EVENT_FD.to_string());
        started.map_err(|error| MachineError::Driver(format!("{error}\n{}", boot_text())))?;
        machine.output.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).end();
        // Fetched before any guest code runs, which could put others in their place.
        for name in ["execute", "analyze", "reseed", "settle"] {
            machine.callable(name)?;
        }
        machine.set_signal_words(instance)?;
        Ok(machine)
    }

    /// Host state.
    pub(crate) fn host(&mut self) -> &mut Host {
        self.store.data_mut()
    }

    /// Where output goes.
    pub(crate) fn output(&self) -> &Arc<Mutex<Output>> {
        &self.output
    }

    /// Present size of the linear memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory.data_size(&self.store) as u64
    }

    /// Calls a function of the driver that takes a string and returns one.
    ///
    /// # Errors
    /// When the guest ended, trapped, or the driver raised.
    pub(crate) fn call_driver(&mut self, name: &'static str, argument: &str) -> Result<String, MachineError> {
        let callable = self.callable(name)?;
        let text = self.string(argument)?;
        let result = self.python.call_one_arg.call(&mut self.store, (callable, text))?;
        self.python.dec_ref.call(&mut self.store, text)?;
        self.take_string(name, result)
    }

    /// Calls a function of the driver that takes a string and whose result does not matter.
    ///
    /// # Errors
    /// As [`Machine::call_driver`].
    pub(crate) fn run_driver(&mut self, name: &'static str, argument: &str) -> Result<(), MachineError> {
        let callable = self.callable(name)?;
        let text = self.string(argument)?;
        let result = self.python.call_one_arg.call(&mut self.store, (callable, text))?;
        self.python.dec_ref.call(&mut self.store, text)?;
        self.release(name, result)
    }

    /// Calls a function of the driver that takes bytes and whose result does not matter.
    ///
    /// # Errors
    /// As [`Machine::call_driver`].
    pub(crate) fn call_driver_bytes(&mut self, name: &'static str, argument: &[u8]) -> Result<(), MachineError> {
        let callable = self.callable(name)?;
        let buffer = self.copy_in(argument)?;
        let length = i32::try_from(argument.len()).map_err(|_| MachineError::Trap("argument too large".to_owned()))?;
        let object = self.python.bytes_from_string_and_size.call(&mut self.store, (buffer, length))?;
        self.python.free.call(&mut self.store, buffer)?;
        let result = self.python.call_one_arg.call(&mut self.store, (callable, object))?;
        self.python.dec_ref.call(&mut self.store, object)?;
        self.release(name, result)
    }

    /// Gives a result back; null is an exception.
    fn release(&mut self, name: &str, object: u32) -> Result<(), MachineError> {
        if object == 0 {
            return Err(self.raised(name));
        }
        Ok(self.python.dec_ref.call(&mut self.store, object)?)
    }

    /// Seeds the generators of C code after a fork. What draws from the host is fresh already.
    ///
    /// # Errors
    /// When the guest traps.
    pub(crate) fn reseed_c(&mut self, entropy: &[u8]) -> Result<(), MachineError> {
        let word = |index: usize| {
            entropy
                .get(index * 4..index * 4 + 4)
                .map_or(0, |bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        self.call_export("srand", &[word(0)])?;
        self.call_export("srandom", &[word(1)])?;
        self.call_export("srand48", &[word(2)])?;
        // Length 0 resets sqlite's generator, which then seeds itself from /dev/urandom.
        self.call_export("sqlite3_randomness", &[0, 0])?;
        Ok(())
    }

    /// Calls an exported C function of integers.
    pub(crate) fn call_export(&mut self, name: &str, arguments: &[u32]) -> Result<u32, MachineError> {
        let instance = guest(&self.store.as_context_mut())?.instance;
        call(&mut self.store, instance, name, arguments)
    }

    fn callable(&mut self, name: &'static str) -> Result<u32, MachineError> {
        if let Some(&object) = self.python.callables.get(name) {
            return Ok(object);
        }
        let buffer = self.copy_in(format!("{name}\0").as_bytes())?;
        let object = self.python.get_attr_string.call(&mut self.store, (self.python.driver, buffer))?;
        self.python.free.call(&mut self.store, buffer)?;
        if object == 0 {
            return Err(self.raised(name));
        }
        self.python.callables.insert(name, object);
        Ok(object)
    }

    /// A Python `str`.
    fn string(&mut self, text: &str) -> Result<u32, MachineError> {
        let buffer = self.copy_in(text.as_bytes())?;
        let length = i32::try_from(text.len()).map_err(|_| MachineError::Trap("argument too large".to_owned()))?;
        let object = self.python.unicode_from_string_and_size.call(&mut self.store, (buffer, length))?;
        self.python.free.call(&mut self.store, buffer)?;
        if object == 0 { Err(self.raised("str")) } else { Ok(object) }
    }

    fn copy_in(&mut self, bytes: &[u8]) -> Result<u32, MachineError> {
        let length = u32::try_from(bytes.len()).map_err(|_| MachineError::Trap("argument too large".to_owned()))?;
        let buffer = self.python.malloc.call(&mut self.store, length.max(1))?;
        if buffer == 0 {
            return Err(MachineError::Driver("out of memory".to_owned()));
        }
        self.memory.write(&mut self.store, buffer as usize, bytes).map_err(|_| fault())?;
        Ok(buffer)
    }

    /// The text of a Python `str`, whose reference is given back.
    fn take_string(&mut self, name: &str, object: u32) -> Result<String, MachineError> {
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
    fn raised(&mut self, name: &str) -> MachineError {
        match self.python.err_print.call(&mut self.store, ()) {
            Ok(()) => MachineError::Driver(format!("`{name}` raised")),
            Err(error) => error.into(),
        }
    }

    /// Tells the signal handlers where CPython looks for interrupts.
    fn set_signal_words(&mut self, instance: Instance) -> Result<(), MachineError> {
        let mut address = |name: &str| -> Result<*mut u8, MachineError> {
            let value = instance
                .get_global(&mut self.store, name)
                .and_then(|global| global.get(&mut self.store).i32())
                .ok_or_else(|| MachineError::Trap(format!("the main module has no export `{name}`")))?;
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

fn fault() -> MachineError {
    MachineError::Trap("memory fault".to_owned())
}

impl Python {
    /// Looks the C API up and imports the driver.
    fn new(store: &mut Store<Host>, instance: Instance) -> Result<Python, MachineError> {
        let mut python = Python {
            unicode_from_string_and_size: instance.get_typed_func(&mut *store, "PyUnicode_FromStringAndSize")?,
            unicode_as_utf8_and_size: instance.get_typed_func(&mut *store, "PyUnicode_AsUTF8AndSize")?,
            call_one_arg: instance.get_typed_func(&mut *store, "PyObject_CallOneArg")?,
            get_attr_string: instance.get_typed_func(&mut *store, "PyObject_GetAttrString")?,
            import_module: instance.get_typed_func(&mut *store, "PyImport_ImportModule")?,
            dec_ref: instance.get_typed_func(&mut *store, "Py_DecRef")?,
            err_print: instance.get_typed_func(&mut *store, "PyErr_Print")?,
            bytes_from_string_and_size: instance.get_typed_func(&mut *store, "PyBytes_FromStringAndSize")?,
            malloc: instance.get_typed_func(&mut *store, "malloc")?,
            free: instance.get_typed_func(&mut *store, "free")?,
            driver: 0,
            callables: HashMap::new(),
        };
        let name = python.malloc.call(&mut *store, 16)?;
        let memory = guest(&store.as_context_mut())?.memory;
        memory.write(&mut *store, name as usize, b"_brumate\0").map_err(|_| fault())?;
        python.driver = python.import_module.call(&mut *store, name)?;
        python.free.call(&mut *store, name)?;
        if python.driver == 0 {
            python.err_print.call(&mut *store, ())?;
            return Err(MachineError::Driver("the module `_brumate` cannot be imported".to_owned()));
        }
        Ok(python)
    }
}

/// Calls an exported function of i32 parameters; a missing result is zero.
fn call(store: &mut Store<Host>, instance: Instance, name: &str, arguments: &[u32]) -> Result<u32, MachineError> {
    let func: Func = instance
        .get_func(&mut *store, name)
        .ok_or_else(|| MachineError::Trap(format!("the main module has no export `{name}`")))?;
    let values: Vec<Val> = arguments.iter().map(|&value| Val::I32(value as i32)).collect();
    let mut results: Vec<Val> = func.ty(&*store).results().map(|_| Val::I32(0)).collect();
    func.call(&mut *store, &values, &mut results)?;
    Ok(results.first().and_then(Val::i32).unwrap_or(0) as u32)
}

/// Initialises CPython by PEP 741's configuration.
fn initialise_python(store: &mut Store<Host>, instance: Instance, memory: Memory) -> Result<(), MachineError> {
    let put = |store: &mut Store<Host>, bytes: &[u8]| -> Result<u32, MachineError> {
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
        [("home", "/"), ("stdlib_dir", STDLIB), ("program_name", "python"), ("executable", "/bin/python")]
    {
        let (name, value) = (text(store, name)?, text(store, value)?);
        failed |= call(store, instance, "PyInitConfig_SetStr", &[config, name, value])? != 0;
    }
    let lists: [(&str, &[&str]); 2] =
        [("module_search_paths", &[STDLIB, SITE_PACKAGES, DRIVER]), ("argv", &["main.py"])];
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
        return Err(MachineError::Driver(format!("CPython does not start: {reason}")));
    }
    call(store, instance, "PyInitConfig_Free", &[config])?;
    Ok(())
}

/// Collects what the guest prints while it boots; the function returned gives the text.
fn capture(output: &Arc<Mutex<Output>>) -> impl Fn() -> String + use<> {
    const BOOT_TEXT: u64 = 64 << 10;
    let text = Arc::new(Mutex::new(String::new()));
    let copy = text.clone();
    let sink = Box::new(move |event| {
        if let crate::api::Event::Stream { text, .. } = event
            && let Ok(mut collected) = copy.lock()
        {
            collected.push_str(&text);
        }
    });
    if let Ok(mut output) = output.lock() {
        output.begin(sink, BOOT_TEXT);
    }
    move || text.lock().map(|text| text.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::api::Event;
    use crate::code::cache::ModuleCache;
    use crate::code::compile::{self, Kind};
    use crate::engine::{Purpose, engine};
    use crate::link::trampoline_module;

    /// Compiles in this process, with a cache below the target directory.
    struct LocalModules {
        compiler: Engine,
        cache: Arc<ModuleCache>,
    }

    impl LocalModules {
        fn load(&self, engine: &Engine, kind: Kind, bytes: &[u8]) -> Result<Module, String> {
            let key = compile::key(bytes);
            let file = match self.cache.get(&key) {
                Some(file) => file,
                None => {
                    let code = compile::compile(&self.compiler, kind, bytes)?;
                    let mut file = self.cache.create().map_err(|error| error.to_string())?;
                    std::io::Write::write_all(&mut file, &code).map_err(|error| error.to_string())?;
                    self.cache.commit(&key, file).map_err(|error| error.to_string())?
                }
            };
            crate::code::remote::load(engine, file.try_clone().map_err(|error| error.to_string())?.into())
        }
    }

    impl ModuleSource for LocalModules {
        fn module(&mut self, engine: &Engine, bytes: &[u8]) -> Result<Module, String> {
            self.load(engine, Kind::Side, bytes)
        }
    }

    fn boot() -> Machine {
        let running = engine(Purpose::Run).unwrap();
        let compiler = engine(Purpose::Compile).unwrap();
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-cache");
        let cache = Arc::new(ModuleCache::open(&root, &compile::fingerprint(&running)).unwrap());
        let modules = LocalModules { compiler, cache };
        let prelude = Prelude {
            main: modules.load(&running, Kind::Main, crate::bundle::INTERPRETER.bytes).unwrap(),
            trampoline: modules.load(&running, Kind::Helper, &trampoline_module()).unwrap(),
        };
        Machine::boot(&running, &prelude, Box::new(modules)).unwrap()
    }

    /// Runs on a thread with the stack a guest needs.
    fn on_big_stack(test: impl FnOnce() + Send + 'static) {
        let thread = std::thread::Builder::new().stack_size(crate::engine::NATIVE_STACK as usize).spawn(test).unwrap();
        thread.join().unwrap();
    }

    #[test]
    fn numpy_runs() {
        on_big_stack(|| {
            let mut machine = boot();
            let text = Arc::new(Mutex::new(String::new()));
            let copy = text.clone();
            machine.output().lock().unwrap().begin(
                Box::new(move |event| {
                    if let Event::Stream { text, .. } = event {
                        copy.lock().unwrap().push_str(&text);
                    }
                }),
                1 << 20,
            );
            let code = std::env::var("BRUMATE_CODE")
                .unwrap_or_else(|_| "import numpy\na = numpy.array([1, 2, 3])\nprint(a)\na".to_owned());
            let request = crate::api::Execute { code, ..Default::default() };
            let result = machine.call_driver("execute", &serde_json::to_string(&request).unwrap());
            machine.output().lock().unwrap().end();
            eprintln!("{}", text.lock().unwrap());
            eprintln!("{result:?}");
            assert_eq!(*text.lock().unwrap(), "[1 2 3]\n");
        });
    }
}
