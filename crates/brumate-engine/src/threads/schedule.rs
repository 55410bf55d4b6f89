//! Decides which thread runs next.
//!
//! The main thread runs the others while it waits, and for a round when its own slice is over. A thread waits by handing the host's part back and
//! returning `Pending`. The main thread decides when a condition holds, so a thread that waits costs nothing.

use std::future::poll_fn;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use brumate_abi::memory::GuestMemory;
use brumate_module::patch::threads::{ATTACHED_STATE, LOCK, SEMAPHORE_COUNT, THREAD_LOCAL};
use brumate_vfs::Readiness;
use wasmtime::StoreContextMut;

use super::store::{follow, refresh};
use super::{LOCAL_BYTES, Thread};
use crate::caps::clock;
use crate::host::{Host, guest, split_store};
use crate::libc::poll::{host_fds, host_fds_of, poll_ready};
use crate::signals::slice;

/// Condition under which a thread runs on, besides its deadline.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wait {
    /// At its next turn.
    Turn,
    /// No other thread has the lock of the interpreter.
    Interpreter,
    /// The semaphore or lock at this address can be taken.
    Word(u32),
    /// One of the descriptors is ready: address and number of `struct pollfd`.
    Descriptors(u32, u32),
    /// The descriptor has one of these events, or an error.
    Descriptor(i32, i16),
    /// The look-up of a name with this number is answered.
    LookUp(u64),
    /// Never.
    Time,
}

/// Reason for which a wait has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The condition holds. A semaphore or lock has been taken.
    Ready,
    /// The time is over.
    Timeout,
    /// The main thread has to look at a signal.
    Interrupted,
}

impl Wait {
    /// Whether the condition holds for a thread; `None` for the thread that runs. Takes a semaphore or lock.
    fn holds(self, memory: &mut GuestMemory<'_>, host: &mut Host, thread: Option<u32>) -> bool {
        let vfs = &mut host.vfs;
        if matches!(self, Wait::Descriptors(..) | Wait::Descriptor(..)) {
            host.network.copy(vfs);
        }
        match self {
            Wait::Turn => true,
            Wait::Interpreter => {
                // The word in memory is the running thread's.
                let runs = thread.is_some() && memory.read_u32(ATTACHED_STATE).is_ok_and(|state| state != 0);
                let mut others = host.threads.alive.iter().filter(|other| Some(other.ident) != thread);
                !runs && !others.any(Thread::has_interpreter)
            }
            Wait::Word(address) => take(memory, address),
            Wait::Descriptors(fds, count) => poll_ready(vfs, memory, fds, count) != 0,
            Wait::Descriptor(fd, events) => {
                let events = events | Readiness::ERR | Readiness::HUP | Readiness::NVAL;
                vfs.poll(fd).map_or(true, |ready| ready.0 & events != 0)
            }
            Wait::LookUp(id) => host.network.is_answered(vfs, id),
            Wait::Time => false,
        }
    }

    /// Returns the host's descriptors whose readiness may make the condition true.
    fn host_fds(self, memory: &mut GuestMemory<'_>, host: &mut Host) -> Vec<libc::pollfd> {
        let vfs = &mut host.vfs;
        let own = match self {
            Wait::Descriptors(fds, count) => host_fds(vfs, memory, fds, count),
            Wait::Descriptor(fd, events) => host_fds_of(vfs, fd, events),
            Wait::LookUp(_) => Vec::new(),
            Wait::Turn | Wait::Interpreter | Wait::Word(_) | Wait::Time => return Vec::new(),
        };
        [own, host.network.host_fds(vfs)].concat()
    }
}

/// Takes a semaphore or lock if that is possible. At an address outside of the memory it is not.
fn take(memory: &mut GuestMemory<'_>, address: u32) -> bool {
    if address & LOCK != 0 {
        let lock = address & !LOCK;
        return memory.read_u8(lock) == Ok(0) && memory.write_u8(lock, 1).is_ok();
    }
    let count = address.wrapping_add(SEMAPHORE_COUNT);
    matches!(memory.read_i32(count), Ok(free) if free > 0 && memory.write_i32(count, free - 1).is_ok())
}

