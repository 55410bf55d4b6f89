//! An entry put into a text.

use super::entry_text::{fresh, merge, replace};
use super::{Action, Edited, Refusal, arguments, command, live, only_one, read, same_elsewhere, servers};
use crate::document::{Member, Node, parse};
use crate::record::{Installed, MadeRoot, Record};
use crate::splice::{Place, apply, tail};
use crate::style::{Json, Style, first_on_line};
use crate::{Client, Entry};

/// An entry that is to be put in.
pub(crate) struct NewEntry<'a> {
    pub(crate) client: Client,
    pub(crate) name: &'a str,
    pub(crate) entry: &'a Entry,
    /// Server that the entry starts.
    pub(crate) server: &'a str,
    /// Option before the names of variables in its arguments.
    pub(crate) variable_option: Option<&'a str>,
    /// Whether it may take the place of an entry that starts something else.
    pub(crate) may_replace: bool,
}

impl NewEntry<'_> {
    /// Returns whether an entry starts the same server: it has the same command line, or Brumate has put it there for this server, and
    /// nobody has changed which one it starts.
    fn is_same(&self, old: &Member, known: Option<&Installed>) -> bool {
        let entry = self.entry;
        let same_line = command(old) == Some(entry.command.as_str()) && arguments(old) == entry.args;
        let known = known.is_some_and(|known| known.server.as_deref() == Some(self.server));
        same_line || (known && arguments(old).iter().any(|word| word == self.server))
    }
}

/// Returns the variables of an older entry that its arguments name after `option`, and that the new one lacks.
fn kept_variables<'a>(old: &'a Member, entry: &'a Entry, option: &'a str) -> Vec<&'a str> {
    let variables = old.node.member("env").and_then(|env| env.node.members()).unwrap_or_default();
    let named =
        |words: &'a [String]| words.windows(2).filter(move |words| words[0] == option).map(|words| words[1].as_str());
    let mut names: Vec<&str> = Vec::new();
    for name in named(arguments(old)) {
        let stays = variables.iter().any(|variable| variable.key == name) && !named(&entry.args).any(|new| new == name);
        if stays && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Puts an entry into a text. `None` is a file that does not exist.
pub(crate) fn put(text: Option<&str>, new: &NewEntry<'_>, record: &Record) -> Result<Edited, Refusal> {
    let NewEntry { client, name, entry, server, variable_option, may_replace } = *new;
    let before = text.unwrap_or_default();
    let document = read(before, client, name)?;
    let style = Style::of(before, document.root.as_ref());
    let mut record = live(record, &document, client);
    let old = servers(&document, client).and_then(|servers| servers.node.member(name));
    let known = record.entries.get(name);
    // With one of these twice it is unknown what the entry starts.
    if let Some(old) = old {
        ["type", "command", "args", "env"].into_iter().try_for_each(|key| only_one(&old.node, key))?;
    }
    let same = old.is_some_and(|old| new.is_same(old, known));
    if old.is_some() && !may_replace && !(same && known.is_some()) {
        return Err(Refusal::Taken);
    }
    let with_names = match (old, variable_option) {
        (Some(old), Some(option)) if same => Some(entry.with_names(option, &kept_variables(old, entry, option))),
        _ => None,
    };
    let entry = with_names.as_ref().unwrap_or(entry);
    let replaced = match (known, old) {
        (Some(known), _) => known.replaced.clone(),
        (None, old) => old.map(|old| before[old.node.range.clone()].to_owned()),
    };
    let (known, had) = (known.is_some(), old.is_some());
    let after = match (&document.root, servers(&document, client), old) {
        (_, _, Some(old)) if same => merge(before, client, name, &style, old, entry)?,
        // Approvals, variables and settings of another server are not this one's.
        (_, _, Some(old)) => replace(before, client, &style, old, entry),
        (_, Some(servers), None) => {
            let place = Place { text: before, style: &style, object: &servers.node };
            if servers.node.members().is_some_and(<[Member]>::is_empty) {
                record.made.key_rest = Some(before[tail(before, &servers.node.range)].to_owned());
            }
            let open = first_on_line(before, servers.start).is_some() || spans_lines(before, &servers.node);
            apply(before, place.append(&[(name.to_owned(), fresh(client, entry))], open))
        }
        (Some(root), None, None) => {
            record.made.key = true;
            let empty = root.members().is_some_and(<[Member]>::is_empty);
            if empty {
                record.made.root_rest = Some(before[tail(before, &root.range)].to_owned());
            }
            apply(
                before,
                Place { text: before, style: &style, object: root }.append(&[whole(client, name, entry)], empty),
            )
        }
        (None, ..) => {
            record.made.file = text.is_none();
            record.made.key = true;
            let (root, whole) = new_root(before, &style, whole(client, name, entry));
            record.made.root = Some(root);
            whole
        }
    };
    let action = match (same, had) {
        _ if text == Some(after.as_str()) => Action::Unchanged,
        (true, _) => Action::Updated,
        (false, true) => Action::Replaced,
        (false, false) => Action::Added,
    };
    // An entry that was there already has replaced none.
    if known || action != Action::Unchanged {
        record.entries.insert(
            name.to_owned(),
            Installed { command: entry.command.clone(), server: Some(server.to_owned()), replaced },
        );
    }
    let checked = parse(&after).map_err(|_| Refusal::Unsafe)?;
    let written = servers(&checked, client).and_then(|servers| servers.node.member(name)).and_then(command);
    if written != Some(entry.command.as_str()) || !same_elsewhere(before, &document, &after, &checked, client, name) {
        return Err(Refusal::Unsafe);
    }
    let strict = document.strict || document.root.is_none() && checked.strict;
    if strict && !checked.strict {
        return Err(Refusal::Unsafe);
    }
    Ok(Edited { action, text: Some(after), record, strict })
}

/// Returns true if a value is on more than one line.
fn spans_lines(text: &str, node: &Node) -> bool {
    text[node.range.clone()].contains(['\n', '\r'])
}

/// Returns the root object for a text without a value, and the text with it.
fn new_root(text: &str, style: &Style, member: (String, Json)) -> (MadeRoot, String) {
    let root = style.lines(&Json::Object(vec![member]), "");
    let is_space = text.chars().all(char::is_whitespace);
    let (blank, kept) = if is_space { (text, "") } else { ("", text) };
    let before = if kept.is_empty() || kept.ends_with('\n') { "" } else { style.line_end };
    let whole = format!("{kept}{before}{root}{}", style.line_end);
    let made = MadeRoot { before: before.to_owned(), behind: style.line_end.to_owned(), blank: blank.to_owned() };
    (made, whole)
}

/// Returns the key of the servers with an object that has one entry.
fn whole(client: Client, name: &str, entry: &Entry) -> (String, Json) {
    (client.key().to_owned(), Json::Object(vec![(name.to_owned(), fresh(client, entry))]))
}
