//! URI templates (RFC 6570): simple and reserved expansion, paths and queries, matched backwards.
//!
//! `{name}` matches one segment or a part of one, `{+name}` also slashes, and `{/name}` a segment with its slash.
//! `{?a,b}` (or `{&a,b}`), at the end, matches query parameters, which may be missing and come in any order. Values are
//! percent-decoded. A value never leaves its place in the template: a segment `..`, a backslash and NUL do not match. A
//! value has slashes for `{+name}` only. So a path that a handler makes of it stays below the place where the template
//! puts it.

use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;

/// The longest URI that is matched, in bytes.
const MAX_URI: usize = 16 * 1024;

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Literal(String),
    Variable { name: String, slashes: bool },
    Query(Vec<String>),
}

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<TemplatePart>,
}

/// The decoded variables of a matched URI.
pub(crate) type Variables = BTreeMap<String, String>;

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// Returns a text if it does not parse.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            let end = rest[start..].find('}').ok_or_else(|| format!("`{text}`: a `{{` without its `}}`"))? + start;
            if matches!(parts.last(), Some(TemplatePart::Query(_))) {
                return Err(format!("`{text}`: nothing may follow the query"));
            }
            let mut literal = rest[..start].to_owned();
            let expression = &rest[start + 1..end];
            let (operator, names) = match expression.chars().next() {
                Some(operator @ ('+' | '/' | '?' | '&')) => (Some(operator), &expression[1..]),
                _ => (None, expression),
            };
            let names: Vec<String> = names.split(',').map(str::to_owned).collect();
            for name in &names {
                let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if name.is_empty() || !name.chars().all(fits) {
                    return Err(format!(
                        "`{text}`: `{{{expression}}}` is not understood; use {{name}}, {{+name}}, {{/name}} or {{?a,b}}"
                    ));
                }
            }
            if operator == Some('/') {
                literal.push('/');
            }
            if matches!(operator, Some('?' | '&')) {
                parts.push(TemplatePart::Literal(literal));
                parts.push(TemplatePart::Query(names));
            } else {
                let [name] = names.as_slice() else {
                    return Err(format!("`{text}`: one variable in each pair of braces, except in queries"));
                };
                if literal.is_empty() && matches!(parts.last(), Some(TemplatePart::Variable { .. })) {
                    return Err(format!("`{text}`: two variables side by side cannot be told apart"));
                }
                parts.push(TemplatePart::Literal(literal));
                parts.push(TemplatePart::Variable { name: name.clone(), slashes: operator == Some('+') });
            }
            rest = &rest[end + 1..];
        }
        if !rest.is_empty() {
            if matches!(parts.last(), Some(TemplatePart::Query(_))) {
                return Err(format!("`{text}`: nothing may follow the query"));
            }
            parts.push(TemplatePart::Literal(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// Returns whether it has variables. Without any it is a plain URI.
    pub(crate) fn has_variables(&self) -> bool {
        self.parts.iter().any(|part| !matches!(part, TemplatePart::Literal(_)))
    }

    /// Returns the variables of `uri`, if it matches the template.
    pub(crate) fn matches(&self, uri: &str) -> Option<Variables> {
        if uri.len() > MAX_URI {
            return None;
        }
        let (path, query) = match self.parts.last() {
            Some(TemplatePart::Query(_)) => uri.split_once('?').map_or((uri, ""), |(path, query)| (path, query)),
            _ => (uri, ""),
        };
        let mut variables = Variables::new();
        match_parts(&self.parts, path, query, &mut variables).then_some(variables)
    }
}

/// Matches greedily from the left, and backtracks where that fails. Literals between variables keep the number of
/// attempts below the URI's length to the power of the number of variables. [`MAX_URI`] bounds it for two long
/// variables in one segment.
fn match_parts(parts: &[TemplatePart], rest: &str, query: &str, variables: &mut Variables) -> bool {
    match parts {
        [] => rest.is_empty(),
        [TemplatePart::Literal(literal), after @ ..] => {
            rest.strip_prefix(literal.as_str()).is_some_and(|rest| match_parts(after, rest, query, variables))
        }
        [TemplatePart::Query(names), ..] => rest.is_empty() && match_query(names, query, variables),
        [TemplatePart::Variable { name, slashes }, after @ ..] => {
            let longest = if *slashes { rest.len() } else { rest.find(['/', '?', '#']).unwrap_or(rest.len()) };
            // A literal or the end follows a variable: only positions where that fits are tried.
            let next = match after {
                [TemplatePart::Literal(literal), ..] => literal.as_str(),
                _ => "",
            };
            let mut ends: Vec<usize> = if next.is_empty() {
                vec![longest]
            } else {
                rest.match_indices(next).map(|(at, _)| at).filter(|at| *at <= longest).collect()
            };
            while let Some(end) = ends.pop() {
                if end == 0 {
                    break;
                }
                let Some(value) = decoded(&rest[..end], *slashes) else { continue };
                if match_parts(after, &rest[end..], query, variables) {
                    variables.insert(name.clone(), value);
                    return true;
                }
            }
            false
        }
    }
}

fn match_query(names: &[String], query: &str, variables: &mut Variables) -> bool {
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !names.iter().any(|known| known == name) {
            return false;
        }
        match percent_decode_str(&value.replace('+', " ")).decode_utf8() {
            Ok(value) if !value.contains('\0') => variables.insert(name.to_owned(), value.into_owned()),
            _ => return false,
        };
    }
    true
}

/// Returns a decoded value, unless it would leave its place.
fn decoded(value: &str, slashes: bool) -> Option<String> {
    let value = percent_decode_str(value).decode_utf8().ok()?.into_owned();
    let leaves = value.contains('\0')
        || value.contains('\\')
        || (!slashes && value.contains('/'))
        || (slashes && value.starts_with('/'))
        || value.split('/').any(|segment| segment == "..");
    (!leaves).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        let template = Template::parse(template).expect("template");
        template.matches(uri).map(|variables| variables.into_iter().collect())
    }

    fn variables(pairs: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
        Some(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn variables_stand_for_what_the_operators_say() {
        type Case<'a> = (&'a str, &'a str, Option<&'a [(&'a str, &'a str)]>);
        let cases: &[Case<'_>] = &[
            ("users://{id}/profile", "users://42/profile", Some(&[("id", "42")])),
            ("users://{id}/profile", "users://a%20b/profile", Some(&[("id", "a b")])),
            ("users://{id}/profile", "users://4/2/profile", None),
            ("users://{id}/profile", "users:///profile", None),
            ("users://{id}", "users://42?x=1", None),
            ("file:///{+path}", "file:///a/b/c.txt", Some(&[("path", "a/b/c.txt")])),
            ("a://x{/id}", "a://x/7", Some(&[("id", "7")])),
            ("a://{x}-{y}", "a://1-2-3", Some(&[("x", "1-2"), ("y", "3")])),
            ("s://q{?a,b}", "s://q", Some(&[])),
            ("s://q{?a,b}", "s://q?b=2&a=1%2F", Some(&[("a", "1/"), ("b", "2")])),
            ("s://q{?a,b}", "s://q?c=3", None),
            ("config://app", "config://app", Some(&[])),
            ("config://app", "config://app2", None),
        ];
        for (template, uri, expected) in cases {
            assert_eq!(matched(template, uri), expected.and_then(variables), "{template} {uri}");
        }
    }

    #[test]
    fn values_that_would_leave_their_place_do_not_match() {
        for uri in ["f:///../x", "f:///a/../x", "f:///a/%2e%2e/x", "f:////etc/passwd", "f:///a%00b", "f:///a%5cb"] {
            assert_eq!(matched("f:///{+path}", uri), None, "{uri}");
        }
        for uri in ["f://%2fetc", "f://a%2fb", "f://.."] {
            assert_eq!(matched("f://{name}", uri), None, "{uri}");
        }
    }

    #[test]
    fn what_cannot_be_matched_is_refused() {
        for template in
            ["a://{", "a://{}", "a://{x}{y}", "a://{#x}", "a://{x,y}", "a://{?x}y", "a://{?x}{y}", "a://{x*}"]
        {
            assert!(Template::parse(template).is_err(), "{template}");
        }
    }

    #[test]
    fn a_long_address_is_no_trouble() {
        let uri = format!("a://{}", "-".repeat(MAX_URI - 4));
        assert_eq!(matched("a://{x}-{y}z", &uri), None);
        assert_eq!(matched("a://{x}", &format!("a://{}", "x".repeat(MAX_URI))), None);
    }
}
