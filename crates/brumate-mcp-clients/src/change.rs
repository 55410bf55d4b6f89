//! The description of a change of a configuration file.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::Client;
use crate::document::{Node, parse};
use crate::servers::Action;
use crate::splice::{Splice, apply};
use crate::style::escaped;

/// Longest line of a diff, in characters.
const MAX_DIFF_LINE: usize = 160;

/// A change of a configuration file: one that was made, or one that a dry run has found out. `Debug` and [`Change::diff`] show no value of
/// a variable.
#[derive(Clone, PartialEq, Eq)]
pub struct Change {
    pub(crate) action: Action,
    pub(crate) client: Client,
    pub(crate) file: PathBuf,
    pub(crate) backup: Option<PathBuf>,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    pub(crate) strict: bool,
    pub(crate) tightened: bool,
}

impl Change {
    /// Returns what was done to the entry.
    pub fn action(&self) -> Action {
        self.action
    }

    /// Returns the file. Symbolic links are followed.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the file with the bytes from before, if this change has made it.
    pub fn backup(&self) -> Option<&Path> {
        self.backup.as_deref()
    }

    /// Returns the file's new text, with the values of variables. `None`: the file is removed.
    pub fn text(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// Returns true if others than the owner could read the file before and cannot now, because the entry has variables.
    pub fn tightened(&self) -> bool {
        self.tightened
    }

    /// Returns true if the file has comments or trailing commas, and the client documents JSON without them. It may not read the file.
    pub fn has_comments_for_a_strict_client(&self) -> bool {
        !self.strict && self.after.is_some() && !self.client.reads_comments()
    }

    /// Returns the lines that change: old ones after `-`, new ones after `+`. Values of variables are shown as `…`, long lines
    /// are cut.
    pub fn diff(&self) -> String {
        let hide = |text: &Option<String>| text.as_deref().map(|text| hidden(text, self.client)).unwrap_or_default();
        let (before, after) = (hide(&self.before), hide(&self.after));
        let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
        let same = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
        let (before, after) = (&before[same..], &after[same..]);
        let end = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
        let (before, after) = (&before[..before.len() - end], &after[..after.len() - end]);
        // Of a file on one line, what is the same at the beginning of the line is left out.
        let skipped = match (before, after) {
            ([one], [other]) if one.len().max(other.len()) > MAX_DIFF_LINE => same_start(one, other),
            _ => 0,
        };
        let mut diff = String::new();
        for (sign, lines) in [('-', before), ('+', after)] {
            for line in lines {
                let line = &line[skipped..];
                let less = if skipped > 0 { "…" } else { "" };
                let cut: String = line.chars().take(MAX_DIFF_LINE).collect();
                let more = if cut.len() < line.len() { "…" } else { "" };
                let visible: Vec<String> = cut.split('\t').map(escaped).collect();
                let _ = writeln!(diff, "{sign}{less}{}{more}", visible.join("\t"));
            }
        }
        diff
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change")
            .field("action", &self.action)
            .field("client", &self.client)
            .field("file", &self.file)
            .field("backup", &self.backup)
            .field("tightened", &self.tightened)
            .finish_non_exhaustive()
    }
}

/// Returns how many bytes two lines have in common at their beginnings, in whole characters.
fn same_start(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).map(|(char, _)| char.len_utf8()).sum()
}

/// Replaces the values of all servers' variables by `…`. A text that cannot be read is hidden whole.
fn hidden(text: &str, client: Client) -> String {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Ok(document) = parse(body) else { return "…".to_owned() };
    let mut splices = Vec::new();
    let servers = document.root.as_ref().and_then(|root| root.member(client.key()));
    for server in servers.and_then(|servers| servers.node.members()).unwrap_or_default() {
        for env in server.node.members().unwrap_or_default().iter().filter(|member| member.key == "env") {
            hide(&env.node, &mut splices);
        }
    }
    apply(body, splices)
}

/// Hides the values of variables.
fn hide(env: &Node, splices: &mut Vec<Splice>) {
    let all = || vec![Splice { at: env.range.clone(), text: "…".to_owned() }];
    let values = |node: &Node| Splice { at: node.range.clone(), text: "\"…\"".to_owned() };
    match env.members() {
        Some(members) => splices.extend(members.iter().map(|member| values(&member.node))),
        None => splices.extend(all()),
    }
}
