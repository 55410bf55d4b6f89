//! A client's configuration file, into which entries are put.

use std::path::PathBuf;
use std::time::Duration;

use crate::change::Change;
use crate::document::position;
use crate::entry::is_name;
use crate::file::{Contents, Replacement, back_up, backup_path, drop_backup, read, resolve};
use crate::record::{Installed, Record, RecordFile};
use crate::servers::{Edited, NewEntry, Refusal, put, take};
use crate::{Client, Entry, InstallError};

/// Most tries to replace a file that other programs change meanwhile.
const MAX_TRIES: usize = 10;

/// The byte order mark with which some programs begin a UTF-8 file.
const MARK: &str = "\u{feff}";

/// A client's configuration file.
///
/// All methods wait for other Brumates that change the same file, and give up after ten seconds. What other programs change meanwhile is
/// kept: the file is replaced only if it is still as it was read.
///
/// The file is replaced by a new one under its name. So other hard links keep the old bytes, and what a program writes into the old file,
/// which it has open, is lost.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    client: Client,
    path: PathBuf,
    state: PathBuf,
    server: Option<String>,
    variable_option: Option<String>,
}

/// Says whether an entry may take the place of another server's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takeover {
    Allowed,
    Refused,
}

/// Says whether a change is made or only found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The change is made.
    Write,
    /// The change is found out, and nothing is written.
    DryRun,
}

/// An edit of a text, `None` for a file that does not exist.
type Edit<'a> = &'a dyn Fn(Option<&str>, &Record) -> Result<Edited, Refusal>;

impl ConfigFile {
    /// Returns the file of a client. `state` is the directory in which Brumate remembers what it has replaced; it is made when it is
    /// needed.
    pub fn new(client: Client, path: impl Into<PathBuf>, state: impl Into<PathBuf>) -> ConfigFile {
        ConfigFile { client, path: path.into(), state: state.into(), server: None, variable_option: None }
    }

    /// Sets the name by which a server is known, such as the absolute path of its file, which is one of the entry's arguments. An entry
    /// belongs to the server if Brumate has put it there under this name. The default is the whole command line.
    #[must_use]
    pub fn of_server(mut self, server: impl Into<String>) -> ConfigFile {
        self.server = Some(server.into());
        self
    }

    /// Sets the option that precedes the name of a variable in an entry's arguments, such as `--env-var`. The server gets the variables
    /// that follow this option. If variables of an older entry stay, their names stay as well.
    #[must_use]
    pub fn naming_variables(mut self, option: impl Into<String>) -> ConfigFile {
        self.variable_option = Some(option.into());
        self
    }

    /// Puts an entry into the file. A file that does not exist is made, for its owner alone; its directory is not.
    ///
    /// An entry of the same server is changed: variables and other keys that `entry` lacks stay. Another entry with this name is replaced
    /// whole, with its variables and with what the user has approved for it. It comes back when the new one is taken out, if Brumate has
    /// not put it there. Before the first change, the file's bytes are kept beside it, in a file with the extension
    /// `.brumate.bak`. If `entry` has variables, only the file's owner can read it afterwards.
    ///
    /// # Errors
    /// The file cannot be read or replaced, or is not JSON with comments, or has something else than an object where the servers are.
    /// Then it is as it was.
    pub fn install(&self, name: &str, entry: &Entry, mode: Mode) -> Result<Change, InstallError> {
        self.install_with(name, entry, (mode, Takeover::Allowed), &mut || {})
    }

    /// Puts an entry into the file as [`ConfigFile::install`] does, but replaces no other: for names that the user has not chosen.
    ///
    /// # Errors
    /// There is an entry with this name that Brumate has not put there, or that starts another server. Otherwise as for
    /// [`ConfigFile::install`].
    pub fn install_beside(&self, name: &str, entry: &Entry, mode: Mode) -> Result<Change, InstallError> {
        self.install_with(name, entry, (mode, Takeover::Refused), &mut || {})
    }

    fn install_with(
        &self,
        name: &str,
        entry: &Entry,
        (mode, takeover): (Mode, Takeover),
        before_rename: &mut dyn FnMut(),
    ) -> Result<Change, InstallError> {
        if !is_name(name) {
            return Err(InstallError::Name { name: name.to_owned() });
        }
        let server = self.server.clone().unwrap_or_else(|| entry.command_line());
        let (client, may_replace) = (self.client, takeover == Takeover::Allowed);
        let variable_option = self.variable_option.as_deref();
        let new = NewEntry { client, name, entry, server: &server, variable_option, may_replace };
        let edit = |text: Option<&str>, record: &Record| put(text, &new, record);
        self.change(name, mode, !entry.env.is_empty(), &edit, before_rename)
    }

