//! `brumate sessions`: lists, removes, backs up and restores the sessions in a data directory.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brumate_engine::client;
use brumate_notebook::OutputPolicy;
use brumate_session::sessions::{
    BACKUP_TIMEOUT, Backup, LOCAL_PRINCIPAL, SessionError, SessionRecord, SessionSettings, Sessions, notebook_of,
};
use brumate_session::units::format_size;
use futures::StreamExt as _;
use serde_json::{Value, json};

use super::notebook::write_notebook;
use super::{print, print_error};
use crate::cli::{SessionsAction, SessionsArgs, SessionsExportArgs};
use crate::exit_status;
use crate::sandbox::sandbox;
use crate::settings::Settings;

pub(crate) async fn run(settings: &Settings, arguments: &SessionsArgs) -> anyhow::Result<u8> {
    // `Settings::resolve` fails without a data directory.
    let Some(sessions) = &settings.sessions else { return Ok(exit_status::USAGE) };
    let result = match &arguments.action {
        SessionsAction::List { json } => list(sessions, *json),
        SessionsAction::Remove { all, ids } => remove(settings, sessions, *all, ids).await?,
        SessionsAction::Export(arguments) => return export(sessions, arguments),
        SessionsAction::Backup { directory } => backup(settings, sessions, directory).await,
        SessionsAction::Restore { directory } => restore(settings, sessions, directory),
    };
    match result {
        Ok(text) => {
            print(&text)?;
            Ok(exit_status::SUCCESS)
        }
        Err(reason) => {
            print_error(&format!("brumate: {reason}"));
            Ok(exit_status::FAILURE)
        }
    }
}

fn list(settings: &SessionSettings, json: bool) -> Result<String, String> {
    let records = Sessions::read_records(&settings.data_dir).map_err(|error| error.to_string())?;
    if json {
        let list: Vec<Value> = records.iter().map(as_json).collect();
        return serde_json::to_string_pretty(&list).map_err(|error| error.to_string());
    }
    if records.is_empty() {
        return Ok(format!("No sessions in {}", settings.data_dir.display()));
    }
    Ok(table(&records, SystemTime::now()))
}

fn as_json(record: &SessionRecord) -> Value {
    json!({
        "id": record.id.as_str(),
        "principal": record.principal,
        "state": record.state.as_str(),
        "note": record.note,
        "created": record.created,
        "last_used": record.last_used,
        "executions": record.executions,
        "files": record.files.len(),
        "bytes": record.file.as_ref().map_or(0, |file| file.bytes),
    })
}

fn table(records: &[SessionRecord], now: SystemTime) -> String {
    // Over standard input and output there is one principal only.
    let several = records.iter().any(|record| record.principal != LOCAL_PRINCIPAL);
    let width = records.iter().map(|record| record.principal.chars().count()).max().unwrap_or(0).max(9) + 2;
    let principal = |name: &str| if several { format!("{name:<width$}") } else { String::new() };
    let mut text = format!(
        "{:<18}{}{:<8}{:>12}{:>8}{:>8}{:>12}",
        "id",
        principal("principal"),
        "state",
        "last used",
        "cells",
        "files",
        "on disk"
    );
    for record in records {
        let bytes = record.file.as_ref().map_or_else(|| "-".to_owned(), |file| format_size(file.bytes));
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\n{:<18}{}{:<8}{:>12}{:>8}{:>8}{bytes:>12}",
            record.id.as_str(),
            principal(&record.principal.escape_debug().to_string()),
            record.state.as_str(),
            ago(record.last_used, now),
            record.executions,
            record.files.len()
        );
        if !record.note.is_empty() {
            let _ = write!(text, "  {}", record.note.replace('\n', " "));
        }
    }
    text
}

