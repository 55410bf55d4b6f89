//! An authorization server beside the server that it gives tokens for: codes and tokens.

mod clients;
mod people;
mod strangers;
mod world;

pub(crate) use world::{agree, browser};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde_json::json;
use world::{BACK, CHALLENGE, ISSUER, RESOURCE, VERIFIER, World, encode, location, outcome, parameter, request};

#[tokio::test]
async fn a_code_becomes_tokens_for_the_server() {
    let world = World::anybody().await;
    let (fields, page) = world.page("public", &[("scope", "read delete")]).await;
    // What is shown is escaped, and no other page can show it in a frame.
    assert!(page.body.contains("Public &lt;b&gt;") && page.body.contains("127.0.0.1:7"), "{}", page.body);
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self' http://127.0.0.1:7"),
        "{policy}"
    );
    let back = location(&world.submit(&fields, &[("answer", "allow")]).await);
    assert!(back.as_str().starts_with(BACK), "{back}");
    assert_eq!(parameter(&back, "state").as_deref(), Some("st&te"));
    assert_eq!(parameter(&back, "iss").as_deref(), Some(ISSUER));
    let tokens = world.exchange(&parameter(&back, "code").unwrap(), &[("resource", RESOURCE)]).await.unwrap();
    assert_eq!((&tokens["token_type"], &tokens["scope"]), (&json!("Bearer"), &json!("read delete")));
    assert_eq!(world.call(&tokens).await.unwrap(), "ada by Some(\"public\") may read delete");
    // A form counts once.
    let again = world.submit(&fields, &[("answer", "allow")]).await;
    assert_eq!(again.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_code_counts_once_and_its_second_use_ends_what_it_gave() {
    let world = World::anybody().await;
    let code = world.code("public", &[]).await;
    // Another client that has found the code learns nothing, and ends nothing.
    assert_eq!(
        world.exchange(&code, &[("client_id", "post"), ("client_secret", "s3cret")]).await.unwrap_err(),
        "invalid_grant"
    );
    let tokens = world.exchange(&code, &[]).await.unwrap();
    assert!(world.call(&tokens).await.is_ok());
    assert_eq!(world.exchange(&code, &[]).await.unwrap_err(), "invalid_grant");
    assert_eq!(world.call(&tokens).await, Err(StatusCode::UNAUTHORIZED));
    assert_eq!(world.refresh(&tokens, &[]).await.unwrap_err(), "invalid_grant");
    // Of many at once, one gets tokens.
    let code = world.code("public", &[]).await;
    let many = futures::future::join_all((0..8).map(|_| world.exchange(&code, &[]))).await;
    assert!(many.iter().filter(|result| result.is_ok()).count() <= 1, "{many:?}");
}

#[tokio::test]
async fn a_code_is_bound_to_its_request() {
    let world = World::anybody().await;
    for (more, error) in [
        (&[("code_verifier", CHALLENGE)][..], "invalid_grant"),
        (&[("code_verifier", "")], "invalid_request"),
        (&[("redirect_uri", "http://127.0.0.1:7/bac")], "invalid_grant"),
        (&[("redirect_uri", "http://127.0.0.1:8/back")], "invalid_grant"),
        (&[("resource", "http://localhost:8000/other")], "invalid_target"),
        (&[("code", "guessed")], "invalid_grant"),
        (&[("client_id", "nobody")], "invalid_client"),
        (&[("grant_type", "password")], "unsupported_grant_type"),
        (
            &[("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", "x")],
            "unsupported_grant_type",
        ),
    ] {
        let code = world.code("public", &[]).await;
        assert_eq!(world.exchange(&code, more).await.unwrap_err(), error, "{more:?}");
    }
}

#[tokio::test]
async fn refresh_tokens_are_replaced_and_the_second_use_of_one_ends_all() {
    let world = World::anybody().await;
    let first = world.exchange(&world.code("public", &[("scope", "read delete")]).await, &[]).await.unwrap();
    let second = world.refresh(&first, &[("resource", RESOURCE)]).await.unwrap();
    assert_eq!(second["scope"], "read delete");
    // Fewer scopes are possible, more are not, and what was granted stays.
    let third = world.refresh(&second, &[("scope", "read")]).await.unwrap();
    assert_eq!(world.call(&third).await.unwrap(), "ada by Some(\"public\") may read");
    assert_eq!(world.refresh(&third, &[("scope", "admin")]).await.unwrap_err(), "invalid_scope");
    assert_eq!(world.refresh(&third, &[("resource", "http://localhost:8000/x")]).await.unwrap_err(), "invalid_target");
    let fourth = world.refresh(&third, &[]).await.unwrap();
    assert_eq!(fourth["scope"], "read delete");
    let stranger = world.refresh(&fourth, &[("client_id", "post"), ("client_secret", "s3cret")]).await;
    assert_eq!(stranger.unwrap_err(), "invalid_grant");
    assert!(world.call(&fourth).await.is_ok());
    assert_eq!(world.refresh(&first, &[]).await.unwrap_err(), "invalid_grant");
    for tokens in [&first, &second, &fourth] {
        assert_eq!(world.call(tokens).await, Err(StatusCode::UNAUTHORIZED));
    }
    assert_eq!(world.refresh(&fourth, &[]).await.unwrap_err(), "invalid_grant");
}

#[tokio::test]
async fn before_client_and_address_are_known_nothing_is_redirected() {
    let world = World::anybody().await;
    for more in [
        &[("client_id", "nobody")][..],
        &[("client_id", "")],
        &[("redirect_uri", "http://127.0.0.1:7/bac")],
        &[("redirect_uri", "http://127.0.0.1:7/back/")],
        &[("redirect_uri", "http://127.0.0.1:7/back?x")],
        &[("redirect_uri", "https://evil.example/back")],
        &[("redirect_uri", "javascript:alert(1)")],
    ] {
        let answer = world.authorize(more).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{more:?}");
        assert!(!answer.headers.contains_key("location"), "{more:?}");
    }
    let twice = world.browse("GET", &format!("/authorize?{}&state=x", encode(&request("public", &[]))), &[]).await;
    assert_eq!(twice.status, StatusCode::BAD_REQUEST);
    // A port of the client's machine may be another one; the one address there is need not be named.
    let other = world.authorize(&[("redirect_uri", "http://127.0.0.1:7777/back")]).await;
    assert_eq!(other.status, StatusCode::SEE_OTHER);
    assert!(location(&world.authorize(&[("redirect_uri", "")]).await).path().starts_with("/authorize/consent"));
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told_to_its_client() {
    let world = World::anybody().await;
    for (more, error) in [
        (&[("response_type", "token")][..], "unsupported_response_type"),
        (&[("response_type", "")], "invalid_request"),
        (&[("code_challenge", "")], "invalid_request"),
        (&[("code_challenge_method", "")], "invalid_request"),
        (&[("code_challenge_method", "plain")], "invalid_request"),
        (&[("code_challenge", "short")], "invalid_request"),
        (&[("scope", "read admin")], "invalid_scope"),
        (&[("resource", "https://evil.example/mcp")], "invalid_target"),
        (&[("request_uri", "https://evil.example/")], "request_not_supported"),
    ] {
        let back = location(&world.authorize(more).await);
        assert!(back.as_str().starts_with(BACK), "{back}");
        assert_eq!(parameter(&back, "error").as_deref(), Some(error), "{more:?}");
        assert_eq!(parameter(&back, "state").as_deref(), Some("st&te"));
        assert_eq!(parameter(&back, "iss").as_deref(), Some(ISSUER));
        assert_eq!(parameter(&back, "code"), None);
    }
    let post = world.browse("POST", "/authorize", &request("public", &[("scope", "admin")])).await;
    assert_eq!(parameter(&location(&post), "error").as_deref(), Some("invalid_scope"));
}

#[tokio::test]
async fn clients_show_who_they_are_as_they_have_registered() {
    let world = World::anybody().await;
    let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
    let form = async |client: &str| {
        let code = world.code(client, &[]).await;
        vec![("grant_type", "authorization_code".to_owned()), ("code", code), ("code_verifier", VERIFIER.to_owned())]
    };
    let post = async |authorization: Option<String>, form: &[(&str, String)], more: &[(&str, &str)]| {
        let mut form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        form.extend(more);
        outcome(world.post("/token", authorization.as_deref(), &form).await)
    };
    let (of_basic, of_post) = (form("basic").await, form("post").await);
    for (authorization, form, more, error) in [
        (Some(basic("basic:wrong")), &of_basic, &[][..], "invalid_client"),
        (None, &of_basic, &[("client_id", "basic")], "invalid_client"),
        (None, &of_basic, &[("client_id", "basic"), ("client_secret", "s3cret")], "invalid_client"),
        (Some(basic("basic:s3cret")), &of_basic, &[("client_secret", "s3cret")], "invalid_request"),
        (Some(basic("post:s3cret")), &of_post, &[], "invalid_client"),
        (None, &of_post, &[("client_id", "post"), ("client_secret", "s3cre")], "invalid_client"),
        (None, &of_post, &[], "invalid_client"),
    ] {
        assert_eq!(post(authorization, form, more).await.unwrap_err(), error, "{more:?}");
    }
    post(Some(basic("basic:s3cret")), &of_basic, &[("client_id", "basic")]).await.unwrap();
    post(None, &of_post, &[("client_id", "post"), ("client_secret", "s3cret")]).await.unwrap();
}

#[tokio::test]
async fn tokens_are_revoked_by_their_client() {
    let world = World::anybody().await;
    for kind in ["access_token", "refresh_token"] {
        let tokens = world.exchange(&world.code("public", &[]).await, &[]).await.unwrap();
        let token = tokens[kind].as_str().unwrap();
        let revoke = async |client: &[(&str, &str)], token: &str| {
            let form = [client, &[("token", token)]].concat();
            world.post("/revoke", None, &form).await.0
        };
        assert_eq!(revoke(&[("client_id", "post"), ("client_secret", "s3cret")], token).await, StatusCode::OK);
        assert!(world.call(&tokens).await.is_ok(), "it was another client's");
        assert_eq!(revoke(&[("client_id", "nobody")], token).await, StatusCode::UNAUTHORIZED);
        assert_eq!(revoke(&[("client_id", "public")], "unknown").await, StatusCode::OK);
        assert_eq!(revoke(&[("client_id", "public")], token).await, StatusCode::OK);
        assert_eq!(world.call(&tokens).await, Err(StatusCode::UNAUTHORIZED));
        assert_eq!(world.refresh(&tokens, &[]).await.unwrap_err(), "invalid_grant");
    }
}
