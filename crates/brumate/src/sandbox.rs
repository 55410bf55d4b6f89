//! From settings to a runner.

use std::sync::Arc;

use anyhow::Context;
use brumate_session::Runner;
use brumate_session::engine::{LocalEngine, LocalEngineConfig, bundle};

use crate::progress;
use crate::settings::Settings;

/// A runner and the engine behind it.
pub(crate) struct Sandbox {
    pub(crate) runner: Runner,
    pub(crate) engine: LocalEngine,
}

/// Makes a runner. Nothing is started yet.
pub(crate) fn sandbox(settings: &Settings) -> anyhow::Result<Sandbox> {
    let mut config = LocalEngineConfig::default();
    config.cache_dir = settings.cache_dir.clone();
    config.require_jail = settings.require_jail;
    config.progress = progress::on_terminal();
    let engine = LocalEngine::new(config);
    let bundle = Arc::new(bundle().context("this binary is defective")?);
    let runner = Runner::new(Arc::new(engine.clone()), bundle, settings.runner.clone());
    Ok(Sandbox { runner, engine })
}
