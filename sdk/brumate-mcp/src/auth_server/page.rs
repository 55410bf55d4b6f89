//! The HTML of pages for people.

use super::error::OAuthError;
use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, StatusCode};
use url::Url;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:30em;margin:10vh auto;padding:0 1em;color:#222}\
    main{border:1px solid #ccc;border-radius:8px;padding:1.5em}h1{font-size:1.3em;margin-top:0}\
    label{display:block;margin:.5em 0}input{font:inherit;width:100%;box-sizing:border-box;padding:.3em}\
    button{font:inherit;padding:.4em 1.2em;margin:1em .5em 0 0}code{background:#eee;padding:0 .3em;word-break:break-all}\
    .warning{color:#a33}";

/// The destination of an answer.
pub(super) struct Destination {
    /// Text on the page: the host, or the scheme of an application.
    pub(super) shown: String,
    /// A sentence for people, if it is no host on the internet.
    pub(super) warning: Option<&'static str>,
    /// The source expression of a content security policy.
    pub(super) source: String,
}

impl Destination {
    /// Reads a redirect URI. Only `http` and `https` URIs name a host. For other schemes only the scheme is shown.
    pub(super) fn of(uri: &str) -> Self {
        let Ok(url) = Url::parse(uri) else {
            return Self { shown: "nowhere".to_owned(), warning: None, source: "'none'".to_owned() };
        };
        match (url.scheme(), url.host_str()) {
            ("https" | "http", Some(host)) => {
                let shown = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
                let warning = "That is a program on this device; nobody can tell which.";
                let source = url.origin().ascii_serialization();
                Self { shown, warning: (url.scheme() == "http").then_some(warning), source }
            }
            (scheme, _) => {
                let warning =
                    "That is an application on this device which has claimed this scheme; nobody can tell which.";
                Self { shown: format!("{scheme}:"), warning: Some(warning), source: format!("{scheme}:") }
            }
        }
    }
}

/// Returns a page for the error of an authorization request whose client nobody has checked. A redirect would make the server send browsers
/// wherever a client has registered (RFC 9700, section 4.11.2): the person decides.
pub(super) fn offer(error: &OAuthError, back: &Url) -> Response {
    let destination = Destination::of(back.as_str());
    let body = format!(
        "<h1>This request for access cannot be answered</h1><p>{}</p>\
         <p>The application has registered itself; nobody has checked it. Go back to it only if you have just come from there: \
         <a href=\"{}\" rel=\"noreferrer nofollow\">{}</a></p>",
        escape(error.description()),
        escape(back.as_str()),
        escape(&destination.shown)
    );
    html(StatusCode::BAD_REQUEST, &body, "'none'")
}

/// Returns a page that names a problem.
#[cfg(feature = "sqlite")]
pub(super) fn problem(status: StatusCode, text: &str) -> Response {
    html(status, &format!("<h1>This does not work</h1><p>{}</p>", escape(text)), "'none'")
}

pub(super) fn html(status: StatusCode, body: &str, form_action: &str) -> Response {
    let nonce = crate::random_id();
    let text = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>Access</title><style nonce={nonce}>{STYLE}</style><main>{body}</main></html>"
    );
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; form-action {form_action}; frame-ancestors 'none'; base-uri 'none'"
    );
    let mut response = (status, text).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // With `no-referrer`, browsers send a form's origin as `null`.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Escapes a text for HTML, in elements and in attributes with quotes. Characters that nobody sees, or that change the direction of
/// writing, are replaced.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            hidden if is_hidden(hidden) => escaped.push(char::REPLACEMENT_CHARACTER),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Returns whether a character is a control character, or invisible, or changes the direction of writing. Joiners are not hidden: some scripts need them.
pub(super) fn is_hidden(character: char) -> bool {
    let is_format = matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    is_format || character.is_control()
}

/// Returns whether a character leaves no mark by itself: spaces, joiners, fillers and selectors of variants.
pub(super) fn is_blank(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{200c}' | '\u{200d}' | '\u{2800}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strangers_name_is_text() {
        assert_eq!(escape("<b a='x' c=\"&\">"), "&lt;b a=&#39;x&#39; c=&quot;&amp;&quot;&gt;");
        assert_eq!(escape("a\u{202e}b\u{2066}\u{200b}\u{7}é"), "a\u{fffd}b\u{fffd}\u{fffd}\u{fffd}é");
    }

    #[test]
    fn a_destination_is_a_host_only_where_the_scheme_has_hosts() {
        for (uri, shown, source, warns) in [
            ("https://a.example/x", "a.example", "https://a.example", false),
            ("https://a.example:8443/x", "a.example:8443", "https://a.example:8443", false),
            ("http://127.0.0.1:7/x", "127.0.0.1:7", "http://127.0.0.1:7", true),
            ("com.example.app:/x", "com.example.app:", "com.example.app:", true),
            ("com.example.app://accounts.google.com/x", "com.example.app:", "com.example.app:", true),
            ("cursor://your-bank.example/x", "cursor:", "cursor:", true),
            ("/x", "nowhere", "'none'", false),
        ] {
            let found = Destination::of(uri);
            assert_eq!(
                (found.shown.as_str(), found.source.as_str(), found.warning.is_some()),
                (shown, source, warns),
                "{uri}"
            );
        }
    }
}
