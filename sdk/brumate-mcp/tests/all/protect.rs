//! Servers that are protected by access tokens: metadata, challenges, scopes, what belongs to whom.

use crate::log::Log;
use crate::support::{Answer, Http, MODERN, call, meta, read};
use axum::body::Body;
use brumate_mcp::auth::{Access, Protect};
use brumate_mcp::{App, Context, Elicitation, ElicitationResult, Error, HttpOptions, Server, TaskSupport, Tool, tool};
use http::StatusCode;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tracing_subscriber::util::SubscriberInitExt as _;

const RESOURCE: &str = "http://localhost:8000/mcp";

/// Says who calls.
#[tool]
async fn who(access: Option<Access>, context: Context) -> String {
    let access = access.map(|access| (access.subject, access.scopes));
    let authorization = context.http().and_then(|head| head.headers.get("authorization").cloned());
    format!("{access:?} {authorization:?} {}", context.principal().is_some())
}

/// Deletes something.
#[tool(scopes = "files:write files:admin")]
async fn delete() -> &'static str {
    "deleted"
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Confirmation {
    sure: bool,
}

/// Asks first.
#[tool]
async fn careful(context: Context) -> Result<String, Error> {
    match context.elicit(Elicitation::<Confirmation>::form("Are you sure?")).await? {
        ElicitationResult::Accepted(Confirmation { sure }) => Ok(format!("sure: {sure}")),
        _ => Ok("no".to_owned()),
    }
}

fn server() -> Server {
    let slow = Tool::new("slow").tasks(TaskSupport::Required).raw_handler(|_, _| async { "done" });
    Server::new("protected").tool(who).tool(delete).tool(careful).tool(slow)
}

/// Tokens are `subject/client/scope scope`, and are for this server unless they say `elsewhere`.
async fn verify(token: String) -> Result<Option<Access>, Error> {
    if token == "unreachable" {
        return Err(Error::new("the authorization server is away"));
    }
    let mut parts = token.split('/');
    let (Some(subject), Some(client), Some(scopes)) = (parts.next(), parts.next(), parts.next()) else {
        return Ok(None);
    };
    let audience = if parts.next().is_some() { "http://localhost:8000/elsewhere" } else { RESOURCE };
    let access = Access::new(subject).with_client(client).with_audience([audience]);
    Ok(Some(access.with_scopes(scopes.split(' '))))
}

fn protect() -> Protect {
    Protect::new(RESOURCE).issuer("https://auth.example").verifier(verify).scopes(["mcp"])
}

fn options() -> HttpOptions {
    HttpOptions::new().stateless().protect(protect()).expect("settings")
}

fn with_token(http: &Http, token: &str) -> Http {
    http.clone().with("authorization", &format!("Bearer {token}"))
}

fn challenge(answer: &Answer) -> &str {
    answer.headers.get("www-authenticate").map_or("", |value| value.to_str().expect("text"))
}

