//! What compilers make of C++ exceptions and of `setjmp`/`longjmp`, in two modules that share tags, memory and table as a main
//! module and a shared object do.

use crate::exceptions::engine::engine;
use crate::exceptions::programs::{self, Program};
use brumate_module::exceptions::translate;
use wasmtime::{Extern, Func, Instance, Linker, Module, Store, StoreLimits, StoreLimitsBuilder, ThrownException, Val};

/// What a program reports, and the limits it runs under.
struct State {
    log: Vec<i32>,
    limits: StoreLimits,
}

/// A main module and a shared object, linked.
struct Linked {
    store: Store<State>,
    main: Instance,
}

impl Linked {
    fn new(program: &Program) -> Self {
        let engine = engine();
        // Far less than what the exceptions of the longest test would take if they were never collected.
        let limits = StoreLimitsBuilder::new().memory_size(1 << 20).build();
        let mut store = Store::new(&engine, State { log: Vec::new(), limits });
        store.limiter(|state| &mut state.limits);
        let mut linker = Linker::new(&engine);
        let log = Func::wrap(&mut store, |mut caller: wasmtime::Caller<'_, State>, value: i32| {
            caller.data_mut().log.push(value);
        });
        linker.define(&store, "env", "log", log).expect("a new name");
        let mut load = |name: &str, wasm: &[u8]| {
            let wasm = translate(wasm).unwrap_or_else(|error| panic!("{name}: {error}"));
            let module = Module::new(&engine, &wasm).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            let instance = linker.instantiate(&mut store, &module).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            let exports: Vec<(String, Extern)> =
                instance.exports(&mut store).map(|export| (export.name().to_owned(), export.into_extern())).collect();
            for (export, value) in exports {
                linker.define(&store, "env", &export, value).expect("a new name");
            }
            instance
        };
        load("runtime", &programs::runtime());
        load("library", &program.library);
        let main = load("main", &program.main);
        Linked { store, main }
    }

    fn call(&mut self, argument: i32) -> wasmtime::Result<i32> {
        let main = self.main.get_typed_func::<i32, i32>(&mut self.store, "main")?;
        main.call(&mut self.store, argument)
    }

    /// Runs `main` and returns what it logged, its result last.
    fn run(&mut self, argument: i32) -> Vec<i32> {
        let result = self.call(argument).expect("no trap and no exception");
        let mut log = std::mem::take(&mut self.store.data_mut().log);
        log.push(result);
        log
    }
}

#[test]
fn an_exception_crosses_modules() {
    let mut linked = Linked::new(&programs::catch_across_modules());
    assert_eq!(linked.run(7), [7, 1]);
    assert_eq!(linked.run(0), [0], "nothing thrown");
}

#[test]
fn destructors_run_from_the_inside_out() {
    let mut linked = Linked::new(&programs::destructors());
    assert_eq!(linked.run(5), [30, 20, 10, 5, 99]);
}

#[test]
fn a_nested_catch_rethrows_the_outer_exception() {
    let mut linked = Linked::new(&programs::rethrow_outer());
    assert_eq!(linked.run(4), [4, 1004, 4]);
}

#[test]
fn longjmp_returns_to_its_setjmp() {
    let mut linked = Linked::new(&programs::jumps());
    // The loop's three values, each having passed a destructor but no `catch` of C++ exceptions.
    assert_eq!(linked.run(3), [-1, 3, -1, 2, -1, 1, 0]);
}

#[test]
fn longjmp_of_another_buffer_passes_through() {
    let mut linked = Linked::new(&programs::nested_jumps());
    assert_eq!(linked.run(8), [-1, 208]);
}

#[test]
fn an_exception_passes_through_a_library_that_calls_back() {
    let mut linked = Linked::new(&programs::callback());
    assert_eq!(linked.run(6), [61, 62, 6]);
}

#[test]
fn an_exception_nobody_catches_reaches_the_host() {
    let mut linked = Linked::new(&programs::uncaught());
    let error = linked.call(77).expect_err("an exception");
    assert!(error.is::<ThrownException>(), "{error:?}");
    let exception = linked.store.take_pending_exception().expect("the exception");
    assert!(matches!(exception.field(&mut linked.store, 0), Ok(Val::I32(77))));
    assert_eq!(linked.store.data().log, [50], "the destructor ran");
    linked.store.data_mut().log.clear();
    assert_eq!(linked.run(0), [0], "the instance still works");
}

#[test]
fn a_million_exceptions_take_no_memory() {
    let mut linked = Linked::new(&programs::many());
    assert_eq!(linked.run(1_000_000), [1_000_000]);
}
