//! The edits of a configuration file's text: an entry put in, an entry taken out.

mod entry_text;
mod put;
mod take;

pub(crate) use put::{NewEntry, put};
pub(crate) use take::take;

use crate::Client;
use crate::document::{Document, Member, Node, SyntaxFault, Value, parse};
use crate::entry::is_brumate;
use crate::record::{Installed, Record};

/// A text is not edited: the reason, with positions in bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The text is no JSON with comments.
    Syntax(SyntaxFault),
    /// A value is not an object.
    NotAnObject { at: usize, what: String },
    /// A key is there twice.
    Duplicate { first: usize, at: usize, key: String },
    /// There is no entry with this name.
    NoEntry,
    /// The entry is another program's.
    NotOurs,
    /// The name is another server's.
    Taken,
    /// The edit would have changed something else.
    Unsafe,
}

/// The effect of an edit on an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Puts in an entry under a new name.
    Added,
    /// Puts in an entry in the place of another server's, of which nothing stays. Taking it out brings that one back, if Brumate has not
    /// put it there.
    Replaced,
    /// Changes an entry of the same server.
    Updated,
    /// Changes nothing: the entry is there.
    Unchanged,
    /// Takes an entry out.
    Removed,
    /// Takes an entry out, and puts back the one that it had replaced.
    Restored,
}

impl Action {
    /// Returns true if the entry is taken out.
    pub(crate) fn removes(self) -> bool {
        matches!(self, Action::Removed | Action::Restored)
    }
}

/// A text that was edited.
pub(crate) struct Edited {
    /// Effect of the edit.
    pub(crate) action: Action,
    /// The text. `None`: the file is to be removed.
    pub(crate) text: Option<String>,
    /// New record of the file.
    pub(crate) record: Record,
    /// Whether the text was JSON in the strict sense.
    pub(crate) strict: bool,
}

/// Reads a text, and checks that the entry's place can be found.
fn read(text: &str, client: Client, name: &str) -> Result<Document, Refusal> {
    let document = parse(text).map_err(Refusal::Syntax)?;
    if let Some(root) = &document.root {
        let object = |node: &Node, what: &str| match node.members() {
            Some(_) => Ok(()),
            None => Err(Refusal::NotAnObject { at: node.range.start, what: what.to_owned() }),
        };
        object(root, "the file's value")?;
        only_one(root, client.key())?;
        if let Some(servers) = root.member(client.key()) {
            object(&servers.node, &format!("`{}`", client.key()))?;
            only_one(&servers.node, name)?;
        }
    }
    Ok(document)
}

/// Refuses an object that has a key twice.
fn only_one(object: &Node, key: &str) -> Result<(), Refusal> {
    let mut found = object.members().unwrap_or_default().iter().filter(|member| member.key == key);
    match (found.next(), found.next()) {
        (Some(first), Some(second)) => {
            Err(Refusal::Duplicate { first: first.start, at: second.start, key: key.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Returns the object of the servers.
fn servers(document: &Document, client: Client) -> Option<&Member> {
    document.root.as_ref()?.member(client.key())
}

/// Returns the command of an entry.
fn command(entry: &Member) -> Option<&str> {
    match &entry.node.member("command")?.node.value {
        Value::Text(command) => Some(command),
        _ => None,
    }
}

/// Returns the arguments of an entry.
fn arguments(entry: &Member) -> &[String] {
    match entry.node.member("args").map(|member| &member.node.value) {
        Some(Value::Texts(arguments)) => arguments,
        _ => &[],
    }
}

/// Forgets entries that are not in the file any more, and everything with the last one.
fn live(record: &Record, document: &Document, client: Client) -> Record {
    let mut record = record.clone();
    let servers = servers(document, client);
    let there = |name: &String, installed: &mut Installed| {
        let entry = servers.and_then(|servers| servers.node.member(name));
        entry.and_then(command).is_some_and(|command| command == installed.command || is_brumate(command))
    };
    record.entries.retain(there);
    if record.entries.is_empty() {
        record.made = Default::default();
    }
    record
}

/// Returns true if two texts have the same values in the same order, except for one entry.
fn same_elsewhere(before: &str, one: &Document, after: &str, other: &Document, client: Client, name: &str) -> bool {
    fn outline<'t>(text: &'t str, object: Option<&Node>, but: &str) -> Vec<(String, &'t str)> {
        let members = object.and_then(Node::members).unwrap_or_default();
        let others = members.iter().filter(|member| member.key != but);
        others.map(|member| (member.key.clone(), &text[member.node.range.clone()])).collect()
    }
    let inner = |document| servers(document, client).map(|servers| &servers.node);
    outline(before, one.root.as_ref(), client.key()) == outline(after, other.root.as_ref(), client.key())
        && outline(before, inner(one), name) == outline(after, inner(other), name)
}