    /// Takes an entry out of the file. The file's bytes are then what they were before the entry was put in, except for what others
    /// have changed since. An entry that was replaced is back, and a file that did not exist is gone.
    ///
    /// # Errors
    /// There is no such entry, or it is not one of Brumate's: Brumate has not put it there, and its command is another. Otherwise as for
    /// [`ConfigFile::install`].
    pub fn remove(&self, name: &str, mode: Mode) -> Result<Change, InstallError> {
        let edit = |text: Option<&str>, record: &Record| take(text, self.client, name, None, record);
        self.change(name, mode, false, &edit, &mut || {})
    }

    /// Takes out the entry that Brumate has put there for the server ([`ConfigFile::of_server`]), as [`ConfigFile::remove`] does. Returns its
    /// name.
    ///
    /// # Errors
    /// There is no such entry, or more than one, or somebody has changed what it starts. Otherwise as for [`ConfigFile::remove`].
    pub fn remove_server(&self, mode: Mode) -> Result<(String, Change), InstallError> {
        let name = self.name_of_server()?;
        let server = self.server.as_deref();
        let edit = |text: Option<&str>, record: &Record| take(text, self.client, &name, server, record);
        let change = self.change(&name, mode, false, &edit, &mut || {})?;
        Ok((name, change))
    }

    /// Returns the name under which Brumate has put the server there.
    fn name_of_server(&self) -> Result<String, InstallError> {
        let target = resolve(&self.path)?;
        let record = RecordFile::new(&self.state, &target).load()?;
        let is_its = |installed: &Installed| installed.server.is_some() && installed.server == self.server;
        let entries = record.entries.into_iter().filter(|(_, installed)| is_its(installed));
        let names: Vec<String> = entries.map(|(name, _)| name).collect();
        match names.as_slice() {
            [name] => Ok(name.clone()),
            [] => Err(InstallError::NoServer { file: self.path.clone() }),
            _ => Err(InstallError::SeveralEntries { file: self.path.clone(), names }),
        }
    }

    /// Edits the file until it was not changed by others meanwhile.
    fn change(
        &self,
        name: &str,
        mode: Mode,
        private: bool,
        edit: Edit<'_>,
        before_rename: &mut dyn FnMut(),
    ) -> Result<Change, InstallError> {
        for attempt in 0..MAX_TRIES {
            if attempt > 0 {
                std::thread::sleep(Duration::from_millis(10 * attempt as u64));
            }
            let target = resolve(&self.path)?;
            let records = RecordFile::new(&self.state, &target);
            let lock = if mode == Mode::Write { Some(records.lock()?) } else { None };
            let record = records.load()?;
            let old = read(&target)?;
            let (edited, before) = self.edit(old.as_ref(), name, &record, edit)?;
            let after = edited.text.clone();
            let mut change = Change {
                action: edited.action,
                client: self.client,
                tightened: private && after != before && old.as_ref().is_some_and(|old| old.mode & 0o077 != 0),
                file: target,
                backup: None,
                before,
                after,
                strict: edited.strict,
            };
            if change.before != change.after && old.as_ref().is_some_and(|old| old.mode & 0o222 == 0) {
                return Err(InstallError::ReadOnly { file: change.file });
            }
            if mode == Mode::DryRun {
                return Ok(change);
            }
            let written = self.write(&mut change, old.as_ref(), &edited, &records, private, before_rename);
            if matches!(written, Ok(true)) {
                drop(lock);
                return Ok(change);
            }
            // The record was written for an edit that was not made.
            records.save(&record)?;
            written?;
        }
        Err(InstallError::Changed { file: self.path.clone(), attempts: MAX_TRIES, client: self.client.title() })
    }

