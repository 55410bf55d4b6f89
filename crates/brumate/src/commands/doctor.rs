//! `brumate doctor`: what is cached, which walls and limits hold, what is missing. Nothing is believed: every limit is
//! tried by code that breaks it.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use brumate_engine::api::{Limits, StopReason};
use brumate_session::engine::{LocalEngine, bundle};
use brumate_session::units::format_size;
use brumate_session::{CancellationToken, RunReport, RunRequest, Runner, RunnerSettings, Status};
use serde::Serialize;

use super::print;
use crate::cli::DoctorArgs;
use crate::exit_status;
use crate::sandbox::sandbox;
use crate::settings::Settings;

/// Everything that was looked at.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    checks: Vec<Check>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: String,
    state: State,
    detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// As it should be.
    Ok,
    /// Good to know.
    Info,
    /// A wall that this host does not allow.
    Missing,
    /// Does not work.
    Failed,
}

impl Check {
    fn new(name: impl Into<String>, state: State, detail: impl Into<String>) -> Self {
        Self { name: name.into(), state, detail: detail.into() }
    }
}

pub(crate) async fn run(settings: &Settings, arguments: &DoctorArgs) -> anyhow::Result<u8> {
    let report = Report { version: env!("CARGO_PKG_VERSION"), checks: examine(settings).await? };
    print(&if arguments.json { serde_json::to_string_pretty(&report)? } else { text(&report) })?;
    let fine = report.checks.iter().all(|check| matches!(check.state, State::Ok | State::Info));
    Ok(if fine { exit_status::SUCCESS } else { exit_status::FAILURE })
}

fn text(report: &Report) -> String {
    let width = report.checks.iter().map(|check| check.name.chars().count()).max().unwrap_or_default();
    let mut text = format!("brumate {}", report.version);
    for Check { name, state, detail } in &report.checks {
        let state = match state {
            State::Ok => "ok",
            State::Info => "--",
            State::Missing => "MISSING",
            State::Failed => "FAILED",
        };
        // Writing to a string does not fail.
        let _ = write!(text, "\n{state:<8}{name:<width$}  {}", detail.replace('\n', " "));
    }
    text
}

async fn examine(settings: &Settings) -> anyhow::Result<Vec<Check>> {
    let sandbox = sandbox(settings)?;
    let mut checks = vec![bundle_check(), cache_check(&settings.cache_dir)];
    let start = Instant::now();
    let walls = match sandbox.engine.sandbox().await {
        Ok(sandbox) => sandbox.missing_walls().await,
        Err(error) => {
            checks.push(Check::new("sandbox", State::Failed, error.to_string()));
            return Ok(checks);
        }
    };
    checks.push(Check::new("sandbox", State::Ok, format!("started in {} ms", start.elapsed().as_millis())));
    match walls {
        Ok(missing) if missing.is_empty() => checks.push(Check::new("walls", State::Ok, "all of them stand")),
        Ok(missing) => checks.extend(missing.into_iter().map(|wall| Check::new("wall", State::Missing, wall))),
        Err(error) => checks.push(Check::new("walls", State::Failed, error.to_string())),
    }
    for trial in trials() {
        checks.push(trial.run(&sandbox.engine).await?);
    }
    Ok(checks)
}

fn bundle_check() -> Check {
    match bundle() {
        Ok(bundle) => Check::new("bundle", State::Info, bundle.summary()),
        Err(error) => Check::new("bundle", State::Failed, error.to_string()),
    }
}

/// What the cache directory holds. Its safety is checked by the engine when it opens it.
fn cache_check(directory: &Path) -> Check {
    let mut pending = vec![directory.to_path_buf()];
    let (mut files, mut bytes) = (0_u64, 0_u64);
    while let Some(directory) = pending.pop() {
        // What cannot be read is not counted; a cache that is not there yet is empty.
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => pending.push(entry.path()),
                Ok(metadata) if metadata.is_file() => {
                    files += 1;
                    bytes += metadata.len();
                }
                _ => {}
            }
        }
    }
    let detail = format!("{} with {files} files, {}", directory.display(), format_size(bytes));
    Check::new("cache", State::Info, detail)
}

