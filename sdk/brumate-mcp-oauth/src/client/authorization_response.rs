//! The authorization response, which comes by way of the browser (RFC 6749, section 4.1.2).

use super::AuthError;
use super::metadata::ServerMetadata;
use subtle::ConstantTimeEq as _;
use url::Url;

/// Reads the authorization code from `answer` (RFC 6749, section 4.1.2; RFC 9207).
///
/// `answer` is the address to which the authorization server sent the browser.
pub(super) fn read_authorization_response(
    answer: &str,
    state: &str,
    server: &ServerMetadata,
) -> Result<String, AuthError> {
    let url = Url::parse(answer).map_err(|error| AuthError(format!("the browser came back to no address: {error}")))?;
    let get = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let same = |given: &str| bool::from(given.as_bytes().ct_eq(state.as_bytes()));
    if !get("state").is_some_and(|given| same(&given)) {
        return Err(AuthError::new("the answer of the authorization server is not to this client's request (`state`)"));
    }
    // The issuer is checked before the rest of the response is used.
    match get("iss") {
        Some(issuer) if issuer != server.issuer => {
            return Err(AuthError(format!("the answer is of another authorization server than `{}`", server.issuer)));
        }
        None if server.authorization_response_iss_parameter_supported => {
            return Err(AuthError::new("the authorization server's answer does not say whose it is (`iss`)"));
        }
        _ => {}
    }
    if let Some(error) = get("error") {
        let text = get("error_description").map(|text| format!(": {text}")).unwrap_or_default();
        return Err(AuthError(format!("the authorization server refuses: {error}{text}")));
    }
    get("code").ok_or_else(|| AuthError::new("the authorization server's answer has no code"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn server(says_whose: bool) -> ServerMetadata {
        let metadata = json!({
            "issuer": "https://issuer",
            "token_endpoint": "https://issuer/token",
            "authorization_response_iss_parameter_supported": says_whose,
        });
        serde_json::from_value(metadata).unwrap()
    }

    #[test]
    fn an_answer_must_be_to_the_request_and_of_the_issuer() {
        let read = |query: &str, says_whose| {
            read_authorization_response(&format!("http://localhost/cb?{query}"), "s", &server(says_whose))
        };
        assert_eq!(read("state=s&code=c", false).unwrap(), "c");
        assert_eq!(read("state=s&code=c&iss=https%3A%2F%2Fissuer", true).unwrap(), "c");
        for (query, says_whose) in [
            ("code=c", false),
            ("state=other&code=c", false),
            ("state=s&code=c", true),
            ("state=s&code=c&iss=https://issuer/", true),
            ("state=s&code=c&iss=https://evil", false),
            ("state=s", false),
            ("state=s&error=access_denied", false),
        ] {
            read(query, says_whose).expect_err(query);
        }
        // The text of another server's error is not shown.
        let error =
            read("state=s&error=x&error_description=click+here&iss=https://evil", false).unwrap_err().to_string();
        assert!(!error.contains("click"), "{error}");
    }
}
