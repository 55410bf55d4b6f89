//! Tests with an interpreter in this process.

use std::sync::Arc;

use parking_lot::Mutex;
use wasmtime::{Engine, Module};

use super::*;
use crate::api::Event;
use crate::code::cache::ModuleCache;
use crate::code::compile::{self, ModuleKind, Trust};
use crate::code::trampoline::trampoline_module;
use crate::code::{Compiled, ModuleQuery, ModuleSource};
use crate::engine::{Purpose, engine};
use crate::wire::ModuleKey;

/// Compiles in this process, with the cache that all tests share.
struct LocalModules {
    compiler: Engine,
    cache: Arc<ModuleCache>,
}

impl LocalModules {
    fn load(&self, engine: &Engine, kind: ModuleKind, bytes: &[u8]) -> Result<Module, String> {
        let key = compile::key(bytes);
        let file = match self.cache.get(&key) {
            Some(file) => file,
            None => {
                let code = compile::compile(&self.compiler, kind, Trust::Bundle, bytes)?;
                let mut file = self.cache.create().map_err(|error| error.to_string())?;
                std::io::Write::write_all(&mut file, &code).map_err(|error| error.to_string())?;
                self.cache.commit(&key, file).map_err(|error| error.to_string())?
            }
        };
        crate::code::remote::load(engine, file.try_clone().map_err(|error| error.to_string())?.into())
    }
}

impl ModuleSource for LocalModules {
    fn module(&mut self, engine: &Engine, query: ModuleQuery<'_>) -> Result<Compiled, String> {
        Ok(Compiled { module: self.load(engine, ModuleKind::Side, query.bytes)?, own_bytes: 0 })
    }

    fn bundled(&mut self, engine: &Engine, key: ModuleKey) -> Result<Module, String> {
        let module = crate::bundle::native_module(&key).ok_or("not in the bundle")?;
        self.load(engine, ModuleKind::Side, &module.read()?)
    }
}

/// What every machine of these tests is made from.
struct MachineKit {
    engine: Engine,
    compiler: Engine,
    cache: Arc<ModuleCache>,
    prelude: Prelude,
}

impl MachineKit {
    fn new() -> MachineKit {
        let running = engine(Purpose::Run).unwrap();
        let compiler = engine(Purpose::Compile).unwrap();
        let root = brumate_test_support::cache_directory();
        let cache = Arc::new(ModuleCache::open(&root, &compile::fingerprint(&running)).unwrap());
        let modules = LocalModules { compiler: compiler.clone(), cache: cache.clone() };
        let prelude = Prelude {
            main: modules.load(&running, ModuleKind::Main, crate::bundle::INTERPRETER.content.bytes()).unwrap(),
            trampoline: modules.load(&running, ModuleKind::Helper, &trampoline_module()).unwrap(),
        };
        MachineKit { engine: running, compiler, cache, prelude }
    }

    fn modules(&self) -> Box<LocalModules> {
        Box::new(LocalModules { compiler: self.compiler.clone(), cache: self.cache.clone() })
    }

    fn boot(&self) -> Interpreter {
        Interpreter::boot(&self.engine, &self.prelude, self.modules()).unwrap()
    }

    /// Returns a machine that continues from the current state of `machine`.
    fn copy(&self, machine: &mut Interpreter) -> Interpreter {
        let saved = machine.snapshot().unwrap();
        let saved = postcard::to_allocvec(&saved).unwrap();
        let saved = postcard::from_bytes(&saved).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, machine.memory()).unwrap();
        Interpreter::restore(&self.engine, &self.prelude, self.modules(), &saved, (&file, 0), &[]).unwrap()
    }
}

/// Runs code in a session and returns what it printed and its answer.
fn run(machine: &mut Interpreter, code: &str) -> String {
    let text = Arc::new(Mutex::new(String::new()));
    let copy = text.clone();
    machine.output().lock().begin(
        Box::new(move |event| {
            if let Event::Stream { text, .. } = event {
                copy.lock().push_str(&text);
            }
        }),
        1 << 20,
    );
    let request = serde_json::json!({"code": code, "mode": "cell"}).to_string();
    let answer = machine.call_driver("execute", &request).unwrap();
    machine.output().lock().end();
    assert!(answer.contains("Returned"), "{answer}");
    std::mem::take(&mut text.lock())
}

/// Runs on a thread with the stack a guest needs.
fn on_big_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(crate::engine::NATIVE_STACK as usize).spawn(test).unwrap();
    thread.join().unwrap();
}

#[test]
fn an_image_goes_on_where_its_machine_was() {
    on_big_stack(|| {
        let kit = MachineKit::new();
        let mut first = kit.boot();
        let before = "import ctypes, numpy as np, sqlite3\na = np.arange(5)\n\
            compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))(\n\
            \x20   lambda x, y: x[0] - y[0])\n\
            def squares():\n    for n in range(9):\n        yield n * n\n\
            g = squares(); next(g); next(g)\n\
            f = open('notes.txt', 'w+'); f.write('hello'); f.flush()\n\
            db = sqlite3.connect('a.db'); db.execute('create table t(x)'); db.execute('insert into t values (7)'); None";
        assert_eq!(run(&mut first, before), "");
        let mut second = kit.copy(&mut first);
        let mut third = kit.copy(&mut second);
        let after = "values = (ctypes.c_int * 4)(3, 1, 4, 1)\n\
            ctypes.CDLL(None).qsort(values, 4, 4, compare)\n\
            f.write(' world'); f.seek(0)\n\
            print(list(values), next(g), a.sum(), f.read(), db.execute('select x from t').fetchall())\n\
            import pandas as pd\nprint(np.linalg.inv(np.eye(2) * 2)[0, 0], pd.Series([1, 2]).sum())";
        let expected = "[1, 1, 3, 4] 4 10 hello world [(7,)]\n0.5 3\n";
        for machine in [&mut third, &mut first, &mut second] {
            assert_eq!(run(machine, after), expected);
        }
        // Libraries that were loaded after the copy are in the next copy.
        assert_eq!(run(&mut kit.copy(&mut third), "print(next(g), pd.Series([2, 3]).sum())"), "9 5\n");
    });
}

#[test]
fn booting_is_reproducible() {
    on_big_stack(|| {
        let kit = MachineKit::new();
        let image = || {
            let rehearsal = crate::caps::rehearsal::begin();
            let mut machine = kit.boot();
            machine.preload(&["numpy".to_owned(), "IPython".to_owned()]).unwrap();
            assert!(machine.knows_places(), "forks have to ask the interpreter for a new identity");
            let saved = postcard::to_allocvec(&machine.snapshot().unwrap()).unwrap();
            drop(rehearsal);
            (machine.memory().to_vec(), saved)
        };
        let (first, second) = (image(), image());
        assert!(first.1 == second.1, "the records differ");
        let differing = first.0.chunks(4096).zip(second.0.chunks(4096)).position(|(a, b)| a != b);
        assert_eq!(differing, None, "a page differs");
        assert_eq!(first.0.len(), second.0.len());
    });
}
