//! Finds the authorization server of a server: metadata of the resource (RFC 9728) and of the authorization server (RFC
//! 8414, OpenID Connect Discovery).

use super::AuthError;
use crate::outbound::{Outbound, OutboundError};
use serde::Deserialize;
use url::Url;

/// The metadata of a protected resource (RFC 9728).
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ResourceMetadata {
    pub(super) resource: String,
    #[serde(default)]
    pub(super) authorization_servers: Vec<String>,
    #[serde(default)]
    pub(super) scopes_supported: Option<Vec<String>>,
}

/// The metadata of an authorization server (RFC 8414).
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ServerMetadata {
    pub(super) issuer: String,
    #[serde(default)]
    pub(super) authorization_endpoint: Option<Url>,
    pub(super) token_endpoint: Url,
    #[serde(default)]
    pub(crate) jwks_uri: Option<Url>,
    #[serde(default)]
    pub(super) registration_endpoint: Option<Url>,
    #[serde(default)]
    pub(super) code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) scopes_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

/// A server as a protected resource, as it was discovered.
#[derive(Clone, Debug)]
pub(super) struct ProtectedResource {
    /// The resource indicator of tokens (RFC 8707).
    pub(super) resource: String,
    pub(super) scopes: Option<Vec<String>>,
    /// The authorization servers that the resource names.
    pub(super) issuers: Vec<String>,
}

/// Returns the name of a server as a resource: its address without a fragment, and without a slash that is its whole
/// path.
pub(super) fn canonical(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    let text = url.to_string();
    if url.path() == "/" && url.query().is_none() { text.trim_end_matches('/').to_owned() } else { text }
}

/// Returns whether the resource `named` covers `url`: its origin is the same, and its path is that of `url` or a parent
/// of it.
fn covers(named: &str, url: &Url) -> bool {
    let Ok(named) = Url::parse(named) else { return false };
    let path = named.path().trim_end_matches('/');
    let rest = url.path().strip_prefix(path);
    named.origin() == url.origin()
        && named.query().is_none_or(|query| url.query() == Some(query))
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns `/.well-known/KIND` of an address, with its path behind it.
fn well_known(url: &Url, kind: &str, with_path: bool) -> Url {
    let mut found = url.clone();
    let path = url.path().trim_end_matches('/').to_owned();
    found.set_query(None);
    found.set_fragment(None);
    found.set_path(&format!("/.well-known/{kind}{}", if with_path { path.as_str() } else { "" }));
    found
}

/// Reads a server's metadata as a resource: from the address in its challenge, else from the well-known addresses.
///
/// # Errors
///
/// They are those of another resource, or name no authorization server.
pub(super) async fn discover(
    outbound: &Outbound,
    server: &Url,
    named: Option<&str>,
) -> Result<ProtectedResource, AuthError> {
    let mut places = Vec::new();
    if let Some(named) = named {
        let url = Url::parse(named)
            .map_err(|error| AuthError::new(format!("the server's metadata are at `{named}`: {error}")))?;
        places.push(url);
    }
    places.push(well_known(server, "oauth-protected-resource", true));
    if server.path() != "/" {
        places.push(well_known(server, "oauth-protected-resource", false));
    }
    for place in places {
        let found: ResourceMetadata = match outbound.get_json(&place).await {
            Ok(found) => found,
            Err(OutboundError::Status(..)) => continue,
            Err(error) => return Err(AuthError::new(format!("the server's metadata: {error}"))),
        };
        if !covers(&found.resource, server) {
            let text = format!("the metadata at {place} are those of `{}`, and not of {server}", found.resource);
            return Err(AuthError::new(text));
        }
        if found.authorization_servers.is_empty() {
            return Err(AuthError::new(format!("the metadata at {place} name no authorization server")));
        }
        let (resource, issuers) = (found.resource, found.authorization_servers);
        return Ok(ProtectedResource { resource, scopes: found.scopes_supported, issuers });
    }
    // Without such metadata (2025-03-26), a server is its own authorization server.
    let origin = server.origin().ascii_serialization();
    Ok(ProtectedResource { resource: canonical(server), scopes: None, issuers: vec![origin] })
}

/// Reads an authorization server's metadata.
///
/// # Errors
///
/// There are none, or they are another server's.
pub(crate) async fn authorization_server(outbound: &Outbound, issuer: &str) -> Result<ServerMetadata, AuthError> {
    let url =
        Url::parse(issuer).map_err(|error| AuthError::new(format!("authorization server `{issuer}`: {error}")))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(AuthError::new(format!("authorization server `{issuer}`: an issuer has no query and no fragment")));
    }
    let mut places =
        vec![well_known(&url, "oauth-authorization-server", true), well_known(&url, "openid-configuration", true)];
    if !url.path().trim_end_matches('/').is_empty() {
        let mut appended = url.clone();
        appended.set_path(&format!("{}/.well-known/openid-configuration", url.path().trim_end_matches('/')));
        places.push(appended);
    }
    for place in places {
        let found: ServerMetadata = match outbound.get_json(&place).await {
            Ok(found) => found,
            Err(OutboundError::Status(..)) => continue,
            Err(error) => return Err(AuthError::new(format!("the authorization server's metadata: {error}"))),
        };
        // RFC 8414, section 3.3: byte for byte, or another server could pass for it.
        if found.issuer != issuer {
            return Err(AuthError::new(format!(
                "the metadata at {place} are those of `{}`, not of `{issuer}`",
                found.issuer
            )));
        }
        outbound.check(&found.token_endpoint).map_err(AuthError::of)?;
        check_schemes(&url, &found)?;
        return Ok(found);
    }
    Err(AuthError::new(format!(
        "the authorization server `{issuer}` has no metadata (RFC 8414, OpenID Connect Discovery)"
    )))
}

