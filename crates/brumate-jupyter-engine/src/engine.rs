//! The engine: it makes sessions with kernels, and keeps one ready.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use brumate_engine_api::{Engine, EngineError, Image, Layer, Limits, Machine, MachineSpec, Session};
use brumate_jail::Require;
use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;

use crate::interpreter::Interpreter;
use crate::kernel::{Kernel, Recipe, Source};
use crate::kernel_spec::KernelSpec;
use crate::packages::PackageServer;
use crate::session::KernelSession;
use crate::zygote::Zygote;

/// Name of the kernel that `ipykernel` is, wherever it is installed.
const PYTHON_KERNEL: &str = "python3";

/// Settings of the engine.
#[derive(Debug, Clone)]
pub struct JupyterEngineConfig {
    /// Name of the kernel; `python3` without one.
    pub kernel: Option<String>,
    /// A Python interpreter, or the directory of a virtual environment. It needs `ipykernel` unless another kernel is named.
    pub python: Option<PathBuf>,
    /// Whether a missing wall of a jail is an error. Without namespaces there is no jail in any case.
    pub require_jail: bool,
    /// Kernels that are kept ready.
    pub ready: usize,
    /// Serves packages to the kernels' code. Without it installers have no index.
    pub packages: Option<Arc<dyn PackageServer>>,
    /// Program that makes jails: this one, by default.
    pub program: Option<PathBuf>,
}

/// An engine whose sessions are kernels of Jupyter, each in a jail of its own.
pub struct JupyterEngine {
    inner: Arc<Inner>,
}

struct Inner {
    recipe: Recipe,
    ready_count: usize,
    /// The zygote, once it has started.
    zygote: AsyncMutex<Option<Arc<Zygote>>>,
    /// Kernels that are ready, with their limits.
    ready: Mutex<Vec<(Limits, Kernel)>>,
}