/// Lets the thread that runs wait. Other threads run meanwhile. Of these, none takes the lock of the interpreter if the one that waits has it.
///
/// # Errors
/// The error that ended another thread, and with it the guest.
pub(crate) async fn wait(
    store: &mut StoreContextMut<'_, Host>,
    wait: Wait,
    deadline: Option<Instant>,
) -> wasmtime::Result<Woken> {
    let Some(ident) = store.data().store.thread else { return wait_now(store, wait, deadline) };
    let (mut memory, host) = split_store(store);
    if !matches!(wait, Wait::Turn) && wait.holds(&mut memory, host, None) {
        return Ok(Woken::Ready);
    }
    if let Some(thread) = host.threads.get(ident) {
        thread.wait = wait;
        thread.deadline = deadline;
    }
    pause(store).await?;
    Ok(store.data_mut().threads.get(ident).map_or(Woken::Timeout, |thread| thread.woken))
}

/// Hands the host's part back, and returns when the main thread has polled this thread again.
pub(super) async fn pause(store: &mut StoreContextMut<'_, Host>) -> wasmtime::Result<()> {
    let handover = store.data().threads.handover.clone();
    handover.give(store.data_mut());
    let mut paused = false;
    poll_fn(|_| if std::mem::replace(&mut paused, true) { Poll::Ready(()) } else { Poll::Pending }).await;
    handover.exchange(store.data_mut());
    refresh(store)?;
    follow(store)
}

/// As [`wait`], in the main thread.
///
/// # Errors
/// As [`wait`].
fn wait_now(store: &mut StoreContextMut<'_, Host>, wait: Wait, deadline: Option<Instant>) -> wasmtime::Result<Woken> {
    if store.data().threads.alive.is_empty() {
        return Ok(block(store, wait, deadline));
    }
    if matches!(wait, Wait::Turn) {
        round(store)?;
        return Ok(Woken::Ready);
    }
    loop {
        let (mut memory, host) = split_store(store);
        if wait.holds(&mut memory, host, None) {
            return Ok(Woken::Ready);
        }
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Ok(Woken::Timeout);
        }
        let heeds_signals = !matches!(wait, Wait::Interpreter);
        if heeds_signals && crate::signals::take_signal() {
            return Ok(Woken::Interrupted);
        }
        if !round(store)? && sleep(store, wait, deadline) && heeds_signals {
            return Ok(Woken::Interrupted);
        }
    }
}

/// Waits without letting other threads run.
fn block(store: &mut StoreContextMut<'_, Host>, wait: Wait, deadline: Option<Instant>) -> Woken {
    loop {
        let (mut memory, host) = split_store(store);
        if wait.holds(&mut memory, host, None) {
            return Woken::Ready;
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Woken::Timeout;
        }
        let mut fds = wait.host_fds(&mut memory, host);
        if clock::wait(&mut fds, left) {
            return Woken::Interrupted;
        }
    }
}

/// Sleeps until a deadline of any thread, or a descriptor of the host that a thread waits for. True after an interrupt.
fn sleep(store: &mut StoreContextMut<'_, Host>, wait: Wait, deadline: Option<Instant>) -> bool {
    let (mut memory, host) = split_store(store);
    let waiting = host.threads.alive.iter().map(|thread| (thread.wait, thread.deadline)).chain([(wait, deadline)]);
    let mut fds = Vec::new();
    let mut first = None;
    for (wait, deadline) in waiting.collect::<Vec<_>>() {
        fds.extend(wait.host_fds(&mut memory, host));
        first = [first, deadline].into_iter().flatten().min();
    }
    let left = first.map(|first| first.saturating_duration_since(Instant::now()));
    if left.is_some_and(|left| left.is_zero()) {
        return false;
    }
    clock::wait(&mut fds, left.map(|left| left.max(Duration::from_micros(1))))
}

