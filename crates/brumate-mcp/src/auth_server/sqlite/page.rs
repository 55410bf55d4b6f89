//! The HTML of the pages.

use super::tables::PendingAuthorization;
use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, StatusCode};
use std::fmt::Write as _;
use url::Url;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:30em;margin:10vh auto;padding:0 1em;color:#222}\
    main{border:1px solid #ccc;border-radius:8px;padding:1.5em}h1{font-size:1.3em;margin-top:0}\
    label{display:block;margin:.5em 0}input{font:inherit;width:100%;box-sizing:border-box;padding:.3em}\
    button{font:inherit;padding:.4em 1.2em;margin:1em .5em 0 0}code{background:#eee;padding:0 .3em;word-break:break-all}\
    .warning{color:#a33}";

/// The form that a person answers.
pub(super) struct ConsentForm<'a> {
    pub(super) server: &'a str,
    pub(super) waiting: &'a PendingAuthorization,
    pub(super) id: &'a str,
    pub(super) token: &'a str,
    pub(super) asks_password: bool,
    /// The signed-in user, if known.
    pub(super) subject: Option<&'a str>,
    pub(super) message: Option<&'a str>,
}

impl ConsentForm<'_> {
    pub(super) fn response(&self) -> Response {
        let request = &self.waiting.request;
        let redirect = Url::parse(&request.redirect_uri).ok();
        let place = redirect.as_ref().map_or(request.redirect_uri.clone(), place);
        let client = self.waiting.client_name.as_deref().unwrap_or(&request.client_id);
        let mut body = format!(
            "<h1>{} asks for access</h1><p><b>{}</b> wants to use <b>{}</b> at <code>{}</code>",
            escape(client),
            escape(client),
            escape(self.server),
            escape(&request.resource)
        );
        match self.subject {
            Some(subject) => _ = write!(body, " as <b>{}</b>.</p>", escape(subject)),
            None => body.push_str(".</p>"),
        }
        if !request.scopes.is_empty() {
            body.push_str("<p>It may then:</p><ul>");
            for scope in &request.scopes {
                let _ = write!(body, "<li><code>{}</code></li>", escape(scope));
            }
            body.push_str("</ul>");
        }
        let _ = write!(body, "<p>The answer goes to <code>{}</code>.", escape(&place));
        if redirect.as_ref().is_some_and(|url| url.scheme() != "https") {
            body.push_str(
                " <span class=warning>That is a program on this device; nobody can tell which. Agree only if you have just \
                 started it.</span>",
            );
        }
        body.push_str("</p>");
        if let Some(message) = self.message {
            let _ = write!(body, "<p class=warning>{}</p>", escape(message));
        }
        let _ = write!(
            body,
            "<form method=post><input type=hidden name=request value=\"{}\"><input type=hidden name=token value=\"{}\">",
            escape(self.id),
            escape(self.token)
        );
        if self.asks_password {
            body.push_str(
                "<label>Name <input name=name autocomplete=username required autofocus></label>\
                 <label>Password <input name=password type=password autocomplete=current-password required></label>",
            );
        }
        body.push_str(
            "<button name=answer value=allow>Allow</button>\
             <button name=answer value=deny formnovalidate>Deny</button></form>",
        );
        // Browsers also apply `form-action` to the redirect after the form.
        let target = redirect.as_ref().map_or_else(String::new, |url| match url.host_str() {
            Some(_) => format!(" {}", url.origin().ascii_serialization()),
            None => format!(" {}:", url.scheme()),
        });
        html(StatusCode::OK, &body, &format!("'self'{target}"))
    }
}

/// Returns where an answer goes, for people: the host, or the scheme of an application.
fn place(url: &Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => format!("{}:", url.scheme()),
    }
}

/// Returns a page that says what is wrong.
pub(super) fn problem(status: StatusCode, text: &str) -> Response {
    html(status, &format!("<h1>This does not work</h1><p>{}</p>", escape(text)), "'none'")
}

fn html(status: StatusCode, body: &str, form_action: &str) -> Response {
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

/// Escapes a text for HTML, in elements and in attributes with quotes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strangers_name_is_text() {
        assert_eq!(escape("<b a='x' c=\"&\">"), "&lt;b a=&#39;x&#39; c=&quot;&amp;&quot;&gt;");
        let at = |uri: &str| place(&Url::parse(uri).unwrap());
        assert_eq!(at("http://127.0.0.1:7/x"), "127.0.0.1:7");
        assert_eq!(
            (at("https://a.example/x").as_str(), at("com.example.app:/x").as_str()),
            ("a.example", "com.example.app:")
        );
    }
}