    /// Edits a file's text. Returns what becomes of it, and the text.
    fn edit(
        &self,
        old: Option<&Contents>,
        name: &str,
        record: &Record,
        edit: Edit<'_>,
    ) -> Result<(Edited, Option<String>), InstallError> {
        let bytes = old.map(|old| old.bytes.as_slice()).unwrap_or_default();
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let (line, column) = position(bytes, error.valid_up_to());
            InstallError::NotUtf8 { file: self.path.clone(), line, column }
        })?;
        let body = text.strip_prefix(MARK).unwrap_or(text);
        let mark = &text[..text.len() - body.len()];
        let mut edited = edit(old.map(|_| body), record).map_err(|refusal| self.error(body, name, refusal))?;
        edited.text = edited.text.map(|edited| format!("{mark}{edited}"));
        Ok((edited, old.map(|_| text.to_owned())))
    }

    /// Replaces the file and writes the record. Returns false if the file was changed meanwhile.
    fn write(
        &self,
        change: &mut Change,
        old: Option<&Contents>,
        edited: &Edited,
        records: &RecordFile,
        private: bool,
        before_rename: &mut dyn FnMut(),
    ) -> Result<bool, InstallError> {
        let installs = !edited.action.removes();
        if installs {
            // First: a record without its entry is forgotten, but an entry without its record could not be undone.
            records.save(&edited.record)?;
        }
        if change.before != change.after {
            if let Some(old) = old.filter(|old| installs && !old.bytes.is_empty())
                && back_up(&self.path, old)?
            {
                change.backup = Some(backup_path(&self.path));
            }
            let new = change.after.as_deref().map(str::as_bytes);
            let replacement = Replacement { path: &self.path, target: &change.file, old, new, private };
            if !replacement.make(before_rename)? {
                return Ok(false);
            }
        }
        if !installs {
            records.save(&edited.record)?;
            if edited.record.entries.is_empty() {
                drop_backup(&self.path, change.after.as_deref().map(str::as_bytes));
            }
        }
        Ok(true)
    }

    /// Returns the error of a refusal, with lines and columns.
    fn error(&self, text: &str, name: &str, refusal: Refusal) -> InstallError {
        let file = self.path.clone();
        let place = |at| position(text.as_bytes(), at);
        match refusal {
            Refusal::Syntax(fault) => {
                let (line, column) = place(fault.at);
                InstallError::Syntax { file, line, column, reason: fault.reason }
            }
            Refusal::NotAnObject { at, what } => {
                let (line, column) = place(at);
                InstallError::NotAnObject { file, line, column, what }
            }
            Refusal::Duplicate { first, at, key } => {
                let (line, column) = place(at);
                InstallError::Duplicate { file, key, line, column, first: place(first).0 }
            }
            Refusal::NoEntry => InstallError::NoEntry { file, name: name.to_owned() },
            Refusal::Taken => InstallError::Taken { file, name: name.to_owned() },
            Refusal::NotOurs => InstallError::NotOurs { file, name: name.to_owned(), client: self.client.title() },
            Refusal::Unsafe => InstallError::Unsafe { file },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn entry() -> Entry {
        Entry { command: "brumate".to_owned(), args: vec![], env: vec![("A".to_owned(), "1".to_owned())] }
    }

    #[test]
    fn what_is_changed_before_the_rename_is_kept() {
        let home = tempfile::tempdir().expect("made");
        let path = home.path().join("c.json");
        let file = ConfigFile::new(Client::Cursor, &path, home.path().join("state"));
        let changes: [(&str, &dyn Fn()); 4] = [
            ("written", &|| fs::write(&path, "{\"theirs\": 2}").expect("written")),
            ("removed", &|| fs::remove_file(&path).expect("removed")),
            ("linked", &|| {
                fs::write(home.path().join("d.json"), "{\"theirs\": 2}").expect("written");
                fs::remove_file(&path).expect("removed");
                std::os::unix::fs::symlink("d.json", &path).expect("linked");
            }),
            ("made", &|| fs::write(&path, "{\"theirs\": 2}").expect("written")),
        ];
        for (what, change) in changes {
            let _ = fs::remove_file(&path);
            if what != "made" {
                fs::write(&path, "{\"theirs\": 1}").expect("written");
            }
            let mut calls = 0;
            let mut once = || {
                calls += 1;
                if calls == 1 {
                    change();
                }
            };
            file.install_with("n", &entry(), (Mode::Write, Takeover::Refused), &mut once).expect(what);
            assert_eq!(calls, 2, "{what}: it was tried again");
            let text = fs::read_to_string(&path).expect("there");
            assert_eq!(text.contains("\"theirs\": 2"), what != "removed", "{what}: {text}");
            assert!(text.contains("\"n\": {"), "{what}: {text}");
            file.remove("n", Mode::Write).expect(what);
            let left = fs::read_to_string(&path).ok();
            assert_eq!(left.as_deref(), (what != "removed").then_some("{\"theirs\": 2}"), "{what}");
        }
    }

    #[test]
    fn a_file_that_never_rests_is_given_up() {
        let home = tempfile::tempdir().expect("made");
        let path = home.path().join("c.json");
        let file = ConfigFile::new(Client::ClaudeCode, &path, home.path().join("state"));
        fs::write(&path, "{}").expect("written");
        let mut number = 0;
        let mut change = || {
            number += 1;
            fs::write(&path, format!("{{\"number\": {number}}}")).expect("written");
        };
        let error = file
            .install_with("n", &entry(), (Mode::Write, Takeover::Allowed), &mut change)
            .expect_err("never the same");
        assert!(
            error.to_string().ends_with("changed it 10 times meanwhile. Close Claude Code, then try again"),
            "{error}"
        );
        assert_eq!((number, fs::read_to_string(&path).expect("there").as_str()), (10, "{\"number\": 10}"));
        let names = fs::read_dir(home.path()).expect("there").map(|file| file.expect("read").file_name());
        assert!(!names.into_iter().any(|name| name.to_string_lossy().starts_with(".brumate-")), "no temporary file");
        let target = resolve(&path).expect("there");
        assert!(RecordFile::new(&file.state, &target).load().expect("read").entries.is_empty());
    }
}
