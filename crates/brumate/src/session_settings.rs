//! Makes the settings of sessions from the command line.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brumate::directories;
use brumate::ranges::{check_idle, check_range};
use brumate_session::RunnerSettings;
use brumate_session::sessions::{Durability, InputDirs, SessionSettings};
use brumate_session::units::format_size;

use crate::cli::{DurabilityArg, IdleTimeout, Options};
use crate::environment::Environment;

/// Largest value of `--max-live-sessions`.
const MAX_LIVE: usize = 4096;
/// Default of `--max-live-sessions` on hosts with enough memory.
const DEFAULT_LIVE: usize = 50;
/// Memory of the host for each session in memory, in bytes. Half of it is for other purposes.
const MEMORY_PER_LIVE: u64 = 128 << 20;
/// Largest value of `--max-sessions`.
const MAX_SESSIONS: usize = 1_000_000;
/// Largest value of `--sessions-disk`, in bytes.
const MAX_DISK: u64 = 1 << 50;
/// Longest name of an input directory, in bytes.
const MAX_INPUT_NAME: usize = 64;

/// Checks an idle time. `None`: never.
///
/// # Errors
///
/// A text with the flag and the range.
pub(crate) fn check_idle_timeout(flag: &str, idle_timeout: IdleTimeout) -> Result<Option<Duration>, String> {
    match idle_timeout {
        IdleTimeout::Never => Ok(None),
        IdleTimeout::After(time) => check_idle(flag, time).map(Some),
    }
}

/// Makes the settings. `temporary`: the place of a command whose sessions end with it. Returns `None` without a data directory.
///
/// # Errors
///
/// A text with the wrong option, and what is possible.
pub(crate) fn resolve(
    options: &Options,
    runner: &RunnerSettings,
    environment: &Environment,
    temporary: Option<&Path>,
) -> Result<Option<SessionSettings>, String> {
    let count = |number: usize| number.to_string();
    let live = options.max_live_sessions.unwrap_or_else(default_live);
    let max_live = check_range("--max-live-sessions", live, 1..=MAX_LIVE, count)?;
    let max_sessions = check_range("--max-sessions", options.max_sessions, 1..=MAX_SESSIONS, count)?;
    let max_disk_bytes = check_range("--sessions-disk", options.sessions_disk, 1 << 20..=MAX_DISK, format_size)?;
    let hibernate_after = check_idle_timeout("--hibernate-after", options.hibernate_after)?;
    let timeout = check_idle_timeout("--session-timeout", options.session_timeout)?;
    let data_dir = || directories::data(environment.xdg_data_home.clone(), environment.home.clone());
    let data_dir = temporary.map(Path::to_owned).or_else(|| options.data_dir.clone()).or_else(data_dir);
    let Some(data_dir) = data_dir else { return Ok(None) };
    let mut settings = SessionSettings::new(data_dir);
    settings.limits = runner.limits;
    settings.grants = runner.grants.clone();
    let inputs: Vec<(String, PathBuf)> =
        options.input_dir.iter().map(|text| input_dir(text)).collect::<Result<_, _>>()?;
    settings.inputs = InputDirs::open(inputs.iter().map(|(name, path)| (name.as_str(), path.as_path())))
        .map_err(|error| format!("`--input-dir`: {error}"))?;
    settings.max_concurrent = runner.max_concurrent;
    settings.when_full = runner.when_full;
    settings.max_live = max_live;
    settings.max_sessions = max_sessions;
    settings.max_disk_bytes = max_disk_bytes;
    settings.hibernate_after = hibernate_after;
    settings.timeout = timeout;
    settings.durability = match options.durability {
        DurabilityArg::Shutdown => Durability::Shutdown,
        DurabilityArg::Cell => Durability::Cell,
    };
    Ok(Some(settings))
}

/// Parses `[NAME=]DIR`. A path that contains `=` is written `=DIR`.
fn input_dir(text: &OsStr) -> Result<(String, PathBuf), String> {
    let bytes = text.as_bytes();
    let Some(split) = bytes.iter().position(|&byte| byte == b'=') else { return Ok((String::new(), text.into())) };
    let (name, path) = (&bytes[..split], OsStr::from_bytes(&bytes[split + 1..]));
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let name = std::str::from_utf8(name).ok().filter(|name| name.bytes().all(|byte| fits(&byte)) && *name != "..");
    let name = name.filter(|name| *name != "." && name.len() <= MAX_INPUT_NAME);
    let name =
        name.ok_or("`--input-dir`: a name consists of letters, digits, `-`, `_` and `.`; write `=DIR` for a path that contains `=`")?;
    Ok((name.to_owned(), path.into()))
}

/// Returns the default of `--max-live-sessions`: as many as the host has memory for.
fn default_live() -> usize {
    let host = rustix::system::sysinfo();
    let bytes = host.totalram.saturating_mul(u64::from(host.mem_unit));
    usize::try_from(bytes / MEMORY_PER_LIVE).unwrap_or(usize::MAX).clamp(2, DEFAULT_LIVE)
}
