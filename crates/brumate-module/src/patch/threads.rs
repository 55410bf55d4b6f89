//! Threads of the main module: the places of CPython where a thread starts, waits, or lets others run become calls of the host.
//!
//! CPython's lock of the interpreter, its mutexes and its parking lot are compiled in. The build for one thread has lost only the waiting
//! and the making of threads. Imports that JavaScript alone serves take the host's names:
//!
//! | import | type | meaning |
//! |---|---|---|
//! | [`SEMAPHORE_WAIT`] | semaphore, nanoseconds (low and high word, negative: for ever) → status | waits until the word at [`SEMAPHORE_COUNT`] is positive, and takes one |
//! | the same | lock + [`LOCK`], nanoseconds → status | waits until the lock's byte is 0, and sets it |
//! | [`THREAD_START`] | function, argument, address of the result | starts a thread; writes its identity, or 0 |
//! | [`THREAD_YIELD`] | 0 | lets other threads run if the slice is over, and until the lock of the interpreter is free |
//!
//! A thread that waits in C may have the lock of the interpreter. [`ATTACHED_STATE`] is 0 in all others.

use wasm_encoder::{BlockType, Function, Instruction, MemArg};
use wasmparser::{BinaryReader, Operator, ValType};

use super::{Patches, Symbol, exported, imported};
use crate::ModuleError;
use crate::layout::Layout;

/// Module of the imports of threads.
pub const MODULE: &str = "brumate";
/// Waits for a semaphore: 0 when it was taken, -2 after the time, -3 after an interrupt (`Py_PARK_OK`, `…_TIMEOUT`, `…_INTR`).
pub const SEMAPHORE_WAIT: &str = "semaphore_wait";
/// Starts a thread.
pub const THREAD_START: &str = "thread_start";
/// Lets other threads run before the lock of the interpreter is taken.
pub const THREAD_YIELD: &str = "thread_yield";

/// Offset of the count in `_PySemaphore` (a condition, a mutex, the count), in bytes.
pub const SEMAPHORE_COUNT: u32 = 72;
/// Added to the address of a lock that [`SEMAPHORE_WAIT`] waits for. Addresses of both kinds are even.
pub const LOCK: u32 = 1;
/// Address of the attached thread state's address (`_Py_tss_tstate`); 0 there: the thread does not have the lock of the interpreter.
pub const ATTACHED_STATE: u32 = 4_001_308;
/// Offset of `eval_breaker` in `PyThreadState`, in bytes.
pub const EVAL_BREAKER: u32 = 12;
/// Bit of the eval breaker: another thread asks for the lock (`_PY_GIL_DROP_REQUEST_BIT`).
pub const DROP_REQUEST: u32 = 1;
/// Address of `errno`.
pub const ERRNO: u32 = 4_006_800;
/// Address and length of memory that each thread has for itself: [`ATTACHED_STATE`], `errno`, the values of the pthread keys, state of C++
/// exceptions.
pub const THREAD_LOCAL: [(u32, u32); 4] = [(ATTACHED_STATE, 4), (ERRNO, 4), (4_008_048, 512), (4_052_884, 8)];
/// Exports of the globals that hold the end (high address) and the limit (low address) of a thread's C stack.
pub const STACK_BASE: &str = "__brumate_mutable_global_281";
/// As [`STACK_BASE`].
pub const STACK_END: &str = "__brumate_mutable_global_282";
/// Position of [`STACK_END`] among the globals.
const STACK_END_GLOBAL: u32 = 282;
/// End of the main thread's C stack. The C stacks of other threads have higher addresses: they are in the heap.
const MAIN_STACK_BASE: i32 = 14_539_216;
/// Identity of the main thread: the address of its `struct pthread`.
pub const MAIN_THREAD: u32 = 4_012_832;

/// Offset of `state` in `PyThreadState`, in bytes.
const STATE: u64 = 28;
/// Value of `state` while the thread holds the lock of the interpreter (`_Py_THREAD_ATTACHED`).
const ATTACHED: i32 = 1;
/// Value of `EINVAL` in `join_thread`, which the missing `pthread_join` returns.
const EINVAL: u8 = 28;

/// Function that the module keeps to itself, by its position among all functions, and the length and the checksum of its body (FNV-1a, 64 bits).
struct Static {
    name: &'static str,
    index: u32,
    length: usize,
    sum: u64,
}

