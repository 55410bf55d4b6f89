//! The endpoints of an authorization server, as routes of an app.

use super::authorize::AuthorizeError;
use super::client::ClientAuthMethod;
use super::error::OAuthError;
use super::request::{self, Parameters};
use super::{AuthServerInner, page, register};
use crate::HttpOptions;
use crate::http::Guard;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;
use tower_http::cors::{Any, CorsLayer};

/// Returns the routes of an authorization server.
pub(super) fn router(shared: &Arc<AuthServerInner>) -> Router {
    let base = &shared.base;
    let host = shared.url.host_str().unwrap_or_default().to_owned();
    let guard = Guard::new(&HttpOptions::new().allow_host(host));
    // Scripts in web pages are clients too, so any origin may call these endpoints.
    let pages = CorsLayer::new().allow_origin(Any).allow_methods([Method::GET, Method::POST]).allow_headers(Any);
    let mut programs = Router::new()
        .route(&format!("/.well-known/oauth-authorization-server{base}"), get(with(shared, metadata)))
        .route(&format!("{base}/token"), post(with(shared, token)))
        .route(&format!("{base}/revoke"), post(with(shared, revoke)));
    if shared.registration {
        programs = programs.route(&format!("{base}/register"), post(with(shared, registration)));
    }
    if shared.introspection.is_some() {
        programs = programs.route(&format!("{base}/introspect"), post(with(shared, introspect)));
    }
    let people = Router::new()
        .route(&format!("{base}/authorize"), get(with(shared, authorize)).post(with(shared, authorize)))
        .merge(shared.provider.clone().routes(&shared.url, base));
    let limited = shared.clone();
    programs.layer(pages).merge(people).layer(middleware::from_fn(move |request: Request, next: Next| {
        let (guard, shared) = (guard.clone(), limited.clone());
        async move { admit(&guard, &shared, request, next).await }
    }))
}

/// Makes a handler that calls `answer` with the shared server state.
fn with<F, Fut>(
    shared: &Arc<AuthServerInner>,
    answer: F,
) -> impl Fn(Request) -> futures::future::BoxFuture<'static, Response> + Clone + Send + Sync + 'static
where
    F: Fn(Arc<AuthServerInner>, Parts, Body) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Response> + Send + 'static,
{
    let shared = shared.clone();
    move |request: Request| {
        let (head, body) = request.into_parts();
        Box::pin(answer(shared.clone(), head, body))
    }
}

/// Checks the host of a request. Then checks the rate limit of the client's address.
async fn admit(guard: &Guard, shared: &AuthServerInner, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    if let Err((status, reason)) = guard.admit_host(&head) {
        return (status, reason).into_response();
    }
    if !shared.requests.admits(shared.address(&head), Instant::now()) {
        return too_many("too many requests: try again in a minute");
    }
    next.run(Request::from_parts(head, body)).await
}

fn too_many(text: &'static str) -> Response {
    let mut response = (StatusCode::TOO_MANY_REQUESTS, text).into_response();
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("60"));
    response
}

/// Returns a JSON response with `Cache-Control: no-store`. The metadata endpoint replaces this header.
fn answer(status: StatusCode, body: &Value) -> Response {
    let mut response = (status, body.to_string()).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn failed(error: &OAuthError) -> Response {
    let mut response = answer(error.status(), &error.body());
    if error.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"oauth\""));
    }
    response
}

fn answered(result: Result<Value, OAuthError>) -> Response {
    match result {
        Ok(body) => answer(StatusCode::OK, &body),
        Err(error) => failed(&error),
    }
}

/// Returns the metadata (RFC 8414, section 2).
async fn metadata(shared: Arc<AuthServerInner>, _: Parts, _: Body) -> Response {
    let at = |path: &str| format!("{}{path}", shared.endpoint);
    let mut metadata = json!({
        "issuer": shared.issuer,
        "authorization_endpoint": at("/authorize"),
        "token_endpoint": at("/token"),
        "revocation_endpoint": at("/revoke"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ClientAuthMethod::NAMES,
        "revocation_endpoint_auth_methods_supported": ClientAuthMethod::NAMES,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": shared.documents.is_some(),
        "protected_resources": shared.resources,
    });
    if !shared.scopes.is_empty() {
        metadata["scopes_supported"] = json!(shared.scopes);
    }
    if shared.registration {
        metadata["registration_endpoint"] = at("/register").into();
    }
    if shared.introspection.is_some() {
        metadata["introspection_endpoint"] = at("/introspect").into();
    }
    if let Some(documentation) = &shared.documentation {
        metadata["service_documentation"] = documentation.as_str().into();
    }
    let mut response = answer(StatusCode::OK, &metadata);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    response
}

async fn authorize(shared: Arc<AuthServerInner>, head: Parts, body: Body) -> Response {
    let parameters = match head.method {
        Method::POST => Parameters::form(&head, body).await,
        _ => Parameters::parse(head.uri.query().unwrap_or_default().as_bytes()),
    };
    match shared.authorize(parameters, shared.address(&head)).await {
        Ok(url) | Err(AuthorizeError::Redirect(url)) => see(url.as_str()),
        Err(AuthorizeError::Offer(error, back)) => page::offer(&error, &back),
        Err(AuthorizeError::Page(error)) => {
            error.log();
            let text = format!("This request for access cannot be answered.\n\n{}\n", error.description());
            let mut response = (error.status(), text).into_response();
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            headers.insert(
                CONTENT_SECURITY_POLICY,
                HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
            );
            response
        }
    }
}

/// Returns a redirect to `url`. The browser follows it with a GET request.
pub(super) fn see(url: &str) -> Response {
    let Ok(place) = HeaderValue::from_str(url) else {
        return (StatusCode::INTERNAL_SERVER_ERROR, "the address of the redirect is not a valid header value")
            .into_response();
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    headers.insert(LOCATION, place);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

async fn token(shared: Arc<AuthServerInner>, head: Parts, body: Body) -> Response {
    let result = async {
        let form = Parameters::form(&head, body).await?;
        shared.token(&head, &form).await
    };
    answered(result.await)
}

async fn introspect(shared: Arc<AuthServerInner>, head: Parts, body: Body) -> Response {
    let result = async {
        let form = Parameters::form(&head, body).await?;
        shared.introspect(&head, &form).await
    };
    answered(result.await)
}

async fn revoke(shared: Arc<AuthServerInner>, head: Parts, body: Body) -> Response {
    let result = async {
        let form = Parameters::form(&head, body).await?;
        shared.revoke(&head, &form).await
    };
    answered(result.await.map(|()| json!({})))
}

async fn registration(shared: Arc<AuthServerInner>, head: Parts, body: Body) -> Response {
    if !shared.registrations.admits(shared.address(&head), Instant::now()) {
        return too_many("too many clients were registered from this address today");
    }
    let result = async {
        let (client, answer) = register::register(&request::body(body, register::MAX_BODY).await?, &shared.scopes)?;
        shared.provider.register(client).await?;
        Ok(answer)
    };
    match result.await {
        Ok(body) => answer(StatusCode::CREATED, &body.into()),
        Err(error) => failed(&error),
    }
}
