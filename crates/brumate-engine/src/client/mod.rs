//! The engine's interface to the rest of Brumate: a [`Sandbox`] starts [`Machine`]s.
//!
//! The server process never runs guest code and never forks. It owns the cache of compiled modules, starts zygotes, and
//! communicates with machines over sockets. Every byte from them is treated as hostile.

mod bytecode;
mod channel;
pub(crate) mod compiler;
mod compiler_process;
mod config;
mod conversation;
mod crash_recovery;
mod crash_snapshot;
mod error;
mod file_checks;
mod files;
mod footprint;
mod hibernate;
mod image_transfer;
mod images;
mod layers;
mod lifecycle;
mod local_engine;
mod machine;
mod memory_file;
mod mounted;
mod mounts;
mod oom_kills;
mod page_map;
mod pool;
mod pools;
mod prepare;
mod probe;
mod progress;
mod session;
mod session_file;
mod session_files;
mod spawn;
mod startup_timeouts;
mod stop;
mod temporary;
mod tiers;
mod transaction;
mod turns;
mod unassigned;
mod unoptimized;
mod zygote;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;

/// The errors of this interface, and the reasons for the end of a machine.
pub use crate::api::{EngineError, ExitReason};
pub use config::{DEFAULT_READY, SandboxConfig, StartMode};
pub use hibernate::{ResumedMachine, check_session_file};
pub use image_transfer::{
    MAX_IMAGE_BYTES, copy_image, copy_images, has_base, have_same_base, take_image, take_image_from,
};
pub use layers::layers_of;
pub use lifecycle::PausedMachine;
pub use local_engine::LocalEngine;
pub use machine::Machine;
pub use probe::probe;
pub use progress::{Progress, ProgressFn};
pub use session::Session;
pub use startup_timeouts::StartupTimeouts;
pub use stop::InterruptHandle;
pub use tiers::Tiers;

use crate::api::{Image, MachineSpec};
use crate::bundle;
use crate::code::cache::ModuleCache;
use crate::code::compile::{self, ModuleKind};
use crate::code::trampoline::trampoline_module;
use crate::engine::{Purpose, engine};
use compiler::{Compilers, Urgency};
use images::{Images, Verified};
use oom_kills::OomKills;
use pool::Pool;
use unoptimized::Unoptimized;

/// Most attempts to start a machine. An attempt fails if the zygote or the new machine ends, or does not answer.
const ATTEMPTS: usize = 3;

/// Error text for a new machine that does not answer.
const NO_ANSWER: &str = "a new machine did not answer";

/// The zygote of one image, if it runs.
type PoolEntry = Arc<Mutex<Option<Arc<Pool>>>>;

/// Key of a zygote: its image. If another version of Brumate made the image, the key also has the image's id.
type PoolKey = (Image, Option<[u8; 32]>);

/// State that all machines of a sandbox share.
pub(crate) struct SandboxShared {
    pub(crate) cache: Arc<ModuleCache>,
    pub(crate) compilers: Arc<Compilers>,
    pub(crate) images: Arc<Images>,
    pub(crate) progress: Option<ProgressFn>,
    program: PathBuf,
    require_jail: bool,
    brief: AtomicBool,
    ready: usize,
    idle: Option<Duration>,
    pub(crate) startup_timeouts: StartupTimeouts,
    /// Set while an image is being built in the background, and afterwards.
    building: AtomicBool,
    /// Set after the missing walls of the jail have been logged.
    walls_reported: AtomicBool,
    oom_kills: OomKills,
    /// Zygotes by image. The first caller that needs one starts it, and the others wait.
    pools: parking_lot::Mutex<HashMap<PoolKey, PoolEntry>>,
}

impl std::fmt::Debug for SandboxShared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SandboxShared").field("program", &self.program).finish_non_exhaustive()
    }
}

/// Makes machines. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox {
    shared: Arc<SandboxShared>,
}