const I32: ValType = ValType::I32;
const I64: ValType = ValType::I64;

/// An import that only JavaScript serves, and its new name.
const RENAMED: [(Symbol, &str); 3] = [
    (Symbol { name: "emscripten_asm_const_int", params: &[I32, I32, I32], results: &[I32] }, SEMAPHORE_WAIT),
    (Symbol { name: "emscripten_promise_resolve", params: &[I32, I32, I32], results: &[] }, THREAD_START),
    (Symbol { name: "emscripten_promise_destroy", params: &[I32], results: &[] }, THREAD_YIELD),
];

/// Returns the thread state that is attached, as its only load.
const CURRENT: Symbol = Symbol { name: "PyThreadState_GetUnchecked", params: &[], results: &[I32] };
const RELEASE: Symbol = Symbol { name: "PyEval_ReleaseThread", params: &[I32], results: &[] };
const ACQUIRE: Symbol = Symbol { name: "PyEval_AcquireThread", params: &[I32], results: &[] };
const WAIT: Symbol = Symbol { name: "_PySemaphore_Wait", params: &[I32, I64, I32], results: &[I32] };
const ACQUIRE_LOCK: Symbol = Symbol { name: "PyThread_acquire_lock_timed", params: &[I32, I64, I32], results: &[I32] };
const IDENT: Symbol = Symbol { name: "PyThread_get_thread_ident", params: &[], results: &[I32] };
const IDENT_EX: Symbol = Symbol { name: "PyThread_get_thread_ident_ex", params: &[], results: &[I64] };

const fn word(offset: u64) -> MemArg {
    MemArg { offset, align: 2, memory_index: 0 }
}

/// CPython's `take_gil`: a thread that comes here does not hold the lock.
const TAKE_GIL: Static = Static { name: "take_gil", index: 4279, length: 466, sum: 0x73cd_bed0_d0fb_ce37 };
/// CPython's `join_thread` (`Modules/_threadmodule.c`).
const JOIN: Static = Static { name: "join_thread", index: 9471, length: 204, sum: 0xd3d2_38f9_d9dc_a751 };
/// CPython's `do_start_joinable_thread` (`Python/thread_pthread.h`).
const START: Static = Static { name: "do_start_joinable_thread", index: 5056, length: 170, sum: 0xe740_655b_1a61_40b9 };

impl Patches {
    /// Makes threads the host's.
    ///
    /// # Errors
    ///
    /// The module is not the interpreter that the patches are for.
    pub(crate) fn threads_in_host(&mut self, layout: &Layout<'_>) -> Result<(), ModuleError> {
        let imports: Vec<u32> = RENAMED.iter().map(|(symbol, _)| imported(layout, symbol)).collect::<Result<_, _>>()?;
        let [wait, start, yields] = imports[..] else { return Err(ModuleError::Patch("imports".to_owned())) };
        for (index, (_, name)) in imports.iter().zip(RENAMED) {
            self.imports.insert(*index, (MODULE, name));
        }
        let position = |index: u32| (index - layout.imported_functions()) as usize;
        let at = |symbol| exported(layout, symbol).map(position);

        check_attached_state(layout, at(&CURRENT)?)?;
        let semaphore = wait_for_semaphore(exported(layout, &RELEASE)?, exported(layout, &ACQUIRE)?, wait);
        self.bodies.insert(at(&WAIT)?, semaphore.into_raw_body());
        self.bodies.insert(at(&ACQUIRE_LOCK)?, acquire_lock(wait).into_raw_body());
        self.bodies.insert(START.find(layout)?, start_thread(start).into_raw_body());
        let mut body = identity();
        self.bodies.insert(at(&IDENT)?, body.instruction(&Instruction::End).clone().into_raw_body());
        let mut body = identity();
        body.instruction(&Instruction::I64ExtendI32U).instruction(&Instruction::End);
        self.bodies.insert(at(&IDENT_EX)?, body.into_raw_body());

        let take_gil = TAKE_GIL.find(layout)?;
        let mut call = Function::new([]);
        call.instruction(&Instruction::I32Const(0)).instruction(&Instruction::Call(yields));
        self.bodies.insert(take_gil, with_prologue(layout, take_gil, &call)?);

        let join = JOIN.find(layout)?;
        let mut body = layout.bodies[join].as_bytes().to_vec();
        // `i32.const EINVAL; local.set`: the result of `pthread_join`, which is not there. The thread has ended by then.
        let places: Vec<usize> =
            body.windows(3).enumerate().filter(|(_, code)| *code == [0x41, EINVAL, 0x21]).map(|(at, _)| at).collect();
        let [place] = places[..] else { return Err(ModuleError::Patch("join_thread has changed".to_owned())) };
        body[place + 1] = 0;
        self.bodies.insert(join, body);
        Ok(())
    }
}

