//! `brumate doctor`: what is cached, which walls and limits hold, what is missing. Nothing is believed: every limit is
//! tried by code that breaks it.

mod trials;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use brumate_engine::client;
use brumate_session::sessions::{FileFault, ProblemSubject, Sessions};
use brumate_session::units::format_size;
use serde::Serialize;

use super::print;
use crate::cli::DoctorArgs;
use crate::engine::bundle;
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
    if let Some(sessions) = &settings.sessions {
        checks.extend(session_checks(&sessions.data_dir, &settings.cache_dir));
    }
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
    checks.extend(probe_checks().await);
    for trial in trials::trials() {
        checks.push(trial.run(&sandbox.engine).await?);
    }
    Ok(checks)
}

/// Every wall tried from inside: what an escaped guest would do, and whether it was refused.
async fn probe_checks() -> Vec<Check> {
    let results = match brumate_engine::client::probe(None).await {
        Ok(results) => results,
        Err(error) => return vec![Check::new("probes", State::Failed, error.to_string())],
    };
    let held = results.iter().filter(|result| result.passed).count();
    let mut checks =
        vec![Check::new("probes", State::Ok, format!("{held} of {} attempts were refused", results.len()))];
    checks.extend(results.into_iter().filter(|result| !result.passed).map(|result| {
        let state = if result.name == "wall stands" { State::Missing } else { State::Failed };
        Check::new("probe", state, format!("{:?}, {}: {}", result.wall, result.name, result.detail))
    }));
    checks
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

/// The data directory: whether sessions can be kept there, and whether those that are can be woken.
fn session_checks(data_dir: &Path, cache_dir: &Path) -> Vec<Check> {
    let check = |path: &Path| match client::check_asleep(path, cache_dir) {
        Ok(()) => Ok(()),
        Err(client::Error::Outdated(wrong)) => Err(FileFault::Outdated(wrong)),
        Err(error) => Err(FileFault::Damaged(error.to_string())),
    };
    let found = Sessions::examine(data_dir, &check);
    let mut checks = Vec::new();
    let mut add = |name: &str, subject: ProblemSubject, fine: (State, String)| {
        let mut problems = found.problems.iter().filter(|problem| problem.subject == subject).peekable();
        if problems.peek().is_none() {
            checks.push(Check::new(name, fine.0, fine.1));
        }
        checks.extend(problems.map(|problem| Check::new(name, State::Failed, problem.text.clone())));
    };
    let place = data_dir.display();
    let directory = match (found.exists, found.in_use) {
        (false, _) => (State::Info, format!("{place}, made when sessions are first served")),
        (true, None) => (State::Ok, format!("{place}, private and writable, not in use")),
        (true, Some(processes)) if processes.is_empty() => {
            (State::Ok, format!("{place}, private and writable, in use"))
        }
        (true, Some(processes)) => {
            let processes: Vec<String> = processes.iter().map(u32::to_string).collect();
            (State::Ok, format!("{place}, private and writable, in use by process {}", processes.join(", ")))
        }
    };
    add("data directory", ProblemSubject::Directory, directory);
    if found.exists {
        add("session registry", ProblemSubject::Registry, (State::Ok, "readable and whole".to_owned()));
        let lost = if found.lost > 0 { format!(", {} lost", found.lost) } else { String::new() };
        let sessions = format!("{}{lost}, {} on disk", found.sessions, format_size(found.bytes));
        add("sessions", ProblemSubject::Session, (State::Ok, sessions));
    }
    checks
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
    fn the_data_directory_is_examined() {
        let place = tempfile::tempdir().unwrap();
        let states =
            |path: &Path| session_checks(path, place.path()).iter().map(|check| check.state).collect::<Vec<_>>();
        assert_eq!(states(&place.path().join("none")), [State::Info]);
        let root = place.path().join("data");
        std::fs::create_dir(&root).unwrap();
        std::fs::set_permissions(&root, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        assert_eq!(states(&root), [State::Ok, State::Ok, State::Ok]);
        std::fs::write(root.join("sessions.sqlite"), "no database").unwrap();
        let checks = session_checks(&root, place.path());
        assert_eq!((checks[1].name.as_str(), checks[1].state), ("session registry", State::Failed));
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
