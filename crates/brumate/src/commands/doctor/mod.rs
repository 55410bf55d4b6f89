//! `brumate doctor`: checks the cache, the sessions, the walls of the jail and the limits. Each limit is tested by code that tries to
//! exceed it. With `--engine jupyter` it checks the jail of native kernels, too.

mod limit_tests;
mod native;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use brumate_engine::client;
use brumate_session::sessions::{FileFault, ProblemSubject, Sessions};
use brumate_session::units::format_size;
use serde::Serialize;

use super::print;
use crate::bundle::bundle;
use crate::cli::DoctorArgs;
use crate::exit_status;
use crate::sandbox::sandbox;
use crate::settings::Settings;

/// The report: all checks.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    checks: Vec<Check>,
}

/// The result of one check.
#[derive(Debug, Serialize)]
struct Check {
    name: String,
    state: CheckState,
    detail: String,
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckState {
    /// The check passed.
    Ok,
    /// Information only.
    Info,
    /// This host does not support a wall of the jail.
    Missing,
    /// The check failed.
    Failed,
}

impl Check {
    fn new(name: impl Into<String>, state: CheckState, detail: impl Into<String>) -> Self {
        Self { name: name.into(), state, detail: detail.into() }
    }
}

pub(crate) async fn run(settings: &Settings, arguments: &DoctorArgs) -> anyhow::Result<u8> {
    let report = Report { version: env!("CARGO_PKG_VERSION"), checks: run_checks(settings).await? };
    print(&if arguments.json { serde_json::to_string_pretty(&report)? } else { report_text(&report) })?;
    let passed = report.checks.iter().all(|check| matches!(check.state, CheckState::Ok | CheckState::Info));
    Ok(if passed { exit_status::SUCCESS } else { exit_status::FAILURE })
}

/// Returns the report as text, one line for each check.
fn report_text(report: &Report) -> String {
    let width = report.checks.iter().map(|check| check.name.chars().count()).max().unwrap_or_default();
    let mut text = format!("brumate {}", report.version);
    for Check { name, state, detail } in &report.checks {
        let state = match state {
            CheckState::Ok => "ok",
            CheckState::Info => "--",
            CheckState::Missing => "MISSING",
            CheckState::Failed => "FAILED",
        };
        // Writing to a string does not fail.
        let _ = write!(text, "\n{state:<8}{name:<width$}  {}", detail.replace('\n', " "));
    }
    text
}

/// Runs all checks. Ends early if the sandbox does not start.
async fn run_checks(settings: &Settings) -> anyhow::Result<Vec<Check>> {
    let sandbox = sandbox(settings)?;
    let mut checks = vec![bundle_check(), cache_check(&settings.cache_dir)];
    if let Some(sessions) = &settings.sessions {
        checks.extend(session_checks(&sessions.data_dir, &settings.cache_dir));
    }
    let start = Instant::now();
    let walls = match sandbox.engine.sandbox().await {
        Ok(sandbox) => sandbox.missing_walls().await,
        Err(error) => {
            checks.push(Check::new("sandbox", CheckState::Failed, error.to_string()));
            return Ok(checks);
        }
    };
    checks.push(Check::new("sandbox", CheckState::Ok, format!("started in {} ms", start.elapsed().as_millis())));
    match walls {
        Ok(missing) if missing.is_empty() => checks.push(Check::new("walls", CheckState::Ok, "all are active")),
        Ok(missing) => checks.extend(missing.into_iter().map(|wall| Check::new("wall", CheckState::Missing, wall))),
        Err(error) => checks.push(Check::new("walls", CheckState::Failed, error.to_string())),
    }
    checks.extend(probe_checks().await);
    for limit_test in limit_tests::limit_tests() {
        checks.push(limit_test.run(&sandbox.engine).await?);
    }
    checks.extend(native::checks(settings).await);
    Ok(checks)
}

/// Tries to break each wall from inside the jail, as an escaped guest would.
async fn probe_checks() -> Vec<Check> {
    let results = match brumate_engine::client::probe(None).await {
        Ok(results) => results,
        Err(error) => return vec![Check::new("probes", CheckState::Failed, error.to_string())],
    };
    let refused = results.iter().filter(|result| result.passed).count();
    let mut checks = vec![Check::new(
        "probes",
        CheckState::Ok,
        format!("{refused} of {} attempts to leave the jail were refused", results.len()),
    )];
    checks.extend(results.into_iter().filter(|result| !result.passed).map(|result| {
        let state = if result.name == "wall stands" { CheckState::Missing } else { CheckState::Failed };
        Check::new("probe", state, format!("{:?}, {}: {}", result.wall, result.name, result.detail))
    }));
    checks
}

fn bundle_check() -> Check {
    match bundle() {
        Ok(bundle) => Check::new("bundle", CheckState::Info, bundle.summary()),
        Err(error) => Check::new("bundle", CheckState::Failed, error.to_string()),
    }
}

/// Counts the files of the cache directory. The engine checks the directory's owner and permissions when it opens it.
fn cache_check(directory: &Path) -> Check {
    let mut pending = vec![directory.to_path_buf()];
    let (mut files, mut bytes) = (0_u64, 0_u64);
    while let Some(directory) = pending.pop() {
        // Unreadable directories are not counted. A cache that does not exist is empty.
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
    Check::new("cache", CheckState::Info, detail)
}

/// Checks the data directory: its permissions, its registry, and whether its sessions can be resumed.
fn session_checks(data_dir: &Path, cache_dir: &Path) -> Vec<Check> {
    let check = |path: &Path, image: Option<&Path>| match client::check_session_file(path, image, cache_dir) {
        Ok(()) => Ok(()),
        Err(client::EngineError::Outdated(wrong)) => Err(FileFault::Outdated(wrong)),
        Err(error) => Err(FileFault::Damaged(error.to_string())),
    };
    let found = Sessions::examine(data_dir, &check);
    let mut checks = Vec::new();
    let mut add = |name: &str, subject: ProblemSubject, passed: (CheckState, String)| {
        let mut problems = found.problems.iter().filter(|problem| problem.subject == subject).peekable();
        if problems.peek().is_none() {
            checks.push(Check::new(name, passed.0, passed.1));
        }
        checks.extend(problems.map(|problem| Check::new(name, CheckState::Failed, problem.text.clone())));
    };
    let place = data_dir.display();
    let directory = match (found.exists, found.in_use) {
        (false, _) => (CheckState::Info, format!("{place}, does not exist; a server with sessions creates it")),
        (true, None) => (CheckState::Ok, format!("{place}, private and writable, not in use")),
        (true, Some(processes)) if processes.is_empty() => {
            (CheckState::Ok, format!("{place}, private and writable, in use"))
        }
        (true, Some(processes)) => {
            let processes: Vec<String> = processes.iter().map(u32::to_string).collect();
            (CheckState::Ok, format!("{place}, private and writable, in use by process {}", processes.join(", ")))
        }
    };
    add("data directory", ProblemSubject::Directory, directory);
    if found.exists {
        add("session registry", ProblemSubject::Registry, (CheckState::Ok, "readable and whole".to_owned()));
        let lost = if found.lost > 0 { format!(", {} lost", found.lost) } else { String::new() };
        let sessions = format!("{}{lost}, {} on disk", found.sessions, format_size(found.bytes));
        add("sessions", ProblemSubject::Session, (CheckState::Ok, sessions));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_a_line_for_each_check() {
        let checks = vec![
            Check::new("cache", CheckState::Info, "/home/ada/.cache/brumate with 31 files, 300 MiB"),
            Check::new("sandbox", CheckState::Ok, "started in 3 ms"),
            Check::new("wall", CheckState::Missing, "UserNamespace: forbidden\nby the host"),
            Check::new("time limit", CheckState::Failed, "the code was not stopped"),
        ];
        let report = Report { version: "1.2.3", checks };
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!("report", report_text(&report)));
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["checks"][2]["state"], "missing");
    }

    #[test]
    fn the_data_directory_is_examined() {
        let temporary = tempfile::tempdir().unwrap();
        let states =
            |path: &Path| session_checks(path, temporary.path()).iter().map(|check| check.state).collect::<Vec<_>>();
        assert_eq!(states(&temporary.path().join("none")), [CheckState::Info]);
        let root = temporary.path().join("data");
        std::fs::create_dir(&root).unwrap();
        std::fs::set_permissions(&root, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        assert_eq!(states(&root), [CheckState::Ok, CheckState::Ok, CheckState::Ok]);
        std::fs::write(root.join("sessions.sqlite"), "no database").unwrap();
        let checks = session_checks(&root, temporary.path());
        assert_eq!((checks[1].name.as_str(), checks[1].state), ("session registry", CheckState::Failed));
        assert!(checks[1].detail.contains("restore"), "{}", checks[1].detail);
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
