//! The wasmtime engine every part of Brumate shares: one configuration, or compiled code would not load.

#![expect(unsafe_code, reason = "enables features of the processor in wasmtime")]

pub(crate) mod publish;
pub(crate) mod shared_memory;
mod stacks;

use std::sync::Arc;

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
    /// Compile modules for the common processors ([`COMMON_PROCESSORS`]), on all cores.
    CompilePortable,
}

/// Processors that portable code is for: x86-64-v3, those since 2013 (Intel) and 2015 (AMD); on ARM, each one with 64 bits (Armv8.0).
pub(crate) const COMMON_PROCESSORS: &str = if cfg!(target_arch = "x86_64") { "x86-64-v3" } else { "armv8" };

/// Target triple of portable code: this program's architecture. `None` when there is no such code for it.
const PORTABLE_TARGET: Option<&str> = if cfg!(target_arch = "x86_64") {
    Some("x86_64-unknown-linux-gnu")
} else if cfg!(target_arch = "aarch64") {
    Some("aarch64-unknown-linux-gnu")
} else {
    None
};

/// Lists the features of [`COMMON_PROCESSORS`]: Cranelift's name, and whether this processor has it.
pub(crate) fn common_features() -> Vec<(&'static str, bool)> {
    #[cfg(target_arch = "x86_64")]
    {
        vec![
            ("has_sse3", std::is_x86_feature_detected!("sse3")),
            ("has_ssse3", std::is_x86_feature_detected!("ssse3")),
            ("has_sse41", std::is_x86_feature_detected!("sse4.1")),
            ("has_sse42", std::is_x86_feature_detected!("sse4.2")),
            ("has_popcnt", std::is_x86_feature_detected!("popcnt")),
            ("has_avx", std::is_x86_feature_detected!("avx")),
            ("has_avx2", std::is_x86_feature_detected!("avx2")),
            ("has_fma", std::is_x86_feature_detected!("fma")),
            ("has_bmi1", std::is_x86_feature_detected!("bmi1")),
            ("has_bmi2", std::is_x86_feature_detected!("bmi2")),
            ("has_lzcnt", std::is_x86_feature_detected!("lzcnt")),
        ]
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        Vec::new()
    }
}

/// Whether portable code runs on this processor.
pub(crate) fn is_common_processor() -> bool {
    PORTABLE_TARGET.is_some() && common_features().iter().all(|(_, is_here)| *is_here)
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
        .parallel_compilation(!matches!(purpose, Purpose::Run | Purpose::CompileAlone));
    if purpose == Purpose::CompileBaseline {
        // Neither is part of what wasmtime compares when it loads a module.
        config.cranelift_opt_level(OptLevel::None).cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    if purpose == Purpose::Run {
        config.with_custom_code_memory(Some(publish::publisher()));
        config.with_host_memory(Arc::new(shared_memory::Creator));
        config.with_host_stack(Arc::new(stacks::Creator));
    }
    config
}

/// An engine for `purpose`.
///
/// # Errors
/// When the host CPU lacks what wasmtime needs.
pub(crate) fn engine(purpose: Purpose) -> wasmtime::Result<Engine> {
    let mut config = config(purpose);
    if purpose == Purpose::CompilePortable {
        // With a target that is named, nothing is taken from this processor.
        config.target(PORTABLE_TARGET.unwrap_or("this architecture has no portable code"))?;
        for (feature, _) in common_features() {
            // SAFETY: the code is loaded only where `is_common_processor` holds, and wasmtime compares the features again.
            unsafe { config.cranelift_flag_enable(feature) };
        }
    }
    let engine = Engine::new(&config)?;
    if purpose == Purpose::Run {
        stacks::install();
    }
    Ok(engine)
}
