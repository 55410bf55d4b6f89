//! The wasmtime engine every part of Brumate shares: one configuration, or compiled code would not load.

use wasmtime::{Collector, Config, Engine, OptLevel, RegallocAlgorithm, WasmBacktraceDetails};

/// Native stack a guest may use, in bytes.
///
/// CPython 3.14 limits recursion by the guest's own C stack; deallocation, hashing and iterator chains use none of that,
/// only native stack (about 70 to 250 bytes a level), so it has to be large. Pages are committed only when touched.
pub(crate) const MAX_WASM_STACK: usize = 512 << 20;

/// Stack the process running a guest needs: the guest's share and room for host functions called at its bottom.
pub(crate) const NATIVE_STACK: u64 = (MAX_WASM_STACK + (64 << 20)) as u64;

/// Virtual address space reserved for the linear memory: all of it, so that it never moves and needs no bounds checks.
const MEMORY_RESERVATION: u64 = 4 << 30;

/// Address space reserved for exception objects (they are the only garbage-collected ones).
const GC_HEAP_RESERVATION: u64 = 64 << 20;

/// What an engine is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Load precompiled modules and run them; starts no thread, so that the process may fork.
    Run,
    /// Compile modules, on all cores.
    Compile,
    /// Compile modules in half the time, to slower code, on all cores.
    CompileBaseline,
    /// Compile modules in one thread.
    CompileAlone,
}

/// The configuration; all purposes give compatible code.
fn config(purpose: Purpose) -> Config {
    let mut config = Config::new();
    config
        .wasm_exceptions(true)
        .wasm_gc(true)
        .wasm_function_references(true)
        .wasm_simd(true)
        .wasm_relaxed_simd(true)
        // A null collector would leak 24 bytes a throw; copying costs nothing while nothing is thrown.
        .collector(Collector::Copying)
        .gc_heap_reservation(GC_HEAP_RESERVATION)
        .max_wasm_stack(MAX_WASM_STACK)
        .async_stack_size(NATIVE_STACK as usize)
        .memory_reservation(MEMORY_RESERVATION)
        .memory_may_move(false)
        .concurrency_support(false)
        // Images map their own pages over the memory; wasmtime's would be replaced at once.
        .memory_init_cow(false)
        .cranelift_opt_level(OptLevel::Speed)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .generate_address_map(false)
        .native_unwind_info(false)
        .parallel_compilation(matches!(purpose, Purpose::Compile | Purpose::CompileBaseline));
    if purpose == Purpose::CompileBaseline {
        // Neither is part of what wasmtime compares when it loads a module.
        config.cranelift_opt_level(OptLevel::None).cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    if purpose == Purpose::Run {
        config.with_custom_code_memory(Some(crate::code::publish::publisher()));
    }
    config
}

/// An engine for `purpose`.
///
/// # Errors
/// When the host CPU lacks what wasmtime needs.
pub(crate) fn engine(purpose: Purpose) -> wasmtime::Result<Engine> {
    Engine::new(&config(purpose))
}
