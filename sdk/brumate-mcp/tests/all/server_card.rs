//! Server cards and their catalog (SEP-2127).

use crate::support::Http;
use axum::body::Body;
use brumate_mcp::{App, HttpOptions, Server, ServerCard};
use http::StatusCode;
use serde_json::{Value, json};

fn card(name: &str) -> ServerCard {
    ServerCard::new(name, format!("https://mcp.example.com/{}/mcp", name.split('/').nth(1).unwrap()))
}

async fn get(http: &Http, path: &str) -> (http::response::Parts, Value) {
    let (head, body) = http.send("GET", path, Body::empty()).await.into_parts();
    let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    (head, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[tokio::test]
async fn everyone_reads_a_card() {
    let weather = Server::new("Weather").version("1.2.3").title("Weather").description("Forecasts");
    let options = HttpOptions::new().server_card(card("com.example/weather").header("X-Key", "The key", true));
    let tides = HttpOptions::new().server_card(card("com.example/tides").description("Tides").version("2.0.0"));
    let plain = Server::new("plain");
    let app = App::new().mount("/weather", weather, options).mount("/tides", Server::new("Tides"), tides).mount(
        "/plain",
        plain,
        HttpOptions::new(),
    );
    app.start().await.unwrap();
    let http = Http::of(app.router());
    let (head, found) = get(&http, "/weather/mcp/server-card").await;
    assert_eq!(head.headers["content-type"], "application/mcp-server-card+json");
    assert_eq!(head.headers["access-control-allow-origin"], "*");
    let versions = found["remotes"][0]["supportedProtocolVersions"].clone();
    assert!(versions.as_array().unwrap().contains(&json!("2026-07-28")));
    assert_eq!(
        found,
        json!({
            "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
            "name": "com.example/weather",
            "version": "1.2.3",
            "title": "Weather",
            "description": "Forecasts",
            "remotes": [{
                "type": "streamable-http",
                "url": "https://mcp.example.com/weather/mcp",
                "supportedProtocolVersions": versions,
                "headers": [{"name": "X-Key", "description": "The key", "isRequired": true, "isSecret": true}],
            }],
        })
    );
    let tag = head.headers["etag"].to_str().unwrap();
    let again = http.clone().with("if-none-match", &format!("\"x\", W/{tag}"));
    assert_eq!(get(&again, "/weather/mcp/server-card").await.0.status, StatusCode::NOT_MODIFIED);
    assert_eq!(get(&http, "/tides/mcp/server-card").await.1["version"], "2.0.0");
    assert_eq!(get(&http, "/plain/mcp/server-card").await.0.status, StatusCode::NOT_FOUND);

    let (head, catalog) = get(&http, "/.well-known/ai-catalog.json").await;
    assert_eq!(head.headers["content-type"], "application/ai-catalog+json");
    assert_eq!(
        catalog["entries"][0],
        json!({
            "identifier": "urn:air:example.com:mcp:weather",
            "type": "application/mcp-server-card+json",
            "url": "https://mcp.example.com/weather/mcp/server-card",
        })
    );
    assert_eq!(catalog["entries"].as_array().unwrap().len(), 2);
    let stranger = http.clone().with("host", "evil.example");
    assert_eq!(get(&stranger, "/weather/mcp/server-card").await.0.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_card_that_clients_would_refuse_is_not_served() {
    for (card, reason) in [
        (card("example/a b"), "its name must be"),
        (ServerCard::new("weather", "https://a.example/mcp"), "its name must be"),
        (ServerCard::new("com.example/a", "ftp://a.example/mcp").description("d"), "is no URL of HTTP"),
        (card("com.example/a"), "set its description"),
        (card("com.example/a").description("d".repeat(101)), "has 101 characters"),
    ] {
        let app = App::new().mount("", Server::new("a"), HttpOptions::new().server_card(card));
        let error = app.start().await.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
