//! What a sandbox's clones, its runs and its sessions share.

use std::path::PathBuf;
use std::sync::Arc;

use brumate_engine::client::{LocalEngine, SandboxConfig, StartMode, Tiers};
use brumate_session::packages::{PackageSettings, Packages};
use brumate_session::sessions::{SessionSettings, Sessions};
use brumate_session::{Grants, Runner, RunnerSettings, WhenFull};
use tokio::sync::OnceCell;

use super::error::Error;
use super::sandbox_builder::{SandboxBuilder, SessionTimeout};
use super::setting_names;
use crate::bundle::bundle;
use crate::{directories, network};

/// The engine, the runner and the sessions of a sandbox.
#[derive(Debug)]
pub(super) struct SandboxCore {
    pub(super) runner: Runner,
    pub(super) engine: LocalEngine,
    pub(super) cache_dir: PathBuf,
    sessions: OnceCell<Sessions>,
    /// `None` without a data directory.
    settings: Option<SessionSettings>,
}

impl SandboxCore {
    /// Sets everything up. Starts no process.
    pub(super) fn new(builder: SandboxBuilder) -> Result<Self, Error> {
        brumate_setting::set_writer(setting_names::in_rust);
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let network = network::of(&builder.network, builder.program.clone())
            .map_err(|reason| Error::Settings(format!("`allow_net`: {reason}")))?;
        let grants = Grants::new(builder.checked_mounts()?).with_network(network);
        let cache_dir = builder.cache_dir.or_else(|| directories::cache(variable("XDG_CACHE_HOME"), variable("HOME")));
        let cache_dir = cache_dir.ok_or(Error::NoDirectory("cache", "cache_dir"))?;
        let data_dir = builder.data_dir.or_else(|| directories::data(variable("XDG_DATA_HOME"), variable("HOME")));
        let engine = LocalEngine::new(SandboxConfig {
            cache_dir: cache_dir.clone(),
            require_jail: builder.require_jail,
            start: StartMode::Quick,
            tiers: Tiers::Background,
            program: builder.program,
            ready: 0,
            ..SandboxConfig::default()
        });
        let defective = |error: brumate_packages::BundleError| Error::Sandbox(error.to_string());
        let bundle = Arc::new(bundle().map_err(defective)?);
        let mut packages = PackageSettings::new(&cache_dir);
        packages.sources.index = builder.index;
        packages.sources.find_links = builder.find_links;
        packages.sources.offline = builder.offline;
        packages.sources.check().map_err(|error| Error::Settings(error.to_string()))?;
        let packages = Packages::new(Arc::new(engine.clone()), Arc::clone(&bundle), packages);
        let mut settings = RunnerSettings::default();
        settings.limits = builder.limits;
        settings.grants = grants;
        settings.dependencies = builder.packages;
        settings.max_concurrent = builder.max_concurrent.unwrap_or(settings.max_concurrent);
        settings.when_full = WhenFull::Wait;
        settings.builder = brumate_session::ImageBuilder::ThisProcess;
        settings.imports_file = Some(cache_dir.join("imports.json"));
        let mut sessions = data_dir.map(SessionSettings::new);
        if let Some(sessions) = &mut sessions {
            sessions.limits = settings.limits;
            sessions.grants = settings.grants.clone();
            sessions.dependencies.clone_from(&settings.dependencies);
            sessions.packages = Some(packages.clone());
            sessions.max_concurrent = settings.max_concurrent;
            sessions.when_full = settings.when_full;
            match builder.session_timeout {
                SessionTimeout::Default => {}
                SessionTimeout::Never => sessions.timeout = None,
                SessionTimeout::After(time) => sessions.timeout = Some(time),
            }
        }
        let runner = Runner::new(Arc::new(engine.clone()), bundle, settings).with_packages(packages);
        if let Some(sessions) = &mut sessions {
            // Runs in sessions and other runs share one limit.
            sessions.admission = Some(runner.admission().clone());
        }
        Ok(Self { runner, engine, cache_dir, sessions: OnceCell::new(), settings: sessions })
    }

    /// Returns the sessions. The first call opens the data directory.
    pub(super) async fn sessions(&self) -> Result<&Sessions, Error> {
        let open = || async {
            let settings = self.settings.clone().ok_or(Error::NoDirectory("sessions", "data_dir"))?;
            Ok::<_, Error>(Sessions::open(Arc::new(self.engine.clone()), settings).await?)
        };
        self.sessions.get_or_try_init(open).await
    }

    /// Returns the sessions, or `None` if nothing has used them.
    pub(super) fn open_sessions(&self) -> Option<&Sessions> {
        self.sessions.get()
    }
}
