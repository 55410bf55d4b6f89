//! Watches handlers that keep a thread of the runtime busy.
//!
//! The worker of tokio that runs a handler may be the one that waits for input and output. No other worker takes over until it is woken. So
//! one handler that blocks would hold up all requests of the process.

use crate::context::Context;
use crate::sync::lock;
use rmcp::model::RequestId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;

/// Time between two looks at the handlers. A handler that blocks holds up the others for at most that time, if the runtime has another
/// worker.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The number of looks after which the log names a handler that blocks: one second.
const LOOKS_UNTIL_WARNING: u32 = 20;

static WATCHDOG: LazyLock<Watchdog> = LazyLock::new(Watchdog::default);

#[derive(Default)]
struct Watchdog {
    state: Mutex<Watching>,
    /// Notified when a handler begins.
    begun: Condvar,
}

#[derive(Default)]
struct Watching {
    handlers: HashMap<u64, Arc<WatchedHandler>>,
    next: u64,
    has_thread: bool,
}

struct WatchedHandler {
    request: RequestId,
    runtime: Handle,
    /// Counts the begins and the ends of polls: it is odd while a thread runs the handler.
    polls: AtomicU64,
}

/// A handler that is watched, until the value is dropped.
struct Watch {
    id: u64,
    handler: Arc<WatchedHandler>,
}

/// A poll of a handler.
struct Poll<'a>(&'a AtomicU64);

/// Does `work` for the request of `context`. While one poll of it takes long, other workers are woken. They then wait for input and output.
pub(crate) async fn watched<T>(context: &Context, work: impl Future<Output = T>) -> T {
    let watch = Watch::begin(context.request().id.clone());
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(move |task| {
        let _poll = watch.as_ref().map(Watch::enter);
        work.as_mut().poll(task)
    })
    .await
}

impl Watch {
    fn begin(request: RequestId) -> Option<Self> {
        let runtime = Handle::try_current().ok()?;
        let handler = Arc::new(WatchedHandler { request, runtime, polls: AtomicU64::new(0) });
        let mut state = lock(&WATCHDOG.state);
        if !state.has_thread {
            let thread = std::thread::Builder::new().name("mcp-watchdog".to_owned());
            state.has_thread = thread.spawn(watch).is_ok();
        }
        let id = state.next;
        state.next += 1;
        state.handlers.insert(id, handler.clone());
        drop(state);
        WATCHDOG.begun.notify_one();
        Some(Self { id, handler })
    }

    fn enter(&self) -> Poll<'_> {
        self.handler.polls.fetch_add(1, Ordering::Relaxed);
        Poll(&self.handler.polls)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        lock(&WATCHDOG.state).handlers.remove(&self.id);
    }
}

impl Drop for Poll<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Looks at all handlers, for ever. Waits while there are none.
fn watch() {
    // For each handler: its polls at the last look, and the number of looks that have found it in the same poll.
    let mut seen: HashMap<u64, (u64, u32)> = HashMap::new();
    loop {
        let handlers: Vec<(u64, Arc<WatchedHandler>)> = {
            let mut state = lock(&WATCHDOG.state);
            while state.handlers.is_empty() {
                state = WATCHDOG.begun.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.handlers.iter().map(|(id, handler)| (*id, handler.clone())).collect()
        };
        seen = handlers
            .into_iter()
            .map(|(id, handler)| {
                let polls = handler.polls.load(Ordering::Relaxed);
                let looks = match seen.get(&id) {
                    Some((before, looks)) if *before == polls && polls % 2 == 1 => looks.saturating_add(1),
                    _ => 0,
                };
                if looks > 0 {
                    // It wakes a worker. When that has nothing to do, it waits for input and output.
                    handler.runtime.spawn(async {});
                }
                if looks == LOOKS_UNTIL_WARNING {
                    tracing::warn!(
                        request = %handler.request,
                        "a handler keeps a thread of the runtime busy: work that blocks belongs into a function without `async`, \
                         or into `tokio::task::spawn_blocking`"
                    );
                }
                (id, (polls, looks))
            })
            .collect();
        std::thread::sleep(LOOK_EVERY);
    }
}
