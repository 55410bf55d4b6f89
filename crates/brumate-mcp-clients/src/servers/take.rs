//! An entry taken out of a text.

use super::{Action, Edited, Refusal, arguments, command, live, read, same_elsewhere, servers};
use crate::document::{Member, Node, parse};
use crate::entry::is_brumate;
use crate::record::Record;
use crate::splice::{Place, Splice, apply};
use crate::style::Style;
use crate::{Client, Entry};

/// Takes an entry out of a text, or with `server` only if it still starts that one.
pub(crate) fn take(
    text: Option<&str>,
    client: Client,
    name: &str,
    server: Option<&str>,
    record: &Record,
) -> Result<Edited, Refusal> {
    let before = text.ok_or(Refusal::NoEntry)?;
    let document = read(before, client, name)?;
    let style = Style::of(before, document.root.as_ref());
    let mut record = live(record, &document, client);
    let there = servers(&document, client).ok_or(Refusal::NoEntry)?;
    let index = there.node.members().and_then(|members| members.iter().position(|member| member.key == name));
    let entry = index.and_then(|index| there.node.members()?.get(index)).ok_or(Refusal::NoEntry)?;
    if server.is_some_and(|server| !starts(entry, server)) {
        return Err(Refusal::NotOurs);
    }
    let installed = record.entries.remove(name);
    if installed.is_none() && !command(entry).is_some_and(is_brumate) {
        return Err(Refusal::NotOurs);
    }
    let (action, after) = match installed.and_then(|installed| installed.replaced) {
        Some(old) => (Action::Restored, Some(apply(before, vec![Splice { at: entry.node.range.clone(), text: old }]))),
        None => {
            let rest = record.made.key_rest.as_deref().unwrap_or_default();
            let place = Place { text: before, style: &style, object: &there.node };
            let left = apply(before, place.remove(index.unwrap_or_default(), rest));
            (Action::Removed, take_made(left, client, &style, &record)?)
        }
    };
    let text = after.as_deref().unwrap_or_default();
    let checked = parse(text).map_err(|_| Refusal::Unsafe)?;
    // An entry that comes back may bring its comments back.
    let may_have_comments = action == Action::Restored || checked.root.is_none() || !document.strict;
    if !(may_have_comments || checked.strict) || !same_elsewhere(before, &document, text, &checked, client, name) {
        return Err(Refusal::Unsafe);
    }
    Ok(Edited { action, text: after, record, strict: document.strict })
}

/// Returns whether an entry starts a server: one of its arguments names it, or it is the whole command line.
fn starts(entry: &Member, server: &str) -> bool {
    let (command, args) = (command(entry).unwrap_or_default().to_owned(), arguments(entry).to_vec());
    args.iter().any(|word| word == server) || Entry { command, args, env: Vec::new() }.command_line() == server
}

/// Takes out what Brumate has made around its entries, as far as it is empty now. `None`: the file is to be removed.
fn take_made(text: String, client: Client, style: &Style, record: &Record) -> Result<Option<String>, Refusal> {
    let made = &record.made;
    let document = parse(&text).map_err(|_| Refusal::Unsafe)?;
    let Some(root) = &document.root else { return Ok(Some(text)) };
    let keys = root.members().unwrap_or_default();
    let index = keys.iter().position(|member| member.key == client.key() && is_empty(&text, &member.node));
    let Some(index) = index.filter(|_| made.key) else { return Ok(Some(text)) };
    let rest = made.root_rest.as_deref().unwrap_or_default();
    let text = apply(&text, Place { text: &text, style, object: root }.remove(index, rest));
    let document = parse(&text).map_err(|_| Refusal::Unsafe)?;
    let (Some(root), Some(made_root)) = (&document.root, &made.root) else { return Ok(Some(text)) };
    if !is_empty(&text, root) {
        return Ok(Some(text));
    }
    let (head, foot) = (&text[..root.range.start], &text[root.range.end..]);
    let head = head.strip_suffix(made_root.before.as_str()).unwrap_or(head);
    let foot = foot.strip_prefix(made_root.behind.as_str()).unwrap_or(foot);
    let left = format!("{head}{foot}");
    if !left.chars().all(char::is_whitespace) {
        return Ok(Some(left));
    }
    Ok(Some(made_root.blank.clone()).filter(|_| !made.file))
}

/// Returns true for an object without members and comments.
fn is_empty(text: &str, node: &Node) -> bool {
    let inner = &text[node.range.start + 1..node.range.end - 1];
    node.members().is_some_and(<[Member]>::is_empty) && inner.chars().all(char::is_whitespace)
}
