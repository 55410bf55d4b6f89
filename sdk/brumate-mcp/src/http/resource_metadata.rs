//! The metadata of protected servers (RFC 9728), at the well-known addresses of an app.

use super::guard::Guard;
use super::response::refusal;
use crate::auth::{Protection, WELL_KNOWN};
use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse as _;
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request};
use std::collections::BTreeMap;
use std::sync::Arc;
use tower_http::cors::{Any, CorsLayer};

/// A protected server of an app.
#[derive(Clone)]
pub(crate) struct ProtectedMount {
    pub(crate) protection: Arc<Protection>,
    pub(crate) guard: Guard,
    /// The path at which it is served.
    pub(crate) path: String,
}

/// Serves the metadata of protected servers, for each below its resource's path and below the path at which it is
/// served. An app with one protected server serves it also without a path. Every web page may read them.
pub(crate) fn router(protected: &[ProtectedMount]) -> Router {
    let mut places = BTreeMap::new();
    for server in protected {
        places.entry(format!("{WELL_KNOWN}{}", server.protection.path)).or_insert(server);
    }
    // Behind a proxy that removes a part of the path, this is the same URL.
    for server in protected {
        places.entry(format!("{WELL_KNOWN}{}", server.path.trim_end_matches('/'))).or_insert(server);
    }
    if let [only] = protected {
        places.entry(WELL_KNOWN.to_owned()).or_insert(only);
    }
    places.into_iter().fold(Router::new(), |router, (place, server)| {
        let ProtectedMount { protection, guard, .. } = server.clone();
        let answer = get(move |request: Request<Body>| async move {
            let (head, _) = request.into_parts();
            if let Err((status, reason)) = guard.admit_host(&head) {
                return refusal(status, reason);
            }
            let mut response = Body::from(protection.metadata.clone()).into_response();
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
            response
        });
        let pages = CorsLayer::new().allow_origin(Any).allow_methods([Method::GET]).allow_headers(Any);
        router.route(&place, answer.layer(pages))
    })
}