#[tokio::test]
async fn each_refusal_has_its_challenge() {
    let http = Http::new(&server(), options());
    let metadata = "resource_metadata=\"http://localhost:8000/.well-known/oauth-protected-resource/mcp\"";
    // No token: nothing is wrong yet (RFC 6750, section 3.1).
    let answer = http.call(1, "who", json!({})).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    assert_eq!(challenge(&answer), format!("Bearer {metadata}, scope=\"mcp\""));
    for (token, status, error) in [
        ("nonsense", StatusCode::UNAUTHORIZED, "invalid_token"),
        ("ada/app/mcp/elsewhere", StatusCode::UNAUTHORIZED, "invalid_token"),
        ("ada/app/other", StatusCode::FORBIDDEN, "insufficient_scope"),
    ] {
        let answer = with_token(&http, token).call(1, "who", json!({})).await;
        assert_eq!(answer.status, status, "{token}");
        let challenge = challenge(&answer);
        assert!(challenge.starts_with(&format!("Bearer error=\"{error}\"")), "{challenge}");
        assert!(challenge.ends_with(&format!("{metadata}, scope=\"mcp\"")), "{challenge}");
    }
    let answer = with_token(&http, "unreachable").call(1, "who", json!({})).await;
    assert_eq!((answer.status, challenge(&answer)), (StatusCode::SERVICE_UNAVAILABLE, ""));
    let mut twice = with_token(&http, "ada/app/mcp");
    twice.headers.append("authorization", "Bearer ada/app/mcp".parse().expect("a header"));
    let answer = twice.call(1, "who", json!({})).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(challenge(&answer).contains("error=\"invalid_request\""), "{}", challenge(&answer));
    // What is granted is seen by the handler; the token is not.
    let answer = with_token(&http, "ada/app/mcp").call(1, "who", json!({})).await;
    assert!(answer.body.contains(r#"Some((\"ada\", [\"mcp\"])) None true"#), "{}", answer.body);
}

/// The verifier is a closure that has captured its tokens.
#[tokio::test]
async fn a_refused_token_has_its_reason() {
    let log = Log::default();
    let _guard = log.subscriber(tracing::Level::INFO).set_default();
    let ended = SystemTime::now() - Duration::from_secs(1);
    let known = Arc::new(HashMap::from([
        ("good".to_owned(), Access::new("ada").with_audience([RESOURCE])),
        ("bare".to_owned(), Access::new("ada")),
        ("late".to_owned(), Access::new("ada").with_audience([RESOURCE]).with_expiry(ended)),
        ("foreign".to_owned(), Access::new("ada").with_audience(["http://localhost:8000/elsewhere"])),
    ]));
    let verify = async move |token: String| Ok::<_, Error>(known.get(&token).cloned());
    let protect = Protect::new(RESOURCE).issuer("https://auth.example").verifier(verify);
    let http = Http::new(&server(), HttpOptions::new().stateless().protect(protect).expect("settings"));
    assert_eq!(with_token(&http, "good").call(1, "who", json!({})).await.status, StatusCode::OK);
    for (token, reason) in [
        ("bare", "it has no audience, and tokens for http://localhost:8000/mcp are accepted"),
        ("late", "it has expired"),
        ("foreign", "it is for another resource than http://localhost:8000/mcp"),
        ("unknown", "its verifier does not accept it"),
    ] {
        let answer = with_token(&http, token).call(1, "who", json!({})).await;
        let text = format!("the token is not valid: {reason}");
        assert_eq!((answer.status, answer.body.as_str()), (StatusCode::UNAUTHORIZED, text.as_str()));
        let challenge = challenge(&answer);
        assert!(challenge.contains(&format!("error_description=\"{text}\"")), "{challenge}");
        assert!(log.text().contains(reason), "{}", log.text());
    }
    assert!(log.text().contains("Protect::audience_checked_by_verifier"), "{}", log.text());
}

#[tokio::test]
async fn a_tool_needs_its_scopes_in_each_protocol_and_transport() {
    let app = App::new().mount("", server(), HttpOptions::new().legacy_sse().protect(protect()).expect("settings"));
    let http = Http::of(app.router());
    let poor = with_token(&http, "ada/app/mcp files:write");
    let rich = with_token(&http, "ada/app/mcp files:write files:admin");
    let session = poor.clone().session().await;
    for answer in [session.call(1, "delete", json!({})).await, poor.call_modern("delete", json!({})).await] {
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.body);
        let challenge = challenge(&answer);
        assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
        assert!(challenge.ends_with("scope=\"mcp files:write files:admin\""), "{challenge}");
    }
    // A name that is written otherwise is the same name.
    let escaped = call(2, "delete", json!({})).to_string().replace("delete", "\\u0064elete");
    assert_eq!(session.send("POST", "/mcp", Body::from(escaped)).await.status(), StatusCode::FORBIDDEN);
    // What the check of HTTP cannot read the handler refuses.
    let doubled = r#"{"jsonrpc":"2.0","id":3,"method":"ping","method":"tools/call","params":{"name":"delete"}}"#;
    let answer = read(session.send("POST", "/mcp", Body::from(doubled)).await).await;
    assert!(!answer.body.contains("deleted"), "{}", answer.body);
    // The session is the principal's, whatever scopes its tokens have: the client may have stepped up.
    let session = with_token(&session, "ada/app/mcp files:write files:admin");
    assert!(session.call(4, "delete", json!({})).await.body.contains("deleted"));
    assert!(rich.call_modern("delete", json!({})).await.body.contains("deleted"));
    // The older transport answers the message with the status as well.
    let mut stream = poor.send("GET", "/sse", Body::empty()).await;
    let address = first_event(&mut stream).await;
    let message = call(5, "delete", json!({})).to_string();
    let refused = poor.send("POST", &address, Body::from(message.clone())).await;
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    assert_eq!(rich.send("POST", &address, Body::from(message)).await.status(), StatusCode::ACCEPTED);
}

/// Returns the data of the first event of a stream.
async fn first_event(stream: &mut http::Response<Body>) -> String {
    use http_body_util::BodyExt as _;
    let frame = stream.frame().await.expect("it goes on").expect("a frame");
    let text = String::from_utf8(frame.into_data().expect("data").to_vec()).expect("text");
    text.lines().find_map(|line| line.strip_prefix("data: ")).expect("data").to_owned()
}

#[tokio::test]
async fn tools_are_hidden_from_those_who_may_not_call_them_if_that_is_wanted() {
    let names = |answer: &Answer| -> Vec<String> {
        let tools = answer.last()["result"]["tools"].clone();
        let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
        tools.as_array().expect("tools").iter().map(name).collect()
    };
    let list = async |http: &Http| {
        let http = http.clone().with("mcp-protocol-version", MODERN).with("mcp-method", "tools/list");
        let params = json!({"_meta": meta(json!({}))});
        http.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params})).await
    };
    let shown = Http::new(&server(), options());
    assert!(names(&list(&with_token(&shown, "ada/app/mcp")).await).contains(&"delete".to_owned()));
    let hiding = HttpOptions::new().stateless().protect(protect().hide_unscoped()).expect("settings");
    let server = server().cache_lists(std::time::Duration::from_secs(60), brumate_mcp::CacheScope::Public);
    let hidden = Http::new(&server, hiding);
    let poor = list(&with_token(&hidden, "ada/app/mcp")).await;
    assert_eq!(names(&poor).len(), 3);
    assert_eq!(poor.last()["result"]["cacheScope"], "private");
    let rich = list(&with_token(&hidden, "ada/app/mcp files:write files:admin")).await;
    assert!(names(&rich).contains(&"delete".to_owned()));
}

