//! Compiling modules in jailed processes of their own, into the cache.
//!
//! | module | places | limits of the process | charged to |
//! |---|---|---|---|
//! | the bundle's, which a run waits for | one a core | none | no principal: it is compiled once; servers compile it to baseline code, then to optimized code |
//! | the bundle's, before a run needs it | one, while no run waits for the compiler; other work on this host goes first | none | no principal |
//! | a wheel's | one a core for each wheel, and one more, in turn | [`WHEEL_MEMORY`], [`WHEEL_CPU`], [`WALL`] | no principal: it is compiled once |
//! | a guest's own | [`GUEST_PLACES`], all on one core, in turn | what is left to the run, at most [`GUEST_MEMORY`] and [`GUEST_CPU`]; [`WALL`] | the run: its memory while it lasts, its CPU time |

use std::fs::File;
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};

use super::channel::pair;
use super::compiler_process::{Failure, Process};
use super::memory_file::{MAX_CODE, memory_file, seal};
use super::progress::{ProgressFn, report_to};
use super::spawn::spawn;
use super::turns::Turns;
use super::unoptimized::Unoptimized;
use crate::api::EngineError;
use crate::code::cache::ModuleCache;
pub(crate) use crate::code::compile::Trust;
use crate::code::compile::{self, ModuleKind, Tier};
use crate::code::process::CompileOrder;
use crate::code::shipped;
use crate::jail::CompileLimits;
use crate::wire::ModuleKey;
use brumate_module::gate;

/// Memory of the process that compiles a module of a wheel, in bytes.
const WHEEL_MEMORY: u64 = 4 << 30;

/// CPU time of the process that compiles a module of a wheel.
const WHEEL_CPU: Duration = Duration::from_secs(600);

/// Memory of the process that compiles a guest's own module, in bytes, when more is left to its run.
const GUEST_MEMORY: u64 = 1 << 30;

/// CPU time of the process that compiles a guest's own module, when more is left to its run.
const GUEST_CPU: Duration = Duration::from_secs(60);

/// Guests' modules that are compiled at the same time, one of each principal. They share one core.
const GUEST_PLACES: usize = 4;

/// The `nice` value of processes that compile modules of wheels and guests.
const NICE: i32 = 5;

/// The `nice` value of processes whose result no run needs yet.
pub(super) const AHEAD_NICE: i32 = 19;

/// The urgency of work for the compiler or the builder of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// A run waits for it.
    Needed,
    /// No run waits for it. Work that runs wait for goes first, and so does other work on this host.
    Ahead,
}

impl Urgency {
    fn limits(self) -> CompileLimits {
        match self {
            Urgency::Needed => CompileLimits::NONE,
            Urgency::Ahead => CompileLimits { nice: AHEAD_NICE, ..CompileLimits::NONE },
        }
    }
}

/// Marks, as long as it lives, that a run waits for the compiler.
#[derive(Debug)]
pub(crate) struct WaitingRun<'a>(&'a watch::Sender<usize>);

impl Drop for WaitingRun<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|needs| *needs = needs.saturating_sub(1));
    }
}

/// Compiles on demand; a compiler that saw a guest's own bytes is not used for anything else afterwards.
pub(crate) struct Compilers {
    program: PathBuf,
    cache: Arc<ModuleCache>,
    /// Called for modules that are compiled on demand.
    progress: Option<ProgressFn>,
    /// Modules of the bundle's wheels that are in use in the baseline tier; `None`: runs wait for optimized code.
    unoptimized: Option<Unoptimized>,
    /// For the bundle.
    permits: Semaphore,
    /// For the bundle, ahead.
    ahead: Semaphore,
    /// Counts the runs that wait for the compiler.
    needs: watch::Sender<usize>,
    wheels: Turns,
    guests: Turns,
    /// Idle processes that have only seen modules of the bundle.
    idle: Mutex<Vec<(Urgency, Process)>>,
}

impl std::fmt::Debug for Compilers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compilers").field("program", &self.program).finish_non_exhaustive()
    }
}

/// The run that needs a module of its own compiled, and the rest of its limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompileRequester<'a> {
    /// The principal whose turn it takes.
    pub(crate) principal: &'a str,
    /// The urgency of the work.
    pub(crate) urgency: Urgency,
    /// Memory of its run, in bytes.
    pub(crate) memory: u64,
    /// CPU time that is left to its run.
    pub(crate) cpu: Duration,
}

/// The result of compiling a guest's own module, and its cost.
#[derive(Debug)]
pub(crate) struct GuestModule {
    pub(crate) file: Result<Arc<File>, EngineError>,
    /// CPU time that it took.
    pub(crate) cpu: Duration,
}

impl Compilers {
    /// Makes the compilers of one sandbox. With `unoptimized`, what a run waits for is compiled in the baseline tier at first.
    pub(crate) fn new(
        program: PathBuf,
        cache: Arc<ModuleCache>,
        progress: Option<ProgressFn>,
        unoptimized: Option<Unoptimized>,
    ) -> Compilers {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (permits, idle) = (Semaphore::new(cores), Mutex::new(Vec::new()));
        // One place more than one wheel may have, so that another wheel does not wait for the first.
        let (wheels, guests) = (Turns::new(cores + 1, cores), Turns::new(GUEST_PLACES, 1));
        let (ahead, needs) = (Semaphore::new(1), watch::Sender::new(0));
        Compilers { program, cache, progress, unoptimized, permits, ahead, needs, wheels, guests, idle }
    }

