//! Who a client is to an authorization server.

use super::metadata::ServerMetadata;
use super::token::Identity;
use super::{AuthError, ClientRegistration, OAuth, Secret};
use crate::oauth::now;
use crate::outbound::Outbound;
use serde::Deserialize;
use serde_json::json;
use url::Url;

/// Returns who the client is to an authorization server: as it was told, as it was registered before, by its document,
/// or by a new registration. `server` is the one that [`IssuerPin`](super::issuer::IssuerPin) has chosen, and `kept` is the identity stored for that server.
pub(super) async fn identify(
    config: &OAuth,
    outbound: &Outbound,
    server: &ServerMetadata,
    kept: Option<Identity>,
    redirect: &str,
) -> Result<Identity, AuthError> {
    let identity = |id: String, secret, method: Option<String>| {
        let redirect = Some(redirect.to_owned());
        Identity { id, secret, method, redirect, secret_ends: None, is_refused: false }
    };
    if let Some(ClientRegistration { id, secret, .. }) = &config.registration {
        return Ok(identity(id.clone(), secret.clone(), None));
    }
    if let Some(url) = config.metadata_url.as_ref().filter(|_| server.client_id_metadata_document_supported) {
        return Ok(identity(url.to_string(), None, Some("none".to_owned())));
    }
    let holds = |kept: &Identity| {
        !kept.is_refused
            && kept.redirect.as_deref() == Some(redirect)
            && kept.secret_ends.is_none_or(|ends| ends == 0 || ends > now())
    };
    if let Some(kept) = kept.filter(holds) {
        return Ok(kept);
    }
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(AuthError(format!(
            "the authorization server `{}` registers no clients: give the client an identifier that it knows \
             (`OAuth::registration`), or the address of its metadata (`OAuth::client_metadata_url`)",
            server.issuer
        )));
    };
    register(config, outbound, server, endpoint, redirect).await
}

/// Registers the client (RFC 7591).
async fn register(
    config: &OAuth,
    outbound: &Outbound,
    server: &ServerMetadata,
    endpoint: &Url,
    redirect: &str,
) -> Result<Identity, AuthError> {
    #[derive(Deserialize)]
    struct Registration {
        client_id: String,
        client_secret: Option<Secret>,
        client_secret_expires_at: Option<u64>,
        token_endpoint_auth_method: Option<String>,
    }
    let is_local = Url::parse(redirect).is_ok_and(|redirect| crate::outbound::is_loopback(&redirect));
    let mut request = json!({
        "client_name": config.name,
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": if is_local { "native" } else { "web" },
    });
    let known = server.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
    let wanted = ["none", "client_secret_basic", "client_secret_post"];
    if let Some(method) = wanted.into_iter().find(|method| known.iter().any(|known| known == method)) {
        request["token_endpoint_auth_method"] = method.into();
    }
    let made: Registration = outbound
        .post_json(endpoint, &request)
        .await
        .map_err(|error| AuthError(format!("the client cannot be registered: {error}")))?;
    Ok(Identity {
        id: made.client_id,
        secret: made.client_secret,
        method: made.token_endpoint_auth_method,
        redirect: Some(redirect.to_owned()),
        secret_ends: made.client_secret_expires_at,
        is_refused: false,
    })
}