/// Checks that the endpoints of an `https` issuer are `https`: secrets do not leave it for a program on this machine.
fn check_schemes(issuer: &Url, found: &ServerMetadata) -> Result<(), AuthError> {
    let optional = [&found.authorization_endpoint, &found.registration_endpoint, &found.jwks_uri];
    let mut endpoints = optional.into_iter().flatten().chain([&found.token_endpoint]);
    match endpoints.find(|endpoint| issuer.scheme() == "https" && endpoint.scheme() != "https") {
        Some(endpoint) => {
            let (issuer, scheme) = (&found.issuer, endpoint.scheme());
            Err(AuthError::new(format!(
                "the authorization server `{issuer}` has an endpoint with `{scheme}`, not `https`"
            )))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_with_https_has_no_endpoint_without() {
        let check = |issuer: &str, member: &str, url: &str| {
            let mut metadata = serde_json::json!({"issuer": issuer, "token_endpoint": format!("{issuer}/token")});
            metadata[member] = url.into();
            check_schemes(&Url::parse(issuer).unwrap(), &serde_json::from_value(metadata).unwrap())
        };
        for member in ["authorization_endpoint", "token_endpoint", "registration_endpoint", "jwks_uri"] {
            check("https://a.example", member, "https://b.example/x").unwrap();
            check("http://127.0.0.1:1", member, "http://127.0.0.1:2/x").unwrap();
            let error = check("https://a.example", member, "http://127.0.0.1:2/x").unwrap_err().to_string();
            assert!(error.contains("endpoint with `http`"), "{error}");
        }
    }

    #[test]
    fn a_resource_covers_its_address_by_whole_segments() {
        let server = Url::parse("https://a.example/team/mcp").unwrap();
        for named in ["https://a.example", "https://a.example/", "https://a.example/team", "https://a.example/team/mcp"]
        {
            assert!(covers(named, &server), "{named}");
        }
        for named in [
            "https://a.example/tea",
            "https://a.example/team/mcp/x",
            "http://a.example/team/mcp",
            "https://b.example/",
            "nonsense",
        ] {
            assert!(!covers(named, &server), "{named}");
        }
    }

    #[test]
    fn names_and_places_of_metadata() {
        let url = |text: &str| Url::parse(text).unwrap();
        assert_eq!(canonical(&url("https://A.example:443/#x")), "https://a.example");
        assert_eq!(canonical(&url("https://a.example/mcp/")), "https://a.example/mcp/");
        let place = well_known(&url("https://a.example/team/mcp?x=1"), "oauth-protected-resource", true);
        assert_eq!(place.as_str(), "https://a.example/.well-known/oauth-protected-resource/team/mcp");
    }
}
