//! What the command line means for sessions.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use brumate::directories;
use brumate_session::RunnerSettings;
use brumate_session::sessions::{Durability, InputDirs, SessionSettings};
use brumate_session::units::{format_duration, format_size};

use crate::cli::{DurabilityArg, Lapse, Options};
use crate::environment::{Environment, within};

/// Most sessions that are awake at the same time.
const MAX_LIVE: usize = 4096;
/// Sessions that are awake at the same time, if the host has memory enough.
const DEFAULT_LIVE: usize = 50;
/// Memory of the host, in bytes, for each session that is awake: half of it is left to other things.
const MEMORY_PER_LIVE: u64 = 128 << 20;
/// Most sessions in all.
const MAX_SESSIONS: usize = 1_000_000;
/// Most disk space of sleeping sessions.
const MAX_DISK: u64 = 1 << 50;
/// Longest time without use: ten years.
const MAX_IDLE: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);
/// Longest name of an input directory.
const MAX_INPUT_NAME: usize = 64;
/// Shortest time without use after which something happens.
const MIN_IDLE: Duration = Duration::from_secs(1);

/// A time without use; `None`: never.
///
/// # Errors
///
/// A text that says what is possible.
pub(crate) fn idle(flag: &str, lapse: Lapse) -> Result<Option<Duration>, String> {
    match lapse {
        Lapse::Never => Ok(None),
        Lapse::After(time) => within(flag, time, MIN_IDLE..=MAX_IDLE, format_duration).map(Some),
    }
}

/// What the options mean; `None` when there is no place for sessions.
///
/// # Errors
///
/// A text that says which option is wrong and what is possible.
pub(crate) fn resolve(
    options: &Options,
    runner: &RunnerSettings,
    environment: &Environment,
) -> Result<Option<SessionSettings>, String> {
    let count = |number: usize| number.to_string();
    let live = options.max_live_sessions.unwrap_or_else(default_live);
    let max_live = within("--max-live-sessions", live, 1..=MAX_LIVE, count)?;
    let max_sessions = within("--max-sessions", options.max_sessions, 1..=MAX_SESSIONS, count)?;
    let max_disk_bytes = within("--sessions-disk", options.sessions_disk, 1 << 20..=MAX_DISK, format_size)?;
    let hibernate_after = idle("--hibernate-after", options.hibernate_after)?;
    let timeout = idle("--session-timeout", options.session_timeout)?;
    let data_dir = || directories::data(environment.xdg_data_home.clone(), environment.home.clone());
    let Some(data_dir) = options.data_dir.clone().or_else(data_dir) else { return Ok(None) };
    let mut settings = SessionSettings::new(data_dir);
    settings.limits = runner.limits;
    let inputs: Vec<(String, PathBuf)> =
        options.input_dir.iter().map(|text| input_dir(text)).collect::<Result<_, _>>()?;
    settings.inputs = InputDirs::open(inputs.iter().map(|(name, path)| (name.as_str(), path.as_path())))
        .map_err(|error| format!("`--input-dir`: {error}"))?;
    settings.max_concurrent = runner.max_concurrent;
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

/// Reads `[NAME=]DIR`. A directory with `=` in its path is written with one before it: `=DIR`.
fn input_dir(text: &OsStr) -> Result<(String, PathBuf), String> {
    let bytes = text.as_bytes();
    let Some(split) = bytes.iter().position(|&byte| byte == b'=') else { return Ok((String::new(), text.into())) };
    let (name, path) = (&bytes[..split], OsStr::from_bytes(&bytes[split + 1..]));
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let name = std::str::from_utf8(name).ok().filter(|name| name.bytes().all(|byte| fits(&byte)) && *name != "..");
    let name = name.filter(|name| *name != "." && name.len() <= MAX_INPUT_NAME);
    let name =
        name.ok_or("`--input-dir`: a name is letters, digits, `-`, `_` and `.`; write `=DIR` for a path with `=`")?;
    Ok((name.to_owned(), path.into()))
}

/// As many as the host has memory for.
fn default_live() -> usize {
    let host = rustix::system::sysinfo();
    let bytes = host.totalram.saturating_mul(u64::from(host.mem_unit));
    usize::try_from(bytes / MEMORY_PER_LIVE).unwrap_or(usize::MAX).clamp(2, DEFAULT_LIVE)
}
