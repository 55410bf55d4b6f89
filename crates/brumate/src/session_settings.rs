//! What the command line means for sessions.

use std::path::PathBuf;
use std::time::Duration;

use brumate_session::RunnerSettings;
use brumate_session::sessions::{Durability, SessionSettings};
use brumate_session::units::{format_duration, format_size};

use crate::cli::{DurabilityArg, Lapse, Options};
use crate::settings::{Environment, within};

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
/// Shortest time without use after which something happens.
const MIN_IDLE: Duration = Duration::from_secs(1);

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
    let idle = |flag, lapse| match lapse {
        Lapse::Never => Ok(None),
        Lapse::After(time) => within(flag, time, MIN_IDLE..=MAX_IDLE, format_duration).map(Some),
    };
    let live = options.max_live_sessions.unwrap_or_else(default_live);
    let max_live = within("--max-live-sessions", live, 1..=MAX_LIVE, count)?;
    let max_sessions = within("--max-sessions", options.max_sessions, 1..=MAX_SESSIONS, count)?;
    let max_disk_bytes = within("--sessions-disk", options.sessions_disk, 1 << 20..=MAX_DISK, format_size)?;
    let hibernate_after = idle("--hibernate-after", options.hibernate_after)?;
    let timeout = idle("--session-timeout", options.session_timeout)?;
    let Some(data_dir) = options.data_dir.clone().or_else(|| default_data_dir(environment)) else { return Ok(None) };
    let mut settings = SessionSettings::new(data_dir);
    settings.limits = runner.limits;
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

/// As many as the host has memory for.
fn default_live() -> usize {
    let host = rustix::system::sysinfo();
    let bytes = host.totalram.saturating_mul(u64::from(host.mem_unit));
    usize::try_from(bytes / MEMORY_PER_LIVE).unwrap_or(usize::MAX).clamp(2, DEFAULT_LIVE)
}

/// `brumate` in the user's data directory.
fn default_data_dir(environment: &Environment) -> Option<PathBuf> {
    let home_data = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
    let base =
        environment.xdg_data_home.clone().or_else(|| environment.home.as_ref().map(|home| home.join(home_data)))?;
    Some(base.join("brumate"))
}