    /// Returns the modules in the baseline tier, in a sandbox that has it.
    pub(super) fn unoptimized(&self) -> Option<&Unoptimized> {
        self.unoptimized.as_ref()
    }

    /// Returns a compiled module from the cache, in the best tier that is there.
    pub(crate) fn cached(&self, key: &ModuleKey) -> Option<Arc<File>> {
        if let Some(file) = self.cache.get(key) {
            return Some(file);
        }
        let unoptimized = self.unoptimized.as_ref()?;
        // Others have no baseline code: no directory is read for them.
        crate::bundle::native_module(key)?;
        let file = self.cache.get(&compile::baseline_key(key))?;
        unoptimized.add(*key);
        Some(file)
    }

    /// Returns a compiled module from the cache. A run takes any tier; work ahead of one takes optimized code only.
    pub(super) fn cached_for(&self, key: &ModuleKey, urgency: Urgency) -> Option<Arc<File>> {
        match urgency {
            Urgency::Needed => self.cached(key),
            Urgency::Ahead => self.cache.get(key),
        }
    }

    /// Marks that a run waits for the compiler until the value is dropped.
    pub(crate) fn need(&self) -> WaitingRun<'_> {
        self.needs.send_modify(|needs| *needs += 1);
        WaitingRun(&self.needs)
    }

    /// Waits until no run waits for the compiler.
    pub(crate) async fn until_free(&self) {
        // The sender lives as long as this value.
        let _ = self.needs.subscribe().wait_for(|needs| *needs == 0).await;
    }

    /// Waits until a run waits for the compiler.
    pub(crate) async fn until_needed(&self) {
        // The sender lives as long as this value.
        let _ = self.needs.subscribe().wait_for(|needs| *needs > 0).await;
    }

    /// The compiled module of the bundle, from the cache or made now.
    ///
    /// # Errors
    /// When it does not compile.
    pub(crate) async fn bundled(
        &self,
        kind: ModuleKind,
        bytes: &[u8],
        name: &str,
        urgency: Urgency,
    ) -> Result<Arc<File>, EngineError> {
        let key = compile::key(bytes);
        if let Some(file) = self.cached_for(&key, urgency) {
            return Ok(file);
        }
        let (_need, places) = match urgency {
            Urgency::Needed => (Some(self.need()), &self.permits),
            Urgency::Ahead => (None, &self.ahead),
        };
        let _permit = places.acquire().await.map_err(|_| EngineError::Unavailable("shutting down".to_owned()))?;
        if let Some(file) = self.cached_for(&key, urgency) {
            return Ok(file);
        }
        if let Some(code) = shipped::code(&key) {
            return self.keep(&key, code);
        }
        // The interpreter is always optimized: it runs all code, and no machine that has begun with it gets another.
        let baseline = self.unoptimized.as_ref().filter(|_| kind == ModuleKind::Side && urgency == Urgency::Needed);
        let tier = if baseline.is_some() { Tier::Baseline } else { Tier::Optimized };
        let mut process = match self.take_idle(urgency) {
            Some(process) => process,
            None => self.start(urgency.limits()).await?,
        };
        let mut output = File::from(memory_file("module")?);
        process.compile(&CompileOrder { kind, trust: Trust::Bundle, tier, bytes }, &output, name).await?;
        self.idle.lock().push((urgency, process));
        if let Some(unoptimized) = baseline {
            let file = self.store(&compile::baseline_key(&key), &mut output).await?;
            unoptimized.add(key);
            return Ok(file);
        }
        let file = self.store(&key, &mut output).await?;
        if kind == ModuleKind::Side {
            self.cache.remove(&compile::baseline_key(&key));
        }
        Ok(file)
    }

    /// Compiles a module of the bundle when a run, or the builder of an image, loads it. Reports progress if a run
    /// waits.
    ///
    /// # Errors
    /// The errors of [`Compilers::bundled`].
    pub(crate) async fn on_demand(&self, bytes: &[u8], name: &str, urgency: Urgency) -> Result<Arc<File>, EngineError> {
        let shown = self.progress.as_ref().filter(|_| urgency == Urgency::Needed);
        report_to(shown, 0, 1, name);
        let compiled = self.bundled(ModuleKind::Side, bytes, name, urgency).await;
        report_to(shown, 1, 1, name);
        compiled
    }

    /// The compiled module of a wheel, from the cache or made now. It takes the turn of `principal`.
    ///
    /// # Errors
    /// When it does not compile, or not within the limits.
    pub(crate) async fn of_wheel(&self, bytes: &[u8], name: &str, principal: &str) -> Result<Arc<File>, EngineError> {
        let key = compile::key(bytes);
        if let Some(file) = self.cache.get(&key) {
            return Ok(file);
        }
        let _place = self.wheels.enter(principal).await;
        if let Some(file) = self.cache.get(&key) {
            return Ok(file);
        }
        let cpu_seconds = Some(WHEEL_CPU.as_secs());
        let limits = CompileLimits { memory: Some(WHEEL_MEMORY), cpu_seconds, one_core: false, nice: NICE };
        let mut process = self.start(limits).await?;
        let mut output = File::from(memory_file("module")?);
        let order = CompileOrder { kind: ModuleKind::Side, trust: Trust::Layer, tier: Tier::Optimized, bytes };
        if let Err(error) = process.compile(&order, &output, name).await {
            return Err(process.explain(error, name, limits).await);
        }
        drop(process);
        self.store(&key, &mut output).await
    }

    /// Compiles a module that a guest brought. The code is not cached: a guest must not fill the disk.
    pub(crate) async fn of_guest(&self, bytes: &[u8], requester: CompileRequester<'_>) -> GuestModule {
        const NAME: &str = "a module of the guest";
        let free = |file| GuestModule { file, cpu: Duration::ZERO };
        // It may have the bytes of a wheel.
        if let Some(file) = self.cache.get(&compile::key(bytes)) {
            return free(Ok(file));
        }
        let failed = |reason: String| free(Err(EngineError::Compile { name: NAME.to_owned(), reason }));
        if bytes.len() > gate::GUEST.bytes {
            return failed(format!("a module of {} bytes is larger than allowed ({})", bytes.len(), gate::GUEST.bytes));
        }
        let _place = self.guests.enter(requester.principal).await;
        let (memory, cpu) = (requester.memory.min(GUEST_MEMORY), requester.cpu.min(GUEST_CPU));
        if cpu.is_zero() {
            return failed("no CPU time is left to compile it".to_owned());
        }
        // The kernel's limit is in whole seconds, so it is at least one.
        let limits =
            CompileLimits { memory: Some(memory), cpu_seconds: Some(cpu.as_secs().max(1)), one_core: true, nice: NICE };
        let began = Instant::now();
        let compiled = async {
            let mut process = self.start(limits).await?;
            let output = File::from(memory_file("module")?);
            let order = CompileOrder { kind: ModuleKind::Side, trust: Trust::Guest, tier: Tier::Optimized, bytes };
            match process.compile(&order, &output, NAME).await {
                Ok(cpu) => Ok((cpu, seal(output, memory))),
                Err(Failure { error, cpu: Some(cpu) }) => Ok((cpu, Err(error))),
                Err(failure) => Err(process.explain(failure, NAME, limits).await),
            }
        };
        match compiled.await {
            // The process has one thread, so its CPU time cannot exceed the elapsed time.
            Ok((cpu, file)) => GuestModule { file, cpu: cpu.min(began.elapsed()) },
            Err(error) => {
                let most = Duration::from_secs(limits.cpu_seconds.unwrap_or(0));
                GuestModule { file: Err(error), cpu: began.elapsed().min(most) }
            }
        }
    }

    /// Ends the idle compilers.
    pub(crate) fn rest(&self) {
        self.idle.lock().clear();
    }

    fn take_idle(&self, urgency: Urgency) -> Option<Process> {
        let mut idle = self.idle.lock();
        let found = idle.iter().position(|(of, _)| *of == urgency)?;
        Some(idle.swap_remove(found).1)
    }

    async fn start(&self, limits: CompileLimits) -> Result<Process, EngineError> {
        let (channel, theirs) = pair()?;
        let child = spawn(&self.program, "compile", theirs)?;
        let process = Process { channel, child };
        process.channel.send(&limits, &[]).await?;
        Ok(process)
    }

    /// Copies what the compiler wrote into the cache: its own descriptor must not reach the file that is trusted later.
    async fn store(&self, key: &ModuleKey, output: &mut File) -> Result<Arc<File>, EngineError> {
        output.rewind()?;
        self.keep(key, output)
    }

    fn keep(&self, key: &ModuleKey, code: impl Read) -> Result<Arc<File>, EngineError> {
        let mut file = self.cache.create()?;
        let mut limited = code.take(MAX_CODE);
        std::io::copy(&mut limited, file.as_file_mut()).map_err(|source| self.cache.refused(source))?;
        Ok(self.cache.commit(key, file)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_nobody_needs_yet_waits_for_runs_that_need_the_compiler() {
        use futures::poll;
        let directory = tempfile::tempdir().unwrap();
        let cache = Arc::new(ModuleCache::open(directory.path(), "test").unwrap());
        let compilers = Compilers::new(PathBuf::new(), cache, None, None);
        assert!(poll!(Box::pin(compilers.until_free())).is_ready());
        let mut needed = Box::pin(compilers.until_needed());
        assert!(poll!(&mut needed).is_pending());
        let (one, two) = (compilers.need(), compilers.need());
        assert!(poll!(&mut needed).is_ready(), "it is released");
        let mut free = Box::pin(compilers.until_free());
        assert!(poll!(&mut free).is_pending());
        drop(one);
        assert!(poll!(&mut free).is_pending());
        drop(two);
        assert!(poll!(&mut free).is_ready());
    }
}
