//! The text of an entry: a new one, or an old one that is changed.

use super::{Refusal, only_one, servers};
use crate::document::{Member, Value, parse};
use crate::splice::{Place, Splice, apply};
use crate::style::{Json, Style, first_on_line, indent_of};
use crate::{Client, Entry};

/// Keys of an entry for another transport, which contradict a command.
const REMOTE: [&str; 3] = ["url", "serverUrl", "headers"];

/// Returns the members of an entry.
fn members(entry: &Entry, with_type: bool) -> Vec<(String, Json)> {
    let mut members = Vec::new();
    if with_type {
        members.push(("type".to_owned(), Json::Text("stdio".to_owned())));
    }
    members.push(("command".to_owned(), Json::Text(entry.command.clone())));
    members.push(("args".to_owned(), Json::Texts(entry.args.clone())));
    members
}

/// Returns the variables of an entry.
fn variables(entry: &Entry) -> Vec<(String, Json)> {
    entry.env.iter().map(|(name, value)| (name.clone(), Json::Text(value.clone()))).collect()
}

/// Returns the value of a new entry.
pub(super) fn fresh(client: Client, entry: &Entry) -> Json {
    let mut members = members(entry, client.writes_type());
    if !entry.env.is_empty() {
        members.push(("env".to_owned(), Json::Object(variables(entry))));
    }
    Json::Object(members)
}

/// Puts an entry in the place of another server's, of which nothing stays.
pub(super) fn replace(text: &str, client: Client, style: &Style, old: &Member, entry: &Entry) -> String {
    apply(text, vec![value(text, style, old, &fresh(client, entry))])
}

/// Changes an entry of the same server. Variables and keys that the new entry lacks stay.
pub(super) fn merge(
    text: &str,
    client: Client,
    name: &str,
    style: &Style,
    old: &Member,
    entry: &Entry,
) -> Result<String, Refusal> {
    let Some(there) = old.node.members() else {
        return Ok(replace(text, client, style, old, entry));
    };
    let place = Place { text, style, object: &old.node };
    if let Some(index) = there.iter().position(|member| REMOTE.contains(&member.key.as_str())) {
        let text = apply(text, place.remove(index, ""));
        let document = parse(&text).map_err(|_| Refusal::Unsafe)?;
        let old = servers(&document, client).and_then(|servers| servers.node.member(name)).ok_or(Refusal::Unsafe)?;
        return merge(&text, client, name, style, old, entry);
    }
    let with_type = client.writes_type() || old.node.member("type").is_some();
    let mut splices = Vec::new();
    let mut missing = set(&place, members(entry, with_type), &mut splices);
    match old.node.member("env") {
        _ if entry.env.is_empty() => {}
        Some(env) if env.node.members().is_some() => {
            for (key, _) in &entry.env {
                only_one(&env.node, key)?;
            }
            let inner = Place { text, style, object: &env.node };
            let new = set(&inner, variables(entry), &mut splices);
            if !new.is_empty() {
                splices.extend(inner.append(&new, first_on_line(text, env.start).is_some()));
            }
        }
        Some(env) => splices.push(value(text, style, env, &Json::Object(variables(entry)))),
        None => missing.push(("env".to_owned(), Json::Object(variables(entry)))),
    }
    if !missing.is_empty() {
        splices.extend(place.append(&missing, first_on_line(text, old.start).is_some()));
    }
    Ok(apply(text, splices))
}

/// Sets the values of an object's members where they differ. It returns those that the object lacks.
fn set(place: &Place<'_>, members: Vec<(String, Json)>, splices: &mut Vec<Splice>) -> Vec<(String, Json)> {
    let mut missing = Vec::new();
    for (key, json) in members {
        match place.object.member(&key) {
            Some(member) if equal(&member.node.value, &json) => {}
            Some(member) => splices.push(value(place.text, place.style, member, &json)),
            None => missing.push((key, json)),
        }
    }
    missing
}

/// Returns true if a value is what would be written.
fn equal(value: &Value, json: &Json) -> bool {
    match (value, json) {
        (Value::Text(there), Json::Text(text)) => there == text,
        (Value::Texts(there), Json::Texts(texts)) => there == texts,
        _ => false,
    }
}

/// Puts another value in a member's place.
fn value(text: &str, style: &Style, member: &Member, json: &Json) -> Splice {
    let lines = first_on_line(text, member.start).is_some();
    let new = if lines { style.lines(json, indent_of(text, member.start)) } else { style.line(json) };
    Splice { at: member.node.range.clone(), text: new }
}
