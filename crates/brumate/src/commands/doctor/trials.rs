//! Code that breaks a rule, and how it must end.

use std::sync::Arc;
use std::time::Duration;

use brumate_engine_api::{Limits, StopReason};
use brumate_session::{CancellationToken, RunReport, RunRequest, RunStatus, Runner, RunnerSettings};

use super::{Check, State};
use crate::engine::{LocalEngine, bundle};

/// Time limit of trials that have nothing to do with time.
const PATIENCE: Duration = Duration::from_secs(20);
/// Limit of those that have.
const SHORT: Duration = Duration::from_millis(300);

/// One of them.
pub(super) struct Trial {
    name: &'static str,
    code: &'static str,
    limits: Limits,
    held: fn(&RunReport) -> bool,
}

impl Trial {
    /// Runs the code in a machine of its own.
    pub(super) async fn run(&self, engine: &LocalEngine) -> anyhow::Result<Check> {
        let mut settings = RunnerSettings::default();
        settings.limits = self.limits;
        let runner = Runner::new(Arc::new(engine.clone()), Arc::new(bundle()?), settings);
        let request = RunRequest::new(self.code);
        Ok(match runner.run(request, &CancellationToken::new(), &mut |_| {}).await {
            Ok(report) if (self.held)(&report) => Check::new(self.name, State::Ok, "holds"),
            Ok(report) => Check::new(self.name, State::Failed, failure(&report)),
            Err(error) => Check::new(self.name, State::Failed, error.to_string()),
        })
    }
}

fn failure(report: &RunReport) -> String {
    match &report.error {
        Some(error) => format!("ended otherwise: {}", error.lines().last().unwrap_or_default()),
        None => "the code was not stopped".to_owned(),
    }
}

/// For code that finds out itself whether it was refused, and raises when it was not.
fn succeeded(report: &RunReport) -> bool {
    report.status == RunStatus::Success
}

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits { wall: PATIENCE, cpu: PATIENCE, ..Limits::default() };
    change(&mut limits);
    limits
}

/// All of them.
pub(super) fn trials() -> Vec<Trial> {
    let trial = |name, code, limits, held| Trial { name, code, limits, held };
    let plain = |name, code| trial(name, code, limits(|_| {}), succeeded);
    vec![
        plain("python", include_str!("python.py")),
        trial("time limit", include_str!("time_limit.py"), limits(|limits| limits.wall = SHORT), |report| {
            report.stopped == Some(StopReason::WallLimit)
        }),
        trial("CPU limit", include_str!("cpu_limit.py"), limits(|limits| limits.cpu = SHORT), |report| {
            report.stopped == Some(StopReason::CpuLimit)
        }),
        trial(
            "memory limit",
            include_str!("memory_limit.py"),
            limits(|limits| limits.memory_bytes = 256 << 20),
            succeeded,
        ),
        trial("file limit", include_str!("file_limit.py"), limits(|limits| limits.file_bytes = 1 << 20), succeeded),
        trial(
            "output limit",
            include_str!("output_limit.py"),
            limits(|limits| limits.output_bytes = 1 << 10),
            |report| succeeded(report) && report.output_dropped >= 3 << 10,
        ),
        plain("no host files", include_str!("no_host_files.py")),
        plain("no network", include_str!("no_network.py")),
        plain("no processes", include_str!("no_processes.py")),
    ]
}
