//! Clients that register themselves (RFC 7591).

use super::client::{ClientAuthMethod, OAuthClient, check_redirects};
use super::error::OAuthError;
use super::page::{is_blank, is_hidden};
use brumate_mcp_oauth::internal::{now, random_token, sha256_hex};
use serde_json::{Map, Value};

/// The longest name of a client, in characters.
const MAX_NAME: usize = 200;

/// The largest registration, in bytes.
pub(super) const MAX_BODY: usize = 16 << 10;

/// Grant types that a client may register for.
const GRANT_TYPES: [&str; 2] = ["authorization_code", "refresh_token"];

/// Returns a list of texts.
pub(super) fn words(value: Option<&Value>) -> Option<Vec<String>> {
    value?.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
}

/// Returns the name of a client, if it has one.
pub(super) fn client_name(metadata: &Map<String, Value>) -> Result<Option<String>, OAuthError> {
    let Some(name) = metadata.get("client_name") else { return Ok(None) };
    let fits =
        |name: &&str| name.chars().count() <= MAX_NAME && !name.contains(is_hidden) && !name.chars().all(is_blank);
    let name = name.as_str().filter(fits);
    let wrong = || {
        let text = format!("`client_name` is a text of 1 to {MAX_NAME} characters that people can see");
        OAuthError::invalid_client_metadata(text)
    };
    name.map(|name| Some(name.to_owned())).ok_or_else(wrong)
}