/// A tool's scopes are no matter of a process that serves itself.
#[tokio::test]
async fn without_http_there_are_no_scopes() {
    let client = brumate_mcp::Client::in_process(&server()).connect().await.expect("a client");
    assert_eq!(client.call("delete").await.expect("a result").text(), "deleted");
    // Over HTTP without access tokens nobody has the scope.
    let open = Http::new(&server(), HttpOptions::new().stateless());
    assert_eq!(open.call(1, "delete", json!({})).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn metadata_are_where_clients_look_for_them() {
    let protected = |resource: &str| {
        let protect = Protect::new(resource).issuer("https://auth.example").verifier(verify);
        HttpOptions::new().protect(protect).expect("settings")
    };
    let app = App::new()
        .mount("/echo", server(), protected("http://localhost:8000/echo/mcp"))
        .mount("/math", server(), protected("https://example.com/tools/math/mcp"))
        .mount("/open", server(), HttpOptions::new());
    let http = Http::of(app.router());
    let get = async |http: &Http, path: &str| {
        let answer =
            read(http.send("GET", &format!("/.well-known/oauth-protected-resource{path}"), Body::empty()).await).await;
        let resource = serde_json::from_str::<Value>(&answer.body).map(|found| found["resource"].clone());
        (answer.status, resource.unwrap_or_default())
    };
    for (path, expected) in [
        ("/echo/mcp", "http://localhost:8000/echo/mcp"),
        ("/math/mcp", "https://example.com/tools/math/mcp"),
        ("/tools/math/mcp", "https://example.com/tools/math/mcp"),
    ] {
        assert_eq!(get(&http, path).await, (StatusCode::OK, expected.into()), "{path}");
    }
    assert_eq!(get(&http, "/open/mcp").await.0, StatusCode::NOT_FOUND);
    assert_eq!(get(&http, "").await.0, StatusCode::NOT_FOUND, "there are two");
    // Every page may read them, under a host that is let in.
    assert_eq!(get(&http.clone().with("origin", "https://evil.example"), "/echo/mcp").await.0, StatusCode::OK);
    assert_eq!(get(&http.clone().with("host", "evil.example"), "/echo/mcp").await.0, StatusCode::FORBIDDEN);
    assert_eq!(get(&http.with("host", "example.com"), "/math/mcp").await.0, StatusCode::OK);
    let one = Http::of(App::new().mount("", server(), options()).router());
    let answer = read(one.send("GET", "/.well-known/oauth-protected-resource", Body::empty()).await).await;
    assert_eq!(answer.headers["access-control-allow-origin"], "*");
    let metadata: Value = serde_json::from_str(&answer.body).expect("JSON");
    assert_eq!(metadata["scopes_supported"], json!(["mcp"]));
    assert_eq!(metadata["authorization_servers"], json!(["https://auth.example"]));
}

/// What Ada began is unknown to Bob, and to Ada with another client.
#[tokio::test]
async fn what_a_principal_began_is_unknown_to_others() {
    let http = Http::new(&server(), HttpOptions::new().protect(protect()).expect("settings"));
    let ada = with_token(&http, "ada/app/mcp");
    let others = ["bob/app/mcp", "ada/other/mcp"].map(|token| with_token(&http, token));
    // Sessions.
    let session = ada.clone().session().await;
    assert_eq!(session.call(1, "who", json!({})).await.status, StatusCode::OK);
    for token in ["bob/app/mcp", "ada/other/mcp"] {
        assert_eq!(with_token(&session, token).call(2, "who", json!({})).await.status, StatusCode::NOT_FOUND);
    }
    // The state of a question.
    let ask = async |http: &Http, more: Value| {
        let mut params =
            json!({"name": "careful", "arguments": {}, "_meta": meta(json!({"elicitation": {"form": {}}}))});
        for (name, value) in more.as_object().expect("an object") {
            params[name] = value.clone();
        }
        let http = http.clone().with("mcp-protocol-version", MODERN).with("mcp-method", "tools/call");
        let http = http.with("mcp-name", "careful");
        http.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await.last()
    };
    let asked = ask(&ada, json!({})).await;
    let questions =
        asked["result"]["inputRequests"].as_object().expect("questions").keys().next().expect("one").clone();
    let mut answers = json!({});
    answers[questions] = json!({"action": "accept", "content": {"sure": true}});
    let retry = json!({"requestState": asked["result"]["requestState"], "inputResponses": answers});
    for other in &others {
        let refused = ask(other, retry.clone()).await;
        assert!(refused["error"]["message"].as_str().expect("an error").contains("requestState"), "{refused}");
    }
    assert_eq!(ask(&ada, retry).await["result"]["content"][0]["text"], "sure: true");
    // Tasks.
    let tasks = |http: &Http, method: &'static str, params: Value| {
        let http = http.clone().with("mcp-protocol-version", MODERN).with("mcp-method", method);
        async move {
            let mut params = params;
            let http = match params["name"].as_str() {
                Some(name) => http.with("mcp-name", name),
                None => match params["taskId"].as_str() {
                    Some(id) => http.with("mcp-name", id),
                    None => http,
                },
            };
            params["_meta"] = meta(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
            http.post(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await.last()
        }
    };
    let created = tasks(&ada, "tools/call", json!({"name": "slow", "arguments": {}})).await;
    let id = created["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{created}")).to_owned();
    for other in &others {
        let unknown = tasks(other, "tasks/get", json!({"taskId": id})).await;
        assert!(unknown["error"].is_object(), "{unknown}");
    }
    let known = tasks(&ada, "tasks/get", json!({"taskId": id})).await;
    assert!(known["result"].is_object(), "{known}");
}
