//! The routes of the API.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{DefaultBodyLimit, Extension, FromRequestParts, Path, State};
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::channels::{self, MAX_MESSAGE};
use super::clients::MAX_CLIENTS;
use super::error::ApiError;
use super::frames::{Form, V1_PROTOCOL};
use super::models::{self, KERNEL_NAME, is_kernel_name};
use super::session_records::{KernelRequest, SessionRequest};
use super::{Caller, Gateway};

/// Largest body of a request, in bytes.
const MAX_BODY: usize = 64 << 10;
/// Buffer of a WebSocket for bytes from the client, in bytes. It grows with a message.
const READ_BUFFER: usize = 16 << 10;

type Answer = Result<Response, ApiError>;
type BodyBytes = Result<Bytes, BytesRejection>;

/// The variable part of a path.
struct PathPart(String);

impl<S: Send + Sync> FromRequestParts<S> for PathPart {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let part = Path::<String>::from_request_parts(parts, state).await;
        part.map(|Path(part)| Self(part)).map_err(|error| ApiError::new(error.status(), error.body_text()))
    }
}

/// Returns the routes, relative to `/api`.
pub(super) fn router(gateway: Gateway) -> Router {
    Router::new()
        .route("/", get(version))
        .route("/status", get(status))
        .route("/me", get(me))
        .route("/kernelspecs", get(kernelspecs))
        .route("/kernelspecs/{name}", get(kernelspec))
        .route("/kernels", get(list_kernels).post(start_kernel))
        .route("/kernels/{id}", get(kernel).delete(delete_kernel))
        .route("/kernels/{id}/interrupt", post(interrupt))
        .route("/kernels/{id}/restart", post(restart))
        .route("/kernels/{id}/channels", get(open_channels))
        .route("/sessions", get(list_sessions).post(make_session))
        .route("/sessions/{id}", get(session).patch(change_session).delete(delete_session))
        .fallback(async || ApiError::new(StatusCode::NOT_FOUND, "this server has the API of kernels only"))
        .method_not_allowed_fallback(async || {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "this method is not known here")
        })
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::map_response(never_cached))
        .with_state(gateway)
}

