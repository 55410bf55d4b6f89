//! Code that tries to exceed a limit, and how the run must end.

use std::sync::Arc;
use std::time::Duration;

use brumate_engine::client::LocalEngine;
use brumate_engine_api::{Limits, StopReason};
use brumate_session::{CancellationToken, Report, Request, RunStatus, Runner, RunnerSettings};

use super::{Check, CheckState};
use crate::bundle::bundle;

/// Time limit of tests that do not test the time limits.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Time limit of tests of the time limits.
const SHORT_TIMEOUT: Duration = Duration::from_millis(300);

/// A test of one limit.
pub(super) struct LimitTest {
    name: &'static str,
    code: &'static str,
    limits: Limits,
    /// Returns whether the limit held.
    held: fn(&Report) -> bool,
}

impl LimitTest {
    /// Runs the code in a fresh interpreter.
    pub(super) async fn run(&self, engine: &LocalEngine) -> anyhow::Result<Check> {
        let mut settings = RunnerSettings::default();
        settings.limits = self.limits;
        let runner = Runner::new(Arc::new(engine.clone()), Arc::new(bundle()?), settings);
        let request = Request::new(self.code);
        Ok(match runner.run(request, &CancellationToken::new(), &mut |_| {}).await {
            Ok(report) if (self.held)(&report) => Check::new(self.name, CheckState::Ok, "holds"),
            Ok(report) => Check::new(self.name, CheckState::Failed, failure(&report)),
            Err(error) => Check::new(self.name, CheckState::Failed, error.to_string()),
        })
    }
}

/// Returns the reason of a failed test.
fn failure(report: &Report) -> String {
    match &report.error {
        Some(error) => format!("the code ended in another way: {}", error.lines().last().unwrap_or_default()),
        None => "the code was not stopped".to_owned(),
    }
}

/// Returns whether the code succeeded. Such code checks itself that it was refused, and raises if not.
fn succeeded(report: &Report) -> bool {
    report.status == RunStatus::Success
}

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits { wall: TEST_TIMEOUT, cpu: TEST_TIMEOUT, ..Limits::default() };
    change(&mut limits);
    limits
}

/// Returns all tests.
pub(super) fn limit_tests() -> Vec<LimitTest> {
    let limit_test = |name, code, limits, held| LimitTest { name, code, limits, held };
    let plain = |name, code| limit_test(name, code, limits(|_| {}), succeeded);
    vec![
        plain("python", include_str!("python.py")),
        limit_test(
            "time limit",
            include_str!("time_limit.py"),
            limits(|limits| limits.wall = SHORT_TIMEOUT),
            |report| report.stopped == Some(StopReason::TimeLimit),
        ),
        limit_test("CPU limit", include_str!("cpu_limit.py"), limits(|limits| limits.cpu = SHORT_TIMEOUT), |report| {
            report.stopped == Some(StopReason::CpuLimit)
        }),
        limit_test(
            "memory limit",
            include_str!("memory_limit.py"),
            limits(|limits| limits.memory_bytes = 256 << 20),
            succeeded,
        ),
        limit_test(
            "file limit",
            include_str!("file_limit.py"),
            limits(|limits| limits.file_bytes = 1 << 20),
            succeeded,
        ),
        limit_test(
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