impl Sandbox {
    /// Opens the cache. Unless [`SandboxConfig::lazy`] is set, also compiles the interpreter's modules that are not in
    /// the cache, builds the interpreter's image if there is none, and starts a zygote.
    ///
    /// # Errors
    /// If the cache cannot be used, the interpreter does not compile or boot, or required walls are missing. In a lazy
    /// sandbox, the first machine reports the errors of the interpreter and of the walls.
    pub async fn start(config: SandboxConfig) -> Result<Sandbox, EngineError> {
        let program = match config.program {
            Some(program) => program,
            None => std::env::current_exe()?,
        };
        bundle::pack::open(&config.cache_dir, config.bundle_file.as_deref())?;
        let fingerprint = compile::fingerprint(
            &engine(Purpose::Run).map_err(|error| EngineError::Unavailable(format!("{error:#}")))?,
        );
        let cache = Arc::new(ModuleCache::open(&config.cache_dir, &fingerprint)?);
        let (unoptimized, keys) = (config.tiers != Tiers::Optimized).then(Unoptimized::new).unzip();
        let compilers = Compilers::new(program.clone(), cache.clone(), config.progress.clone(), unoptimized);
        let shared = SandboxShared {
            cache,
            compilers: Arc::new(compilers),
            images: Arc::new(Images::open(&config.cache_dir)?),
            progress: config.progress,
            program,
            require_jail: config.require_jail,
            brief: AtomicBool::new(config.start != StartMode::Full),
            ready: config.ready,
            idle: config.idle,
            startup_timeouts: config.startup_timeouts,
            building: AtomicBool::new(false),
            walls_reported: AtomicBool::new(false),
            oom_kills: OomKills::of_this_process(),
            pools: parking_lot::Mutex::default(),
        };
        let sandbox = Sandbox { shared: Arc::new(shared) };
        if let Some(keys) = keys.filter(|_| config.tiers == Tiers::Background) {
            tokio::spawn(tiers::optimize(Arc::downgrade(&sandbox.shared), keys));
        }
        if !config.lazy {
            sandbox.shared.pool(&Image::plain(), Urgency::Needed).await?;
        }
        if config.start == StartMode::Quick {
            tokio::spawn(pools::replace_brief(Arc::downgrade(&sandbox.shared)));
        }
        Ok(sandbox)
    }

    /// Forks a new machine from an interpreter that has booted.
    ///
    /// # Errors
    /// If no machine is available, or a directory of `spec` cannot be opened.
    pub async fn machine(&self, spec: MachineSpec) -> Result<Machine, EngineError> {
        let replaced = bundle::replaced_packages(&spec.image, &spec.layers);
        if replaced.is_empty() && self.has_image(&spec.image) {
            let image = spec.image.clone();
            return self.machine_of(&image, spec).await;
        }
        let mut layers = spec.image.layers().to_vec();
        layers.retain(|layer| !replaced.contains(&bundle::distribution(&layer.name)));
        let others = spec.layers.iter().filter(|layer| !spec.image.layers().contains(layer));
        layers.extend(others.cloned());
        self.machine_of(&Image::plain(), MachineSpec { layers, ..spec }).await
    }

    /// Starts a new machine of exactly this image.
    pub(crate) async fn machine_of(&self, image: &Image, spec: MachineSpec) -> Result<Machine, EngineError> {
        self.machine_of_pool(&(image.clone(), None), spec).await
    }

