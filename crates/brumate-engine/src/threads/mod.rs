//! Threads of the guest: a store for each, over one linear memory, and one that runs at a time.
//!
//! CPython's lock of the interpreter (GIL) lets one thread run Python at a time, so threads need no parallel access to memory, only several native
//! stacks that take turns. The main thread runs on the stack of the process and is the only scheduler. Each other thread has a store of its own on
//! a fiber: a future that the main thread polls while it waits itself, or when its slice is over.
//!
//! | part | file |
//! |---|---|
//! | one region of memory for all stores | [`shared_memory`](crate::engine::shared_memory) |
//! | native stacks | `engine/stacks.rs` |
//! | making a thread's store, following what the main thread has linked | `store` |
//! | whose turn it is, and waiting | `schedule` |
//! | ending the slice of a thread that computes | [`slice`](crate::signals::slice) |
//! | the imports | `imports` |
//!
//! Threads switch only in calls of the host that wait. C code between two such calls is not interrupted. A thread that wants the lock of the
//! interpreter while another one has it waits in the host, too: the lock is always free when CPython looks at it.

mod imports;
mod schedule;
mod store;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use brumate_module::patch::threads::THREAD_LOCAL;
use parking_lot::Mutex;
use wasmtime::{Linker, Module, StoreContextMut};

use crate::engine::shared_memory::Region;
use crate::host::Host;
use store::ThreadStore;

pub(crate) use imports::{define, waiting};
pub(crate) use schedule::{Wait, Woken, wait};
pub(crate) use store::{call, create, on_main};

/// Threads that may be alive at a time beside the main thread. The host keeps a store for each, of about 1 MiB, which does not count as the
/// guest's memory.
pub(crate) const MAX_THREADS: usize = 64;

/// C stack of a thread, in bytes of the guest's memory.
const C_STACK: u32 = 1 << 20;

/// Bytes of [`THREAD_LOCAL`] memory.
const LOCAL_BYTES: usize = {
    let (mut sum, mut index) = (0, 0);
    while index < THREAD_LOCAL.len() {
        sum += THREAD_LOCAL[index].1 as usize;
        index += 1;
    }
    sum
};

/// A thread that has not returned yet: its future, which gives the store back.
type Running = Pin<Box<dyn Future<Output = (ThreadStore, wasmtime::Result<()>)> + Send>>;

/// Work that a thread asks the main thread for.
type Work = Box<dyn FnOnce(&mut StoreContextMut<'_, Host>) -> wasmtime::Result<u32> + Send>;

/// A thread beside the main thread.
struct Thread {
    /// Its identity: the address of its C stack.
    ident: u32,
    /// `None` while it runs.
    future: Option<Running>,
    /// Condition under which it runs on.
    wait: Wait,
    /// When it runs on at the latest.
    deadline: Option<Instant>,
    /// Reason for which it runs on.
    woken: Woken,
    /// Content of the memory that each thread has for itself.
    local: [u8; LOCAL_BYTES],
}

/// All threads of a guest.
pub(crate) struct Threads {
    alive: Vec<Thread>,
    /// Stores of threads that have ended.
    spare: Vec<ThreadStore>,
    /// Host functions for the stores of threads.
    linker: Option<Arc<Linker<Host>>>,
    /// The interpreter's compiled modules: the main module and the trampoline.
    modules: Option<(Module, Module)>,
    /// The linear memory.
    region: Option<Arc<Region>>,
    handover: Arc<Handover>,
    /// Work for the main thread, and then its result.
    work: Option<Work>,
    done: Option<wasmtime::Result<u32>>,
}

impl Threads {
    /// No threads.
    pub(crate) fn none() -> Threads {
        Threads {
            alive: Vec::new(),
            spare: Vec::new(),
            linker: None,
            modules: None,
            region: None,
            handover: Arc::default(),
            work: None,
            done: None,
        }
    }

    /// The threads of a guest with these modules and this memory.
    pub(crate) fn new(main: &Module, trampoline: &Module, region: Option<Arc<Region>>) -> Threads {
        Threads { modules: Some((main.clone(), trampoline.clone())), region, ..Threads::none() }
    }

    /// Returns how many threads are alive beside the main thread.
    pub(crate) fn count(&self) -> usize {
        self.alive.len()
    }

    fn get(&mut self, ident: u32) -> Option<&mut Thread> {
        self.alive.iter_mut().find(|thread| thread.ident == ident)
    }
}

/// Place where the host's part of a guest lies while one thread hands it over to another.
#[derive(Default)]
struct Handover {
    host: Mutex<Option<Box<Host>>>,
    /// The thread that was polled has given the host's part back.
    given: AtomicBool,
}

impl Handover {
    /// Exchanges everything of `host` that does not belong to its store with the content of the place.
    fn exchange(&self, host: &mut Host) {
        if let Some(other) = self.host.lock().as_mut() {
            std::mem::swap(host, other);
            std::mem::swap(&mut host.store, &mut other.store);
        }
    }

    fn give(&self, host: &mut Host) {
        self.exchange(host);
        self.given.store(true, Ordering::Relaxed);
    }
}

/// Returns the result of a future that does not wait. Calls of the main thread's store are such futures.
pub(crate) fn ready<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}