/// Code that breaks a rule, and how it must end.
struct Trial {
    name: &'static str,
    code: &'static str,
    limits: Limits,
    held: fn(&RunReport) -> bool,
}

impl Trial {
    async fn run(&self, engine: &LocalEngine) -> anyhow::Result<Check> {
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
    let last = |text: &str| text.lines().last().unwrap_or_default().to_owned();
    match &report.error {
        Some(error) => format!("ended otherwise: {}", last(error)),
        None => "the code was not stopped".to_owned(),
    }
}

/// The code itself finds out whether it was refused: it raises when it was not.
fn succeeded(report: &RunReport) -> bool {
    report.status == Status::Success
}

fn trials() -> Vec<Trial> {
    let short = Duration::from_millis(300);
    let limits = |change: fn(&mut Limits)| {
        let mut limits = Limits { wall: Duration::from_secs(20), ..Limits::default() };
        change(&mut limits);
        limits
    };
    let trial = |name, code, limits, held| Trial { name, code, limits, held };
    let mut wall = limits(|_| {});
    wall.wall = short;
    let mut cpu = limits(|_| {});
    cpu.cpu = short;
    vec![
        trial("python", "import sys\nassert sys.version_info[:2] == (3, 14)", limits(|_| {}), succeeded),
        trial("time limit", "import time\nwhile True: time.sleep(0.01)", wall, |report| {
            report.stopped == Some(StopReason::WallLimit)
        }),
        trial("CPU limit", "while True: pass", cpu, |report| report.stopped == Some(StopReason::CpuLimit)),
        trial(
            "memory limit",
            "try:\n    bytearray(512 << 20)\nexcept MemoryError:\n    pass\nelse:\n    raise AssertionError('too much memory')",
            limits(|limits| limits.memory_bytes = 256 << 20),
            succeeded,
        ),
        trial(
            "file limit",
            "try:\n    with open('/tmp/full', 'wb') as file:\n        file.write(bytes(2 << 20))\nexcept OSError:\n    pass\nelse:\n    raise AssertionError('too large a file')",
            limits(|limits| limits.file_bytes = 1 << 20),
            succeeded,
        ),
        trial("output limit", "print('x' * 4096)", limits(|limits| limits.output_bytes = 1 << 10), |report| {
            report.status == Status::Success && report.output_dropped >= 3 << 10
        }),
        trial(
            "no host files",
            "import os\nfor path in ('/etc/passwd', '/proc/self/environ', '/home', '/root'):\n    if os.path.exists(path) and (os.path.isfile(path) or os.listdir(path)):\n        if path not in ('/home',):\n            raise AssertionError(path)",
            limits(|_| {}),
            succeeded,
        ),
        trial(
            "no network",
            "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 53), 1)\nexcept OSError:\n    pass\nelse:\n    raise AssertionError('connected')",
            limits(|_| {}),
            succeeded,
        ),
        trial(
            "no processes",
            "import subprocess\ntry:\n    subprocess.run(['/bin/sh', '-c', 'true'])\nexcept OSError:\n    pass\nelse:\n    raise AssertionError('a process was started')",
            limits(|_| {}),
            succeeded,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_a_line_for_each_check() {
        let checks = vec![
            Check::new("sandbox", State::Ok, "started in 3 ms"),
            Check::new("wall", State::Missing, "UserNamespace: forbidden\nby the host"),
            Check::new("time limit", State::Failed, "the code was not stopped"),
        ];
        let report = Report { version: "1.2.3", checks };
        assert_eq!(
            text(&report),
            "brumate 1.2.3\n\
             ok      sandbox     started in 3 ms\n\
             MISSING wall        UserNamespace: forbidden by the host\n\
             FAILED  time limit  the code was not stopped"
        );
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["checks"][1]["state"], "missing");
    }

    #[test]
    fn the_cache_is_measured() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("inner")).unwrap();
        std::fs::write(directory.path().join("inner/module"), [0; 2048]).unwrap();
        assert!(cache_check(directory.path()).detail.ends_with("with 1 files, 2 KiB"));
        assert!(cache_check(&directory.path().join("none")).detail.ends_with("with 0 files, 0 bytes"));
    }
}