    async fn machine_of_pool(&self, image: &PoolKey, spec: MachineSpec) -> Result<Machine, EngineError> {
        let mut last = EngineError::Unavailable("no zygote".to_owned());
        for _ in 0..ATTEMPTS {
            let pool = self.shared.pool_of(image, Urgency::Needed).await?;
            let Some(started) = self.start_machine(&pool, &spec).await else {
                self.shared.retire(image, &pool).await;
                last = EngineError::Unavailable(NO_ANSWER.to_owned());
                continue;
            };
            match started {
                Ok(machine) => return Ok(machine),
                Err(error @ (EngineError::Unavailable(_) | EngineError::MachineExited { .. })) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Starts a new machine of a private image. Such an image came with one session, and no other session uses it.
    async fn machine_of_private(
        &self,
        image: &Image,
        verified: Verified,
        spec: MachineSpec,
    ) -> Result<Machine, EngineError> {
        let pool = self.shared.private_pool(image, verified).await?;
        self.start_machine(&pool, &spec).await.unwrap_or_else(|| Err(EngineError::Unavailable(NO_ANSWER.to_owned())))
    }

    /// Starts a machine; `None` if it does not answer in time.
    async fn start_machine(&self, pool: &Arc<Pool>, spec: &MachineSpec) -> Option<Result<Machine, EngineError>> {
        let started = Machine::start(self.shared.clone(), pool.clone(), spec);
        tokio::time::timeout(self.shared.startup_timeouts.hello, started).await.ok()
    }

    /// Returns whether an image is built. If it is, its zygote starts in milliseconds.
    pub fn has_image(&self, image: &Image) -> bool {
        *image == Image::plain() || self.shared.images.exists(image)
    }

    /// Builds an image if there is none, and starts its zygote.
    ///
    /// # Errors
    /// Usually because a module cannot be imported.
    pub async fn build_image(&self, image: &Image) -> Result<(), EngineError> {
        self.shared.pool(image, Urgency::Needed).await.map(drop)
    }

    /// Builds an image as [`Sandbox::build_image`] does, but before a run needs it. Runs that wait for the compiler
    /// have priority over this work.
    ///
    /// # Errors
    /// The errors of [`Sandbox::build_image`].
    pub async fn build_image_ahead(&self, image: &Image) -> Result<(), EngineError> {
        self.shared.compilers.until_free().await;
        self.shared.pool(image, Urgency::Ahead).await.map(drop)
    }

    /// Removes an image, and ends its zygote. Machines that are in use continue.
    pub async fn remove_image(&self, image: &Image) {
        let entry = self.shared.pools.lock().remove(&(image.clone(), None));
        if let Some(entry) = entry
            && let Some(pool) = entry.lock().await.take()
        {
            pool.retire();
        }
        self.shared.images.remove(image);
    }

    /// Starts the zygote of an image that is built. A failure is only logged. The next caller that needs the zygote
    /// gets the error.
    pub async fn start_zygote(&self, image: &Image) {
        if self.has_image(image)
            && let Err(error) = self.shared.pool(image, Urgency::Ahead).await
        {
            tracing::warn!(%image, %error, "an image cannot be used");
        }
    }

    /// Returns the names of the walls (isolation layers) of the jail that machines do not have, with the reasons.
    ///
    /// # Errors
    /// When no zygote can be started.
    pub async fn missing_walls(&self) -> Result<Vec<String>, EngineError> {
        Ok(self.shared.pool(&Image::plain(), Urgency::Needed).await?.zygote().missing_walls().to_vec())
    }

    /// Compiles every native module of the bundle.
    ///
    /// # Errors
    /// When one does not compile.
    pub async fn compile_bundle(&self) -> Result<(), EngineError> {
        prepare::everything(&self.shared).await
    }

    /// Compiles native modules of these wheels of the bundle, and of the wheels that they require. Skips modules that
    /// imports do not usually load. If one of `wheels` belongs to [`Image::data`], and that image is not built yet,
    /// starts to build the image in the background.
    ///
    /// # Errors
    /// When one does not compile.
    pub async fn compile_wheels(&self, wheels: &[&str]) -> Result<(), EngineError> {
        prepare::wheels(&self.shared, wheels, Urgency::Needed).await?;
        let image = Image::data();
        let wanted = wheels.iter().any(|wheel| Image::DATA.contains(wheel)) && !self.has_image(&image);
        if wanted && !self.shared.building.swap(true, Ordering::AcqRel) {
            // In the next run that uses these packages, they are imported already.
            let sandbox = self.clone();
            tokio::spawn(async move {
                if let Err(error) = sandbox.build_image_ahead(&image).await {
                    tracing::warn!(%image, %error, "an image cannot be built");
                }
            });
        }
        Ok(())
    }

    /// Compiles the same modules as [`Sandbox::compile_wheels`], but before a run needs them. Runs that wait for the
    /// compiler have priority over this work. Builds no image.
    ///
    /// # Errors
    /// When one does not compile.
    pub async fn compile_wheels_ahead(&self, wheels: &[&str]) -> Result<(), EngineError> {
        prepare::wheels(&self.shared, wheels, Urgency::Ahead).await
    }
}

/// Compiles the interpreter's own modules.
async fn compile_prelude(shared: &SandboxShared) -> Result<(Arc<std::fs::File>, Arc<std::fs::File>), EngineError> {
    let helper = trampoline_module();
    let (compilers, needed) = (&shared.compilers, Urgency::Needed);
    let main = compilers.bundled(ModuleKind::Main, bundle::INTERPRETER.content.bytes(), "the interpreter", needed);
    let trampoline = compilers.bundled(ModuleKind::Helper, &helper, "the trampoline", needed);
    tokio::try_join!(main, trampoline)
}
