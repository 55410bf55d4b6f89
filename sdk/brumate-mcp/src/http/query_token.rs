//! Tokens in the query of a request, for clients that can send no header.

use http::Uri;
use http::uri::PathAndQuery;
use percent_encoding::percent_decode_str;

/// Removes a parameter from the query of a URI. Returns its values, decoded.
pub(crate) fn take(name: &str, uri: &mut Uri) -> Vec<String> {
    let Some(query) = uri.query() else { return Vec::new() };
    let named = |pair: &&str| pair.split_once('=').map_or(*pair, |(key, _)| key) == name;
    let (tokens, rest): (Vec<&str>, Vec<&str>) = query.split('&').partition(named);
    if tokens.is_empty() {
        return Vec::new();
    }
    let values = tokens.iter().filter_map(|pair| pair.split_once('=')).map(|(_, value)| {
        // In a query, `+` is a space; no token has one.
        percent_decode_str(value).decode_utf8_lossy().into_owned()
    });
    let values = values.collect();
    let question = if rest.is_empty() { "" } else { "?" };
    let target = format!("{}{question}{}", uri.path(), rest.join("&"));
    let mut parts = std::mem::take(uri).into_parts();
    // These are parts of the old target, so they are valid.
    parts.path_and_query = PathAndQuery::try_from(target).ok();
    *uri = Uri::from_parts(parts).unwrap_or_default();
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_is_taken_out_of_the_query() {
        for (text, tokens, rest) in [
            ("/a", &[][..], "/a"),
            ("/a?b=1", &[], "/a?b=1"),
            ("/a?token=x", &["x"], "/a"),
            ("/a?b=1&token=x%2Dy&c", &["x-y"], "/a?b=1&c"),
            ("/a?token=x&token=y", &["x", "y"], "/a"),
            ("/a?token", &[], "/a"),
            ("/a?tokens=x", &[], "/a?tokens=x"),
            ("http://h.example:1/a?token=x", &["x"], "http://h.example:1/a"),
        ] {
            let mut uri: Uri = text.parse().expect("a URI");
            assert_eq!(take("token", &mut uri), tokens, "{text}");
            assert_eq!(uri.to_string(), rest);
        }
    }
}