/// Says that answers must not be kept: they have the data of one principal.
async fn never_cached(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

fn json(status: StatusCode, value: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

fn ok(value: &Value) -> Answer {
    Ok(json(StatusCode::OK, value))
}

/// Returns the answer to a request that made something.
fn made(path: &str, value: &Value) -> Response {
    let mut response = json(StatusCode::CREATED, value);
    if let Some(location) = value["id"].as_str().and_then(|id| HeaderValue::try_from(format!("{path}/{id}")).ok()) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// Reads a body. An empty one, as some clients send, has the defaults.
fn body<T: DeserializeOwned + Default>(bytes: BodyBytes) -> Result<T, ApiError> {
    let bytes = bytes.map_err(|error| ApiError::new(error.status(), error.body_text()))?;
    if bytes.is_empty() {
        return Ok(T::default());
    }
    let read = serde_json::from_slice::<Option<T>>(&bytes);
    let read =
        read.map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, format!("the body cannot be read: {error}")));
    read.map(Option::unwrap_or_default)
}

async fn version() -> Answer {
    ok(&json!({"version": env!("CARGO_PKG_VERSION")}))
}

async fn status(State(gateway): State<Gateway>, Extension(caller): Extension<Caller>) -> Answer {
    let kernels = gateway.kernels_of(&caller.principal);
    let started = &gateway.inner.started;
    let last_activity = kernels.iter().map(|kernel| kernel.clients().last_activity()).max();
    ok(&json!({
        "connections": kernels.iter().map(|kernel| kernel.clients().count()).sum::<usize>(),
        "kernels": kernels.len(),
        "last_activity": last_activity.as_ref().unwrap_or(started),
        "started": started,
    }))
}

async fn me(Extension(caller): Extension<Caller>) -> Answer {
    ok(&models::identity(&caller.principal))
}

async fn kernelspecs() -> Answer {
    ok(&models::kernelspecs())
}

async fn kernelspec(PathPart(name): PathPart) -> Answer {
    match is_kernel_name(&name) {
        true => ok(&models::kernelspec(&name)),
        false => Err(ApiError::not_found("kernelspec", &name)),
    }
}

async fn list_kernels(State(gateway): State<Gateway>, Extension(caller): Extension<Caller>) -> Answer {
    let kernels = gateway.kernels_of(&caller.principal);
    ok(&kernels.iter().map(|kernel| models::kernel(kernel)).collect())
}

async fn start_kernel(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Caller>,
    bytes: BodyBytes,
) -> Answer {
    let request: KernelRequest = body(bytes)?;
    let kernel = gateway.start_kernel(&caller.principal, request.name.as_deref().unwrap_or(KERNEL_NAME)).await?;
    Ok(made("/api/kernels", &models::kernel(&kernel)))
}

async fn kernel(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Caller>,
    PathPart(id): PathPart,
) -> Answer {
    ok(&models::kernel(&*gateway.kernel(&caller.principal, &id)?))
}

async fn delete_kernel(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Caller>,
    PathPart(id): PathPart,
) -> Answer {
    gateway.delete_kernel(&caller.principal, &id, "the kernel was deleted").await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn interrupt(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Caller>,
    PathPart(id): PathPart,
) -> Answer {
    gateway.kernel(&caller.principal, &id)?.interrupt().await;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn restart(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Caller>,
    PathPart(id): PathPart,
) -> Answer {
    let kernel = gateway.kernel(&caller.principal, &id)?;
    kernel.restart(false).await?;
    ok(&models::kernel(&kernel))
}

/// Opens the WebSocket of a kernel's channels. The first form that client and server both know is used.
async fn open_channels(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Caller>,
    PathPart(id): PathPart,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer {
    let kernel = gateway.kernel(&caller.principal, &id)?;
    let mut upgrade = upgrade.map_err(|error| ApiError::new(error.status(), error.body_text()))?;
    let too_many = |message: String| ApiError::new(StatusCode::TOO_MANY_REQUESTS, message);
    if !gateway.has_room_for_websocket(&caller.principal) {
        return Err(too_many(format!("there are {} WebSockets; close one that is not needed", super::MAX_WEBSOCKETS)));
    }
    let is_v1 = upgrade.requested_protocols().any(|protocol| protocol == V1_PROTOCOL);
    if is_v1 {
        upgrade.set_selected_protocol(HeaderValue::from_static(V1_PROTOCOL));
    }
    let form = if is_v1 { Form::V1 } else { Form::Default };
    let Some(client) = kernel.clients().connect(form) else {
        return Err(too_many(format!("the kernel has {MAX_CLIENTS} WebSockets; close one that is not needed")));
    };
    let upgrade = upgrade.max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE).read_buffer_size(READ_BUFFER);
    Ok(upgrade.on_upgrade(async move |socket| {
        // A deleted kernel is gone when its last client is.
        channels::serve(socket, form, client, &kernel, caller.revoked).await;
    }))
}

async fn list_sessions(State(gateway): State<Gateway>, Extension(caller): Extension<Caller>) -> Answer {
    let records = gateway.records_of(&caller.principal);
    ok(&records.iter().map(|(record, kernel)| models::session(record, kernel)).collect())
}

async fn make_session(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Caller>,
    bytes: BodyBytes,
) -> Answer {
    let request = body::<SessionRequest>(bytes)?.checked()?;
    let (record, kernel) = gateway.make_record(&caller.principal, &request).await?;
    Ok(made("/api/sessions", &models::session(&record, &kernel)))
}

async fn session(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Caller>,
    PathPart(id): PathPart,
) -> Answer {
    let (record, kernel) = gateway.record(&caller.principal, &id)?;
    ok(&models::session(&record, &kernel))
}

async fn change_session(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Caller>,
    PathPart(id): PathPart,
    bytes: BodyBytes,
) -> Answer {
    let request = body::<SessionRequest>(bytes)?.checked()?;
    let (record, kernel) = gateway.change_record(&caller.principal, &id, &request).await?;
    ok(&models::session(&record, &kernel))
}

async fn delete_session(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Caller>,
    PathPart(id): PathPart,
) -> Answer {
    let (_, kernel) = gateway.record(&caller.principal, &id)?;
    gateway.delete_kernel(&caller.principal, &kernel.id, "the session was deleted").await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