/// Runs each thread that can run once. Returns whether there was one.
fn round(store: &mut StoreContextMut<'_, Host>) -> wasmtime::Result<bool> {
    let idents: Vec<u32> = store.data().threads.alive.iter().map(|thread| thread.ident).collect();
    let now = Instant::now();
    let mut ran = false;
    for ident in idents {
        let (mut memory, host) = split_store(store);
        let Some(thread) = host.threads.get(ident).filter(|thread| thread.future.is_some()) else { continue };
        let (wait, deadline) = (thread.wait, thread.deadline);
        let woken = if wait.holds(&mut memory, host, Some(ident)) {
            Woken::Ready
        } else if deadline.is_some_and(|deadline| deadline <= now) {
            Woken::Timeout
        } else {
            continue;
        };
        if let Some(thread) = host.threads.get(ident) {
            thread.woken = woken;
        }
        ran = true;
        turn(store, ident)?;
    }
    slice::begin();
    Ok(ran)
}

/// Runs a thread until it waits, its slice is over, or it ends.
fn turn(store: &mut StoreContextMut<'_, Host>, ident: u32) -> wasmtime::Result<()> {
    let table = guest(store)?.table.size(&*store);
    let threads = &mut store.data_mut().threads;
    let handover = threads.handover.clone();
    let Some(mut future) = threads.get(ident).and_then(|thread| thread.future.take()) else { return Ok(()) };
    store.data_mut().libraries.table_slots = table;
    exchange_local(store, ident);
    let memory = guest(store)?.memory;
    slice::set_memory(memory.data_ptr(&*store), memory.data_size(&*store), ATTACHED_STATE);
    slice::begin();
    let polled = loop {
        handover.exchange(store.data_mut());
        let polled = loop {
            handover.given.store(false, Ordering::Relaxed);
            let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            // wasmtime itself returns `Pending` while it collects exception objects.
            if polled.is_ready() || handover.given.load(Ordering::Relaxed) {
                break polled;
            }
        };
        handover.exchange(store.data_mut());
        refresh(store)?;
        let Some(work) = store.data_mut().threads.work.take() else { break polled };
        let done = work(store);
        let table = guest(store)?.table.size(&*store);
        let host = store.data_mut();
        host.libraries.table_slots = table;
        host.threads.done = Some(done);
    };
    exchange_local(store, ident);
    let threads = &mut store.data_mut().threads;
    match polled {
        Poll::Pending => {
            if let Some(thread) = threads.get(ident) {
                thread.future = Some(future);
            }
            Ok(())
        }
        Poll::Ready((spare, result)) => {
            threads.alive.retain(|thread| thread.ident != ident);
            if threads.alive.is_empty() {
                slice::stop();
            }
            result?;
            store.data_mut().threads.spare.push(spare);
            // Its C stack.
            guest(store)?.free.call(&mut *store, ident)
        }
    }
}

/// Exchanges the memory that each thread has for itself with the thread's.
fn exchange_local(store: &mut StoreContextMut<'_, Host>, ident: u32) {
    let (mut memory, host) = split_store(store);
    let Some(thread) = host.threads.get(ident) else { return };
    let mut own: &mut [u8] = &mut thread.local;
    for (address, length) in THREAD_LOCAL {
        let Some((part, rest)) = own.split_at_mut_checked(length as usize) else { return };
        if let Ok(bytes) = memory.slice_mut(address, length) {
            bytes.swap_with_slice(part);
        }
        own = rest;
    }
}

impl Thread {
    /// Whether the thread has the lock of the interpreter. Of the running thread's, the memory is the main thread's.
    fn has_interpreter(&self) -> bool {
        // The attached state is the first part.
        self.local[..4] != [0; 4]
    }

    /// A thread that runs at its next turn.
    pub(super) fn new(ident: u32, future: super::Running) -> Thread {
        Thread {
            ident,
            future: Some(future),
            wait: Wait::Turn,
            deadline: None,
            woken: Woken::Ready,
            local: [0; LOCAL_BYTES],
        }
    }
}