/// Returns how long ago a time was, rounded. `millis`: milliseconds since 1970.
fn ago(millis: i64, now: SystemTime) -> String {
    let then = UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    let seconds = now.duration_since(then).unwrap_or_default().as_secs();
    match seconds {
        0..120 => format!("{seconds} s ago"),
        120..7200 => format!("{} min ago", seconds / 60),
        7200..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// Sessions that are removed at the same time: one of a server that hangs delays no other.
const REMOVED_AT_ONCE: usize = 64;

async fn remove(
    settings: &Settings,
    sessions: &SessionSettings,
    all: bool,
    ids: &[String],
) -> anyhow::Result<Result<String, String>> {
    let records = match Sessions::read_records(&sessions.data_dir) {
        Ok(records) => records,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let principals: HashMap<&str, &str> =
        records.iter().map(|record| (record.id.as_str(), record.principal.as_str())).collect();
    let ids: Vec<&str> = match all {
        true => records.iter().map(|record| record.id.as_str()).collect(),
        false => ids.iter().map(String::as_str).collect(),
    };
    let engine = sandbox(settings)?.engine;
    // Sessions expire by the settings of servers, not by those of this command.
    let mut sessions = sessions.clone();
    (sessions.timeout, sessions.hibernate_after) = (None, None);
    // No session is resumed, so the sandbox is not started.
    let opened = match Sessions::open(Arc::new(engine), sessions).await {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let removals = futures::stream::iter(ids).map(|id| {
        let (opened, principal) = (&opened, principals.get(id).copied().unwrap_or(LOCAL_PRINCIPAL));
        async move { (id, opened.clear(principal, id).await) }
    });
    let (mut removed, mut kept) = (0_usize, Vec::new());
    for (id, result) in removals.buffered(REMOVED_AT_ONCE).collect::<Vec<_>>().await {
        match result {
            Ok(true) => removed += 1,
            // Its server has removed it meanwhile.
            Ok(false) if all => {}
            Ok(false) => kept.push(format!("{}: not found", id.escape_debug())),
            Err(error) => kept.push(format!("{id}: {}", reason_of(&error))),
        }
    }
    let text = format!("{removed} session{} removed", if removed == 1 { "" } else { "s" });
    let kept: String = kept.iter().map(|kept| format!("\n  {kept}")).collect();
    Ok(if kept.is_empty() { Ok(text) } else { Err(format!("{text}; not removed:{kept}")) })
}

/// Returns why a session cannot be removed, in words for operators.
fn reason_of(error: &SessionError) -> String {
    match error {
        SessionError::OwnedElsewhere { process: Some(process), reason, .. } => {
            format!("its server (process {process}): {reason}")
        }
        SessionError::OwnedElsewhere { reason, .. } => format!("its server: {reason}"),
        other => other.to_string(),
    }
}

/// Writes a session as a notebook.
fn export(sessions: &SessionSettings, arguments: &SessionsExportArgs) -> anyhow::Result<u8> {
    let failed = |reason: String| {
        print_error(&format!("brumate: {reason}"));
        Ok(exit_status::FAILURE)
    };
    let cells = match Sessions::read_cells(&sessions.data_dir, &arguments.id) {
        Ok(Some(cells)) => cells,
        Ok(None) => {
            let (id, place) = (arguments.id.escape_debug(), sessions.data_dir.display());
            return failed(format!("there is no session {id} in {place}: `brumate sessions list` lists them"));
        }
        Err(error) => return failed(error.to_string()),
    };
    let policy = if arguments.active_output { OutputPolicy::Active } else { OutputPolicy::Passive };
    let notebook = notebook_of(cells, policy, u64::MAX);
    match write_notebook(&arguments.notebook, &notebook) {
        Ok(()) => Ok(exit_status::SUCCESS),
        Err(error) => failed(format!("{} cannot be written: {error}", arguments.notebook.display())),
    }
}

/// Directory of a backup with the images that its sessions are based on.
const IMAGES: &str = "images";

async fn backup(settings: &Settings, sessions: &SessionSettings, to: &Path) -> Result<String, String> {
    let backup = Sessions::backup(&sessions.data_dir, to, BACKUP_TIMEOUT).await.map_err(|error| error.to_string())?;
    let images = client::copy_images(&backup.files, &settings.cache_dir, &to.join(IMAGES));
    let images = images.map_err(|error| format!("the images cannot be copied: {error}"))?;
    let text = summary(&backup, "copied", images);
    if backup.left_out.is_empty() {
        return Ok(text);
    }
    let left_out: String = backup.left_out.iter().map(|out| format!("\n  {}: {}", out.id, out.reason)).collect();
    Err(format!("{text}; not in the backup:{left_out}"))
}

fn restore(settings: &Settings, sessions: &SessionSettings, from: &Path) -> Result<String, String> {
    let backup = Sessions::restore_backup(from, &sessions.data_dir).map_err(|error| error.to_string())?;
    let (images, problems) = take_images(&backup, &from.join(IMAGES), &settings.cache_dir);
    let text = summary(&backup, "restored", images);
    if problems.is_empty() {
        return Ok(text);
    }
    Err(format!("{text}; images that cannot be used:{}", problems.concat()))
}

/// Gives each restored session the image that it began with, from the directory `images`, unless the cache has the same one. Only that
/// session uses it. Returns the number of sessions that got one, and a line for each whose image cannot be used.
fn take_images(backup: &Backup, images: &Path, cache_dir: &Path) -> (usize, Vec<String>) {
    let (mut count, mut problems) = (0, Vec::new());
    // One session for each image, and its copy, or why there is none.
    let mut taken: Vec<(&Path, Result<PathBuf, String>)> = Vec::new();
    for file in &backup.files {
        let Some((id, image)) = Sessions::private_image_of(file) else { continue };
        if image.exists() {
            continue;
        }
        // Files of a crash snapshot without a header are none of these.
        if !matches!(client::has_base(file, cache_dir), Ok(false)) {
            continue;
        }
        let same = taken.iter().find(|(other, _)| client::have_same_base(file, other).unwrap_or(false));
        let got = match same {
            Some((_, Ok(first))) => std::fs::hard_link(first, &image).map(|()| true).map_err(|error| error.to_string()),
            Some((_, Err(reason))) => Err(reason.clone()),
            None => {
                let got = client::take_image_from(images, file, &image).map_err(|error| error.to_string());
                if got != Ok(false) {
                    taken.push((file, got.clone().map(|_| image)));
                }
                got
            }
        };
        match got {
            Ok(found) => count += usize::from(found),
            Err(reason) => problems.push(format!("\n  {id}: {reason}")),
        }
    }
    (count, problems)
}

/// Returns the message of a backup or a restore.
fn summary(backup: &Backup, done: &str, images: usize) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    format!(
        "{} session{} {done} ({}), with {images} image{}",
        backup.sessions,
        plural(backup.sessions),
        format_size(backup.bytes),
        plural(images)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_roughly() {
        let now = UNIX_EPOCH + Duration::from_secs(10_000_000);
        for (seconds, text) in
            [(0, "0 s ago"), (119, "119 s ago"), (3600, "60 min ago"), (86_400, "24 h ago"), (864_000, "10 days ago")]
        {
            assert_eq!(ago((10_000_000 - seconds) * 1000, now), text);
        }
        assert_eq!(ago(i64::MAX, UNIX_EPOCH), "0 s ago");
    }

    #[test]
    fn an_empty_directory_has_no_sessions() {
        let directory = tempfile::tempdir().unwrap();
        let settings = SessionSettings::new(directory.path());
        assert!(list(&settings, false).unwrap().starts_with("No sessions in "));
        assert_eq!(list(&settings, true).unwrap(), "[]");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "listing creates nothing");
    }
}