/// Checks that [`ATTACHED_STATE`] is the address that the function which returns the state reads.
fn check_attached_state(layout: &Layout<'_>, position: usize) -> Result<(), ModuleError> {
    let mut operators = layout.bodies[position].get_operators_reader()?;
    match (operators.read()?, operators.read()?) {
        (Operator::I32Const { value }, Operator::I32Load { memarg })
            if memarg.offset == 0 && value as u32 == ATTACHED_STATE =>
        {
            Ok(())
        }
        _ => Err(ModuleError::Patch(format!("{} has changed", CURRENT.name))),
    }
}

/// Returns code that computes the identity of the thread that runs: the limit of its C stack, or [`MAIN_THREAD`] in the main thread. The code
/// lacks the end of the function.
/// CPython asks for it at each check for signals, so it is no call of the host.
fn identity() -> Function {
    let mut body = Function::new([]);
    for instruction in [
        Instruction::GlobalGet(STACK_END_GLOBAL),
        Instruction::I32Const(MAIN_THREAD as i32),
        Instruction::GlobalGet(STACK_END_GLOBAL),
        Instruction::I32Const(MAIN_STACK_BASE),
        Instruction::I32GeU,
        Instruction::Select,
    ] {
        body.instruction(&instruction);
    }
    body
}

/// `_PySemaphore_Wait(semaphore, nanoseconds, detach)`: gives the lock of the interpreter back while the host waits.
fn wait_for_semaphore(release: u32, acquire: u32, wait: u32) -> Function {
    const SEMAPHORE: u32 = 0;
    const NANOSECONDS: u32 = 1;
    const DETACH: u32 = 2;
    const RELEASED: u32 = 3;
    const STATE_OR_STATUS: u32 = 4;
    let mut body = Function::new([(2, wasm_encoder::ValType::I32)]);
    for instruction in [
        Instruction::Block(BlockType::Empty),
        Instruction::LocalGet(DETACH),
        Instruction::I32Eqz,
        Instruction::BrIf(0),
        Instruction::I32Const(ATTACHED_STATE as i32),
        Instruction::I32Load(word(0)),
        Instruction::LocalTee(STATE_OR_STATUS),
        Instruction::I32Eqz,
        Instruction::BrIf(0),
        Instruction::LocalGet(STATE_OR_STATUS),
        Instruction::I32Load(word(STATE)),
        Instruction::I32Const(ATTACHED),
        Instruction::I32Ne,
        Instruction::BrIf(0),
        Instruction::LocalGet(STATE_OR_STATUS),
        Instruction::LocalTee(RELEASED),
        Instruction::Call(release),
        Instruction::End,
        Instruction::LocalGet(SEMAPHORE),
        Instruction::LocalGet(NANOSECONDS),
        Instruction::I32WrapI64,
        Instruction::LocalGet(NANOSECONDS),
        Instruction::I64Const(32),
        Instruction::I64ShrU,
        Instruction::I32WrapI64,
        Instruction::Call(wait),
        Instruction::LocalSet(STATE_OR_STATUS),
        Instruction::LocalGet(RELEASED),
        Instruction::If(BlockType::Empty),
        Instruction::LocalGet(RELEASED),
        Instruction::Call(acquire),
        Instruction::End,
        Instruction::LocalGet(STATE_OR_STATUS),
        Instruction::End,
    ] {
        body.instruction(&instruction);
    }
    body
}

