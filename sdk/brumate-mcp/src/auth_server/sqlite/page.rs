//! The HTML of the form on which people agree.

use super::tables::PendingAuthorization;
use crate::auth_server::page::{Destination, escape, html};
use axum::response::Response;
use http::StatusCode;
use std::fmt::Write as _;
use url::Url;

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
        let destination = Destination::of(&request.redirect_uri);
        let client = self.waiting.client_name.as_deref().unwrap_or(&request.client_id);
        // In elements that keep the direction of a name's letters from changing the text beside them.
        let mut body = format!(
            "<h1><bdi>{}</bdi> asks for access</h1><p><b><bdi>{}</bdi></b> wants to use <b><bdi>{}</bdi></b> at <code>{}</code>",
            escape(client),
            escape(client),
            escape(self.server),
            escape(&request.resource)
        );
        match self.subject {
            Some(subject) => _ = write!(body, " as <b><bdi>{}</bdi></b>.</p>", escape(subject)),
            None => body.push_str(".</p>"),
        }
        if request.self_registered {
            body.push_str("<p>The application has given this name itself; nobody has checked it.");
            if let Some(host) = Url::parse(&request.client_id).ok().as_ref().and_then(Url::host_str) {
                let _ = write!(body, " Its description is at <code>{}</code>.", escape(host));
            }
            body.push_str("</p>");
        }
        if !request.scopes.is_empty() {
            body.push_str("<p>It may then:</p><ul>");
            for scope in &request.scopes {
                let _ = write!(body, "<li><code>{}</code></li>", escape(scope));
            }
            body.push_str("</ul>");
        }
        let _ = write!(body, "<p>The answer goes to <code>{}</code>.", escape(&destination.shown));
        if let Some(warning) = destination.warning {
            let _ = write!(body, " <span class=warning>{warning} Agree only if you have just started it.</span>");
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
        html(StatusCode::OK, &body, &format!("'self' {}", destination.source))
    }
}
