//! The page on which people sign in and agree, and what the log has of it.

use super::world::{VERIFIER, World, location, parameter};
use crate::log::Log;
use http::StatusCode;
use serde_json::Value;
use std::sync::Mutex;

#[tokio::test]
async fn nobody_agrees_for_somebody_else() {
    let world = World::anybody().await;
    let (fields, _) = world.page("public", &[]).await;
    // A page of another origin has no cookie, or sends its own origin.
    let cookies = std::mem::take(&mut *world.cookies.lock().unwrap());
    assert_eq!(world.submit(&fields, &[("answer", "allow")]).await.status, StatusCode::FORBIDDEN);
    *world.cookies.lock().unwrap() = cookies;
    let without_token: Vec<_> = fields.iter().filter(|(name, _)| name != "token").cloned().collect();
    assert_eq!(world.submit(&without_token, &[("answer", "allow")]).await.status, StatusCode::FORBIDDEN);
    let (other, _) = world.page("public", &[]).await;
    let mixed = [&fields[..1], &other[1..]].concat();
    assert_eq!(world.submit(&mixed, &[("answer", "allow")]).await.status, StatusCode::FORBIDDEN);
    let foreign = World {
        http: world.http.clone().with("origin", "https://evil.example"),
        cookies: Mutex::default(),
        _directory: None,
    };
    *foreign.cookies.lock().unwrap() = world.cookies.lock().unwrap().clone();
    assert_eq!(foreign.submit(&fields, &[("answer", "allow")]).await.status, StatusCode::FORBIDDEN);
    // Whoever does not want it says so, and anything but `allow` is no.
    let back = location(&world.submit(&fields, &[]).await);
    assert_eq!(parameter(&back, "error").as_deref(), Some("access_denied"));
    assert_eq!(world.submit(&fields, &[("answer", "allow")]).await.status, StatusCode::BAD_REQUEST);
    let unknown = world.browse("GET", "/authorize/consent?request=unknown", &[]).await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn people_sign_in_with_a_password_in_a_few_tries() {
    let world = World::new(|auth| {
        auth.password_sign_in(|name, password| async move { (password == "right").then(|| format!("user of {name}")) })
    })
    .await;
    let (fields, page) = world.page("public", &[]).await;
    assert!(page.body.contains("name=password"));
    let wrong = world.submit(&fields, &[("answer", "allow"), ("name", "ada"), ("password", "wrong")]).await;
    assert!(wrong.status == StatusCode::OK && wrong.body.contains("is wrong"), "{}", wrong.body);
    let back = world.submit(&fields, &[("answer", "allow"), ("name", "ada"), ("password", "right")]).await;
    let tokens = world.exchange(&parameter(&location(&back), "code").unwrap(), &[]).await.unwrap();
    assert!(world.call(&tokens).await.unwrap().starts_with("user of ada"));
    let (fields, _) = world.page("public", &[]).await;
    let mut answers = Vec::new();
    for _ in 0..10 {
        answers.push(world.submit(&fields, &[("answer", "allow"), ("name", "ada"), ("password", "no")]).await);
    }
    assert!(answers[..9].iter().all(|answer| answer.status == StatusCode::OK));
    assert_eq!(parameter(&location(&answers[9]), "error").as_deref(), Some("access_denied"));
    // Where something in front says who it is.
    let world =
        World::new(|auth| auth.user_from_request(|head| Some(head.headers.get("x-user")?.to_str().ok()?.to_owned())))
            .await;
    let answer = world.authorize(&[]).await;
    assert_eq!(world.browse("GET", location(&answer).as_str(), &[]).await.status, StatusCode::FORBIDDEN);
    let world = World { http: world.http.clone().with("x-user", "eve"), ..world };
    let tokens = world.exchange(&world.code("public", &[]).await, &[]).await.unwrap();
    assert!(world.call(&tokens).await.unwrap().starts_with("eve by"));
}

/// Codes, tokens, secrets and passwords are in no log, whatever is logged.
#[test]
fn no_log_has_a_secret() {
    let log = Log::default();
    let dispatch = tracing::Dispatch::new(log.subscriber(tracing::Level::TRACE));
    let of_threads = dispatch.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // The database works on threads of its own.
        .on_thread_start(move || std::mem::forget(tracing::dispatcher::set_default(&of_threads)))
        .build()
        .expect("a runtime");
    let secrets = tracing::dispatcher::with_default(&dispatch, || {
        runtime.block_on(async {
            let world = World::new(|auth| {
                auth.password_sign_in(|_, password| async move { (password == "p4ssword").then(|| "ada".to_owned()) })
            })
            .await;
            let (fields, _) = world.page("post", &[]).await;
            let sign_in = async |password| {
                world.submit(&fields, &[("answer", "allow"), ("name", "ada"), ("password", password)]).await
            };
            sign_in("wr0ng").await;
            let code = parameter(&location(&sign_in("p4ssword").await), "code").expect("a code");
            let client = [("client_id", "post"), ("client_secret", "s3cret")];
            let tokens = world.exchange(&code, &client).await.expect("tokens");
            assert!(world.call(&tokens).await.is_ok());
            let next = world.refresh(&tokens, &client).await.expect("tokens");
            world.refresh(&tokens, &client).await.expect_err("it was used");
            world.call(&next).await.expect_err("all was revoked");
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            let of = |tokens: &Value| [text(&tokens["access_token"]), text(&tokens["refresh_token"])];
            let more = ["s3cret", "p4ssword", "wr0ng", VERIFIER].map(str::to_owned);
            [&of(&tokens)[..], &of(&next), &more, &[code]].concat()
        })
    });
    let log = log.text();
    assert!(log.contains("it was used twice"), "{log}");
    for secret in secrets {
        assert!(!log.contains(&secret), "{secret}: {log}");
    }
}
