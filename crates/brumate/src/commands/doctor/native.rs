//! Checks of native kernels: whether one starts, which walls its jail lacks, and whether code in it gets through one.

use std::collections::BTreeMap;
use std::time::Instant;

use brumate_engine_api::{Ended, Engine as _, EngineError, Event, Execute, ExecuteMode, MachineSpec, StreamName};
use brumate_jupyter_engine::{JupyterEngine, JupyterEngineConfig};
use tokio::sync::mpsc;

use super::{Check, CheckState};
use crate::settings::{EngineSettings, Settings};

/// Program that tries each wall, for kernels of Python.
const PROBE: &str = include_str!("native_walls.py");
/// Events of the program that may wait.
const EVENT_QUEUE: usize = 64;

/// Runs the checks, if the settings name native kernels.
pub(super) async fn checks(settings: &Settings) -> Vec<Check> {
    let EngineSettings::Jupyter { kernel, python } = &settings.engine else { return Vec::new() };
    let config = JupyterEngineConfig {
        kernel: kernel.clone(),
        python: python.clone(),
        require_jail: settings.require_jail,
        ready: 0,
        packages: None,
        program: None,
    };
    match started(settings, config, kernel.is_none()).await {
        Ok(checks) => checks,
        Err(error) => vec![Check::new("native kernel", CheckState::Failed, error.to_string())],
    }
}

async fn started(settings: &Settings, config: JupyterEngineConfig, is_python: bool) -> Result<Vec<Check>, EngineError> {
    let engine = JupyterEngine::new(config).await?;
    let limits = settings.runner.limits;
    let start = Instant::now();
    engine.prepare(&limits).await?;
    let session = engine.session(MachineSpec { limits, ..MachineSpec::default() }).await?;
    let detail = format!("started in {} ms", start.elapsed().as_millis());
    let mut checks = vec![Check::new("native kernel", CheckState::Ok, detail)];
    let missing = engine.missing_walls(&limits).await?;
    checks.extend(missing.into_iter().map(|wall| Check::new("native wall", CheckState::Missing, wall)));
    if !is_python {
        return Ok(checks);
    }
    let request = Execute { code: PROBE.to_owned(), mode: ExecuteMode::NotebookCell, ..Execute::default() };
    let (sender, mut events) = mpsc::channel(EVENT_QUEUE);
    let collecting = async {
        let mut text = String::new();
        while let Some(event) = events.recv().await {
            if let Event::Stream { name: StreamName::Stdout, text: more } = event {
                text.push_str(&more);
            }
        }
        text
    };
    let (outcome, text) = tokio::join!(session.execute(request, sender), collecting);
    if let Ended::Raised { ename, evalue, .. } = outcome?.ended {
        checks.push(Check::new("native probes", CheckState::Failed, format!("{ename}: {evalue}")));
        return Ok(checks);
    }
    let attempts: BTreeMap<String, bool> = serde_json::from_str(&text).unwrap_or_default();
    let refused = attempts.values().filter(|refused| **refused).count();
    let state = if attempts.is_empty() { CheckState::Failed } else { CheckState::Ok };
    let detail = format!("{refused} of {} kinds of attempts to leave the jail were refused", attempts.len());
    checks.push(Check::new("native probes", state, detail));
    let through = attempts.into_iter().filter(|(_, refused)| !refused);
    checks.extend(through.map(|(name, _)| Check::new("native probe", CheckState::Failed, name)));
    Ok(checks)
}