impl JupyterEngine {
    /// Makes an engine. Asks the interpreter about itself; starts no kernel.
    ///
    /// # Errors
    ///
    /// [`EngineError::Unavailable`]: there is no such kernel or interpreter, or it cannot be used.
    pub async fn new(config: JupyterEngineConfig) -> Result<Self, EngineError> {
        let unavailable = |error: &dyn std::fmt::Display| EngineError::Unavailable(error.to_string());
        let name = config.kernel.clone().unwrap_or_else(|| PYTHON_KERNEL.to_owned());
        let interpreter = match &config.python {
            Some(python) => Some(Interpreter::find(python).await.map_err(|error| unavailable(&error))?),
            None => None,
        };
        let prefix = interpreter.as_ref().map(|interpreter| interpreter.prefix.clone());
        let forks = name == PYTHON_KERNEL;
        let (spec, interpreter) = match (interpreter, forks) {
            (Some(interpreter), true) => (ipython(&interpreter), Some(interpreter)),
            // Its own programs are those of the virtual environment.
            (Some(interpreter), false) => {
                let spec = KernelSpec::find(&name, prefix.as_deref()).map_err(|error| unavailable(&error))?;
                (spec, Some(interpreter))
            }
            (None, is_python) => {
                let spec = KernelSpec::find(&name, prefix.as_deref()).map_err(|error| unavailable(&error))?;
                // A kernel of an interpreter that is known is forked as well.
                let program = spec.argv.first().map(PathBuf::from).filter(|program| is_python && program.is_absolute());
                let interpreter = match program {
                    Some(program) => Some(Interpreter::find(&program).await.map_err(|error| unavailable(&error))?),
                    None => None,
                };
                (spec, interpreter)
            }
        };
        let program = match config.program {
            Some(program) => program,
            None => std::env::current_exe()?,
        };
        let require = if config.require_jail { Require::All } else { Require::Best };
        let recipe = Recipe { program, spec, interpreter, forks, require, packages: config.packages };
        let inner = Inner { recipe, ready_count: config.ready, zygote: AsyncMutex::default(), ready: Mutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Starts the zygote, and makes the first kernel ready. Calls that come meanwhile wait for the zygote only.
    ///
    /// # Errors
    ///
    /// No kernel can be started.
    pub async fn prepare(&self, limits: &Limits) -> Result<(), EngineError> {
        self.inner.source().await?;
        if self.inner.ready_count > 0 {
            let kernel = self.inner.start(limits).await?;
            self.inner.keep_ready(*limits, kernel);
        }
        Ok(())
    }

    /// Starts a kernel, and lists the walls that its jail lacks, with their reasons.
    ///
    /// # Errors
    ///
    /// No kernel can be started.
    pub async fn missing_walls(&self, limits: &Limits) -> Result<Vec<String>, EngineError> {
        Ok(self.inner.start(limits).await?.missing_walls())
    }
}

/// Returns the specification of the kernel of an interpreter.
fn ipython(interpreter: &Interpreter) -> KernelSpec {
    let program = interpreter.program.display().to_string();
    KernelSpec {
        name: PYTHON_KERNEL.to_owned(),
        directory: interpreter.prefix.clone(),
        argv: [&program, "-m", "ipykernel_launcher", "-f", "{connection_file}"].map(str::to_owned).to_vec(),
        display_name: format!("Python {}.{}", interpreter.version.0, interpreter.version.1),
        language: "python".to_owned(),
        interrupt_mode: crate::kernel_spec::InterruptMode::Signal,
        env: std::collections::BTreeMap::new(),
    }
}

impl Inner {
    /// Returns the zygote if kernels are forked. Starts it, or starts another one if it has ended.
    async fn source(&self) -> Result<Source, EngineError> {
        let Some(interpreter) = self.recipe.interpreter.as_ref().filter(|_| self.recipe.forks) else {
            return Ok(Source::Command);
        };
        let mut zygote = self.zygote.lock().await;
        if let Some(living) = zygote.as_ref().filter(|zygote| zygote.is_alive()) {
            return Ok(Source::Zygote(Arc::clone(living)));
        }
        let started = Arc::new(Zygote::start(interpreter).await?);
        Ok(Source::Zygote(Arc::clone(zygote.insert(started))))
    }

    async fn start(&self, limits: &Limits) -> Result<Kernel, EngineError> {
        let source = self.source().await?;
        Kernel::start(&self.recipe, &source, limits).await
    }

    fn keep_ready(&self, limits: Limits, kernel: Kernel) {
        let mut ready = self.ready.lock();
        if ready.len() < self.ready_count {
            ready.push((limits, kernel));
        }
    }

    /// Takes a kernel that is ready, and has another one made. Makes one if none is ready.
    async fn take(self: &Arc<Self>, limits: &Limits) -> Result<Kernel, EngineError> {
        let ready = {
            let mut ready = self.ready.lock();
            // One may have ended meanwhile, for example for lack of memory on the host.
            ready.retain(|(_, kernel)| kernel.is_alive());
            let index = ready.iter().position(|(known, _)| known == limits);
            index.map(|index| ready.swap_remove(index).1)
        };
        let kernel = match ready {
            Some(kernel) => kernel,
            None => self.start(limits).await?,
        };
        if self.ready_count > 0 {
            let (inner, limits) = (Arc::clone(self), *limits);
            tokio::spawn(async move {
                match inner.start(&limits).await {
                    Ok(kernel) => inner.keep_ready(limits, kernel),
                    Err(error) => tracing::warn!(%error, "no kernel could be made ready"),
                }
            });
        }
        Ok(kernel)
    }
}

#[async_trait]
impl Engine for JupyterEngine {
    async fn machine(&self, _spec: MachineSpec) -> Result<Box<dyn Machine>, EngineError> {
        Err(EngineError::Unavailable("native kernels run code in sessions only".to_owned()))
    }

    async fn compile_wheels(&self, _wheels: &[String]) -> Result<(), EngineError> {
        Ok(())
    }

    fn replaced_packages(&self, _image: &Image, _layers: &[Layer]) -> Vec<String> {
        Vec::new()
    }

    fn stores_sessions(&self) -> bool {
        false
    }

    async fn session(&self, spec: MachineSpec) -> Result<Box<dyn Session>, EngineError> {
        if !spec.mounts.is_empty() {
            return Err(EngineError::Unavailable("--mount is not possible with --engine jupyter".to_owned()));
        }
        let kernel = self.inner.take(&spec.limits).await?;
        Ok(Box::new(KernelSession::new(kernel, spec.limits)))
    }

    async fn resume(&self, _path: &Path, _spec: MachineSpec) -> Result<Box<dyn Session>, EngineError> {
        Err(EngineError::Outdated(
            "the file is of a session in WebAssembly; this server runs native kernels".to_owned(),
        ))
    }
}