/// Makes a client from its own description, with a new identifier. `scopes` are the scopes of the server. Returns the
/// client, and the answer to it, which has the secret.
pub(super) fn register(body: &[u8], scopes: &[String]) -> Result<(OAuthClient, Map<String, Value>), OAuthError> {
    let wrong = OAuthError::invalid_client_metadata;
    let mut metadata: Map<String, Value> =
        serde_json::from_slice(body).map_err(|error| wrong(format!("the body is no object of JSON: {error}")))?;
    for chosen in ["client_id", "client_secret", "client_id_issued_at", "client_secret_expires_at"] {
        metadata.remove(chosen);
    }
    let redirect_uris = words(metadata.get("redirect_uris"))
        .ok_or_else(|| OAuthError::new("invalid_redirect_uri", "`redirect_uris` is a list of texts"))?;
    check_redirects(&redirect_uris)?;
    let method = match metadata.get("token_endpoint_auth_method") {
        // The default of RFC 7591.
        None | Some(Value::Null) => ClientAuthMethod::SecretBasic,
        Some(method) => method.as_str().and_then(ClientAuthMethod::parse).ok_or_else(|| {
            wrong(format!("`token_endpoint_auth_method` is one of {}", ClientAuthMethod::NAMES.join(", ")))
        })?,
    };
    let grants = match metadata.get("grant_types") {
        None | Some(Value::Null) => vec!["authorization_code".to_owned()],
        given => words(given).ok_or_else(|| wrong("`grant_types` is a list of texts".to_owned()))?,
    };
    if !grants.iter().any(|grant| grant == GRANT_TYPES[0])
        || !grants.iter().all(|grant| GRANT_TYPES.contains(&grant.as_str()))
    {
        return Err(wrong(format!("`grant_types` is `{}`, and `{}` if wanted", GRANT_TYPES[0], GRANT_TYPES[1])));
    }
    match metadata.get("response_types") {
        None | Some(Value::Null) => {}
        given if words(given).is_some_and(|types| types.iter().any(|kind| kind == "code")) => {}
        _ => return Err(wrong("`response_types` is a list with `code`".to_owned())),
    }
    let wanted = match metadata.get("scope") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>()),
        Some(_) => return Err(wrong("`scope` is a text with scopes between spaces".to_owned())),
    };
    if let Some(unknown) = wanted.iter().flatten().find(|scope| !scopes.contains(scope)) {
        let shown: String = unknown.chars().take(50).collect();
        return Err(wrong(format!("there is no scope `{shown}`; there are: {}", scopes.join(" "))));
    }
    let name = client_name(&metadata)?;
    let mut client = OAuthClient::public(crate::random_id(), redirect_uris).self_registered();
    // The scopes that it names are no limit: clients request more later (step-up), and could register again for them.
    (client.name, client.auth_method) = (name, method);
    let secret = (method != ClientAuthMethod::None).then(random_token);
    client.secret_hash = secret.as_deref().map(sha256_hex);
    metadata.insert("token_endpoint_auth_method".into(), serde_json::to_value(method)?);
    metadata.insert("grant_types".into(), grants.into());
    metadata.insert("response_types".into(), vec!["code"].into());
    client.metadata = metadata.clone();
    let mut answer = metadata;
    answer.insert("client_id".into(), client.id.clone().into());
    answer.insert("client_id_issued_at".into(), now().into());
    if let Some(secret) = secret {
        answer.insert("client_secret".into(), secret.into());
        answer.insert("client_secret_expires_at".into(), 0.into());
    }
    Ok((client, answer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn try_with(more: Value) -> Result<(OAuthClient, Map<String, Value>), OAuthError> {
        let mut body = json!({"redirect_uris": ["https://a.example/back"], "client_name": "A"});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        register(body.to_string().as_bytes(), &["read".to_owned(), "write".to_owned()])
    }

    #[test]
    fn a_client_gets_an_identifier_and_a_secret_if_it_wants_one() {
        let (client, answer) =
            try_with(json!({"scope": "read", "logo_uri": "https://a.example/logo", "client_id": "mine"})).unwrap();
        assert_eq!(answer["client_id"], client.id);
        assert_ne!(client.id, "mine");
        assert_eq!(answer["token_endpoint_auth_method"], "client_secret_basic");
        assert_eq!(
            (&answer["client_secret_expires_at"], &answer["logo_uri"]),
            (&json!(0), &json!("https://a.example/logo"))
        );
        assert!(client.has_secret(answer["client_secret"].as_str().unwrap(), 0));
        assert!(!client.metadata.contains_key("client_secret"));
        assert_eq!((&client.scopes, &answer["scope"]), (&None, &json!("read")));
        let (client, answer) = try_with(json!({"token_endpoint_auth_method": "none"})).unwrap();
        assert!(!answer.contains_key("client_secret") && client.secret_hash.is_none());
    }

    #[test]
    fn what_is_not_offered_cannot_be_registered_for() {
        for (more, code) in [
            (json!({"token_endpoint_auth_method": "private_key_jwt"}), "invalid_client_metadata"),
            (json!({"token_endpoint_auth_method": 1}), "invalid_client_metadata"),
            (json!({"grant_types": ["refresh_token"]}), "invalid_client_metadata"),
            (
                json!({"grant_types": ["authorization_code", "urn:ietf:params:oauth:grant-type:jwt-bearer"]}),
                "invalid_client_metadata",
            ),
            (json!({"grant_types": ["authorization_code", "implicit"]}), "invalid_client_metadata"),
            (json!({"response_types": ["token"]}), "invalid_client_metadata"),
            (json!({"scope": "read delete"}), "invalid_client_metadata"),
            (json!({"client_name": "x".repeat(MAX_NAME + 1)}), "invalid_client_metadata"),
            (json!({"client_name": "a\u{7}"}), "invalid_client_metadata"),
            (json!({"client_name": "\u{202e}elgooG"}), "invalid_client_metadata"),
            (json!({"client_name": "a\u{2066}b"}), "invalid_client_metadata"),
            (json!({"client_name": "a\u{200b}b"}), "invalid_client_metadata"),
            (json!({"client_name": " "}), "invalid_client_metadata"),
            (json!({"redirect_uris": ["http://a.example/back"]}), "invalid_redirect_uri"),
            (json!({"redirect_uris": null}), "invalid_redirect_uri"),
        ] {
            assert_eq!(try_with(more.clone()).unwrap_err().code(), code, "{more}");
        }
        assert_eq!(register(b"[]", &[]).unwrap_err().code(), "invalid_client_metadata");
    }
}
