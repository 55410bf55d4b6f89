//! What the rest of Brumate sees of the engine: a [`Sandbox`] hands out [`Machine`]s.
//!
//! The server process never runs guest code and never forks. It owns the cache of compiled modules, starts zygotes, and
//! speaks with machines over sockets, treating every byte from them as hostile.

mod channel;
pub(crate) mod compiler;
mod error;
mod machine;
mod mounts;
mod patience;
mod prepare;
mod probe;
mod spawn;
mod stop;
mod zygote;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Mutex;

pub use error::{Died, Error};
pub use machine::Machine;
pub(crate) use mounts::host_stat;
pub use patience::Patience;
pub use prepare::Progress;
pub use probe::probe;
pub use stop::Interrupter;

use crate::api::MachineSpec;
use crate::bundle;
use crate::code::cache::ModuleCache;
use crate::code::compile::{self, Kind};
use crate::engine::{Purpose, engine};
use crate::link::trampoline_module;
use compiler::{Compilers, Trust};
use zygote::{Ingredients, Zygote};

/// Attempts to start a machine when zygotes die.
const ATTEMPTS: usize = 3;

/// Receives progress of long work.
pub type ProgressFn = Arc<dyn Fn(Progress) + Send + Sync>;

/// How to start a [`Sandbox`].
#[derive(Default)]
pub struct SandboxConfig {
    /// Where compiled modules are kept; made with mode 0700 when missing.
    pub cache_dir: PathBuf,
    /// Refuse to run when any wall of the jail cannot be raised. Otherwise missing walls are logged.
    pub require_jail: bool,
    /// Hears about compilation.
    pub progress: Option<ProgressFn>,
    /// The binary that serves `internal zygote`; `None` is this process's own.
    pub program: Option<PathBuf>,
    /// How long processes may take to start.
    pub patience: Patience,
}

impl std::fmt::Debug for SandboxConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SandboxConfig").field("cache_dir", &self.cache_dir).finish_non_exhaustive()
    }
}

/// What all machines of a sandbox share.
pub(crate) struct Shared {
    pub(crate) cache: Arc<ModuleCache>,
    pub(crate) compilers: Arc<Compilers>,
    pub(crate) progress: Option<ProgressFn>,
    program: PathBuf,
    require_jail: bool,
    pub(crate) patience: Patience,
    zygote: Mutex<Option<Arc<Zygote>>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("program", &self.program).finish_non_exhaustive()
    }
}

/// Makes machines. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
}

impl Sandbox {
    /// Compiles what the cache lacks of the interpreter and boots the zygote.
    ///
    /// # Errors
    /// When the cache cannot be used, the interpreter does not compile or boot, or walls are missing that are required.
    pub async fn start(config: SandboxConfig) -> Result<Sandbox, Error> {
        let program = match config.program {
            Some(program) => program,
            None => std::env::current_exe()?,
        };
        let fingerprint =
            compile::fingerprint(&engine(Purpose::Run).map_err(|error| Error::Unavailable(format!("{error:#}")))?);
        let cache = Arc::new(ModuleCache::open(&config.cache_dir, &fingerprint)?);
        let compilers = Arc::new(Compilers::new(program.clone(), cache.clone()));
        let shared = Shared {
            cache,
            compilers,
            progress: config.progress,
            program,
            require_jail: config.require_jail,
            patience: config.patience,
            zygote: Mutex::new(None),
        };
        let sandbox = Sandbox { shared: Arc::new(shared) };
        let zygote = sandbox.zygote().await?;
        for wall in zygote.missing_walls() {
            tracing::warn!(wall, "a wall of the sandbox is missing; see `brumate doctor`");
        }
        sandbox.shared.compilers.rest();
        Ok(sandbox)
    }

    /// A new machine: a fork of the booted interpreter.
    ///
    /// # Errors
    /// When no machine can be had, or a directory of `spec` cannot be opened.
    pub async fn machine(&self, mut spec: MachineSpec) -> Result<Machine, Error> {
        let mut last = Error::Unavailable("no zygote".to_owned());
        for _ in 0..ATTEMPTS {
            let zygote = self.zygote().await?;
            // A descriptor is used up by an attempt.
            let stdin = match &spec.stdin {
                Some(fd) => Some(fd.try_clone()?),
                None => None,
            };
            let attempt = MachineSpec { limits: spec.limits, mounts: spec.mounts.clone(), stdin };
            let started = Machine::start(self.shared.clone(), &zygote, attempt);
            let Ok(started) = tokio::time::timeout(self.shared.patience.hello, started).await else {
                self.retire(&zygote).await;
                last = Error::Unavailable("a new machine did not answer".to_owned());
                continue;
            };
            match started {
                Ok(machine) => {
                    spec.stdin = None;
                    return Ok(machine);
                }
                Err(error @ (Error::Unavailable(_) | Error::MachineDied { .. })) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Names of the walls that could not be raised around machines, with reasons.
    ///
    /// # Errors
    /// When no zygote can be started.
    pub async fn missing_walls(&self) -> Result<Vec<String>, Error> {
        Ok(self.zygote().await?.missing_walls().to_vec())
    }

    /// Takes no more machines from `zygote`. Those it has may live on.
    async fn retire(&self, zygote: &Arc<Zygote>) {
        let mut current = self.shared.zygote.lock().await;
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, zygote)) {
            *current = None;
        }
    }

    /// The living zygote; a dead one is replaced.
    async fn zygote(&self) -> Result<Arc<Zygote>, Error> {
        let mut current = self.shared.zygote.lock().await;
        if let Some(zygote) = current.as_ref()
            && zygote.is_alive()
        {
            return Ok(zygote.clone());
        }
        let shared = &self.shared;
        let (main, trampoline) = prepare::prelude(shared).await?;
        let zygote = Zygote::start(Ingredients {
            program: &shared.program,
            main: &main,
            trampoline: &trampoline,
            preload: Vec::new(),
            require_jail: shared.require_jail,
            patience: shared.patience,
            cache: shared.cache.clone(),
            compilers: shared.compilers.clone(),
        })
        .await?;
        let zygote = Arc::new(zygote);
        *current = Some(zygote.clone());
        Ok(zygote)
    }

    /// Compiles the native modules of these wheels of the bundle and of what they require, once.
    ///
    /// # Errors
    /// When one does not compile.
    pub async fn prepare(&self, wheels: &[&str]) -> Result<(), Error> {
        prepare::wheels(&self.shared, wheels).await
    }
}

/// Compiles the interpreter's own modules.
async fn compile_prelude(shared: &Shared) -> Result<(Arc<std::fs::File>, Arc<std::fs::File>), Error> {
    let helper = trampoline_module();
    let main = shared.compilers.module(Kind::Main, bundle::INTERPRETER.bytes, "the interpreter", Trust::Bundle);
    let trampoline = shared.compilers.module(Kind::Helper, &helper, "the trampoline", Trust::Bundle);
    tokio::try_join!(main, trampoline)
}