/// `PyThread_acquire_lock_timed(lock, microseconds, interruptible)`: 1 when the lock was taken, 0 after the time, 2 after an interrupt.
fn acquire_lock(wait: u32) -> Function {
    const LOCK_ADDRESS: u32 = 0;
    const TIME: u32 = 1;
    const INTERRUPTIBLE: u32 = 2;
    const STATUS: u32 = 3;
    let byte = MemArg { offset: 0, align: 0, memory_index: 0 };
    let mut body = Function::new([(1, wasm_encoder::ValType::I32)]);
    for instruction in [
        Instruction::LocalGet(LOCK_ADDRESS),
        Instruction::I32Load8U(byte),
        Instruction::I32Eqz,
        Instruction::If(BlockType::Empty),
        Instruction::LocalGet(LOCK_ADDRESS),
        Instruction::I32Const(1),
        Instruction::I32Store8(byte),
        Instruction::I32Const(1),
        Instruction::Return,
        Instruction::End,
        Instruction::LocalGet(TIME),
        Instruction::I64Eqz,
        Instruction::If(BlockType::Empty),
        Instruction::I32Const(0),
        Instruction::Return,
        Instruction::End,
        // Nanoseconds; a negative time stays negative.
        Instruction::LocalGet(TIME),
        Instruction::I64Const(1000),
        Instruction::I64Mul,
        Instruction::LocalSet(TIME),
        Instruction::Loop(BlockType::Result(wasm_encoder::ValType::I32)),
        Instruction::LocalGet(LOCK_ADDRESS),
        Instruction::I32Const(LOCK as i32),
        Instruction::I32Or,
        Instruction::LocalGet(TIME),
        Instruction::I32WrapI64,
        Instruction::LocalGet(TIME),
        Instruction::I64Const(32),
        Instruction::I64ShrU,
        Instruction::I32WrapI64,
        Instruction::Call(wait),
        Instruction::LocalTee(STATUS),
        Instruction::I32Const(-3),
        Instruction::I32Eq,
        Instruction::LocalGet(INTERRUPTIBLE),
        Instruction::I32Eqz,
        Instruction::I32And,
        Instruction::BrIf(0),
        // 0, -2, -3 become 1, 0, 2.
        Instruction::I32Const(2),
        Instruction::LocalGet(STATUS),
        Instruction::I32Eqz,
        Instruction::LocalGet(STATUS),
        Instruction::I32Const(-3),
        Instruction::I32Eq,
        Instruction::Select,
        Instruction::End,
        Instruction::End,
    ] {
        body.instruction(&instruction);
    }
    body
}

/// `do_start_joinable_thread(function, argument, &handle)`: 0, or -1 without a thread.
fn start_thread(start: u32) -> Function {
    const HANDLE: u32 = 2;
    let mut body = Function::new([]);
    for instruction in [
        Instruction::LocalGet(0),
        Instruction::LocalGet(1),
        Instruction::LocalGet(HANDLE),
        Instruction::Call(start),
        Instruction::I32Const(-1),
        Instruction::I32Const(0),
        Instruction::LocalGet(HANDLE),
        Instruction::I32Load(word(0)),
        Instruction::I32Eqz,
        Instruction::Select,
        Instruction::End,
    ] {
        body.instruction(&instruction);
    }
    body
}

/// Returns a body of the module with instructions in front of it.
fn with_prologue(layout: &Layout<'_>, position: usize, prologue: &Function) -> Result<Vec<u8>, ModuleError> {
    let old = layout.bodies[position].as_bytes();
    let mut locals = BinaryReader::new(old, 0);
    for _ in 0..locals.read_var_u32()? {
        locals.read_var_u32()?;
        locals.read::<ValType>()?;
    }
    let (locals, code) = old.split_at(locals.current_position());
    // The prologue has no locals: its first byte is their number.
    Ok([locals, &prologue.clone().into_raw_body()[1..], code].concat())
}

impl Static {
    /// Returns the position of the function in the code section.
    fn find(&self, layout: &Layout<'_>) -> Result<usize, ModuleError> {
        let position = self.index.checked_sub(layout.imported_functions()).map(|position| position as usize);
        let body = position.and_then(|position| layout.bodies.get(position)).map(|body| body.as_bytes());
        match (position, body) {
            (Some(position), Some(body)) if body.len() == self.length && sum(body) == self.sum => Ok(position),
            _ => Err(ModuleError::Patch(format!("{} is another function than expected", self.name))),
        }
    }
}

/// FNV-1a with 64 bits. It tells versions of the interpreter apart, and is no protection.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
