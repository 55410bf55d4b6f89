//! The page on which people sign in and agree.

use super::SqliteAuth;
use super::page::ConsentForm;
use super::tables::PendingAuthorization;
use crate::auth_server::error::OAuthError;
use crate::auth_server::page::problem;
use crate::auth_server::request::Parameters;
use crate::auth_server::routes::see;
use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::get;
use brumate_mcp_oauth::internal::{now, random_token, sha256_hex};
use futures::future::BoxFuture;
use http::header::{COOKIE, ORIGIN, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use std::sync::Arc;
use subtle::ConstantTimeEq as _;
use url::Url;

/// The page's path, below the issuer's.
const PATH: &str = "/authorize/consent";

type CheckPassword = dyn Fn(String, String) -> BoxFuture<'static, Option<String>> + Send + Sync;
type FindSubject = dyn Fn(&Parts) -> Option<String> + Send + Sync;

/// How the user at the browser is found.
#[derive(Clone)]
pub(super) enum SignIn {
    Password(Arc<CheckPassword>),
    Request(Arc<FindSubject>),
    SingleUser(String),
}

/// Returns the address of the page.
pub(super) fn address(issuer: &str) -> Result<Url, OAuthError> {
    Ok(Url::parse(&format!("{}{PATH}", issuer.trim_end_matches('/')))?)
}

/// The page of one issuer.
struct ConsentPage {
    auth: Arc<SqliteAuth>,
    /// The name of the cookie that binds a form to the browser that it was shown in. Over HTTPS no other host can set
    /// it.
    cookie: &'static str,
    secure: bool,
    origin: String,
}

pub(super) fn router(auth: Arc<SqliteAuth>, issuer: &Url, base: &str) -> Router {
    let secure = issuer.scheme() == "https";
    let cookie = if secure { "__Host-mcp-consent" } else { "mcp-consent" };
    let consent = Arc::new(ConsentPage { auth, cookie, secure, origin: issuer.origin().ascii_serialization() });
    let (shown, answered) = (consent.clone(), consent);
    let path = format!("{base}{PATH}");
    Router::new().route(
        &path,
        get(move |request: Request| async move { shown.show(request).await })
            .post(move |request: Request| async move { answered.answer(request).await }),
    )
}

/// The text for a request that has ended or is unknown.
const GONE: &str =
    "This request for access is over, or was answered already. Go back to the application and begin again.";

impl ConsentPage {
    async fn show(&self, request: Request) -> Response {
        let (head, _) = request.into_parts();
        let result = async {
            let query = Parameters::parse(head.uri.query().unwrap_or_default().as_bytes())?;
            let id = query.require("request")?.to_owned();
            Ok::<_, OAuthError>((self.waiting(&id).await?, id))
        };
        match result.await {
            Ok((Some(waiting), id)) => self.page(&head, &waiting, &id, None),
            Ok((None, _)) => problem(StatusCode::BAD_REQUEST, GONE),
            Err(error) => {
                error.log();
                problem(error.status(), error.description())
            }
        }
    }

    async fn waiting(&self, id: &str) -> Result<Option<PendingAuthorization>, OAuthError> {
        let id = id.to_owned();
        self.auth.run(move |tables| tables.request(&id, now())).await
    }

    /// The form, bound to the browser's cookie.
    fn page(&self, head: &Parts, waiting: &PendingAuthorization, id: &str, message: Option<&str>) -> Response {
        let subject = match &self.auth.sign_in {
            Some(SignIn::Request(who)) => match who(head) {
                Some(subject) => Some(subject),
                None => {
                    return problem(
                        StatusCode::FORBIDDEN,
                        "You are not signed in here. Sign in, then begin again in the application.",
                    );
                }
            },
            _ => None,
        };
        let known = self.cookie(&head.headers);
        let cookie = known.clone().unwrap_or_else(random_token);
        let page = ConsentForm {
            server: &self.auth.name,
            waiting,
            id,
            token: &token(&cookie, id),
            asks_password: matches!(self.auth.sign_in, Some(SignIn::Password(_))),
            subject: subject.as_deref(),
            message,
        };
        let mut response = page.response();
        if known.is_none() {
            let secure = if self.secure { "; Secure" } else { "" };
            let text = format!("{}={cookie}; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600{secure}", self.cookie);
            if let Ok(value) = HeaderValue::from_str(&text) {
                response.headers_mut().insert(SET_COOKIE, value);
            }
        }
        response
    }

    fn cookie(&self, headers: &HeaderMap) -> Option<String> {
        let all =
            headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(';'));
        let mut own = all.filter_map(|pair| pair.trim().strip_prefix(self.cookie)?.strip_prefix('='));
        own.next().filter(|value| value.len() == 43).map(str::to_owned)
    }

    async fn answer(&self, request: Request) -> Response {
        let (head, body) = request.into_parts();
        let result = async {
            let form = Parameters::form(&head, body).await?;
            self.decide(&head, &form).await
        };
        result.await.unwrap_or_else(|error| {
            error.log();
            problem(error.status(), error.description())
        })
    }

    async fn decide(&self, head: &Parts, form: &Parameters) -> Result<Response, OAuthError> {
        let id = form.require("request")?;
        let cookie = self.cookie(&head.headers).unwrap_or_default();
        let shown: bool = token(&cookie, id).as_bytes().ct_eq(form.get("token").unwrap_or_default().as_bytes()).into();
        let origin = head.headers.get(ORIGIN).is_none_or(|origin| origin.as_bytes() == self.origin.as_bytes());
        if cookie.is_empty() || !shown || !origin {
            let text = "The form was not sent from this page, or your browser keeps no cookies. Begin again in the application.";
            return Ok(problem(StatusCode::FORBIDDEN, text));
        }
        let Some(waiting) = self.waiting(id).await? else { return Ok(problem(StatusCode::BAD_REQUEST, GONE)) };
        if form.get("answer") != Some("allow") {
            return self.deny(&waiting, id, "the person does not want it").await;
        }
        let subject = match &self.auth.sign_in {
            None => None,
            Some(SignIn::SingleUser(subject)) => Some(subject.clone()),
            Some(SignIn::Request(who)) => who(head),
            Some(SignIn::Password(check)) => {
                let (name, password) = (form.get("name").unwrap_or_default(), form.get("password").unwrap_or_default());
                let found = check(name.to_owned(), password.to_owned()).await;
                if found.is_none() {
                    let tried = id.to_owned();
                    return match self.auth.run(move |tables| tables.count_try(&tried)).await? {
                        true => Ok(self.page(head, &waiting, id, Some("The name or the password is wrong."))),
                        false => self.deny(&waiting, id, "too many wrong passwords").await,
                    };
                }
                found
            }
        };
        let Some(subject) = subject else {
            return Ok(problem(
                StatusCode::FORBIDDEN,
                "You are not signed in here. Sign in, then begin again in the application.",
            ));
        };
        let (code, grant, ended) = (random_token(), waiting.request.grant(subject), id.to_owned());
        let kept = code.clone();
        let first = self.auth.run(move |tables| {
            let first = tables.end_request(&ended)?;
            if first {
                tables.keep_code(&kept, &grant)?;
            }
            Ok(first)
        });
        match first.await? {
            true => Ok(see(waiting.request.redirect_with_code(&code)?.as_str())),
            false => Ok(problem(StatusCode::BAD_REQUEST, GONE)),
        }
    }

    async fn deny(&self, waiting: &PendingAuthorization, id: &str, reason: &str) -> Result<Response, OAuthError> {
        let ended = id.to_owned();
        self.auth.run(move |tables| tables.end_request(&ended)).await?;
        let url = waiting.request.redirect_with_error(&OAuthError::access_denied(reason))?;
        Ok(see(url.as_str()))
    }
}

/// Returns the secret of a form: another one for each browser and each request.
fn token(cookie: &str, id: &str) -> String {
    sha256_hex(&format!("consent {cookie} {id}"))
}
