//! A server that asks for access tokens, which a function checks. In production use `JwtVerifier` or `Introspection`.

use brumate_mcp::auth::{Access, Protect};
use brumate_mcp::prelude::*;
use tokio::net::TcpListener;

/// The weather in a city, for whoever asks.
#[tool]
async fn get_weather(city: String, access: Access) -> String {
    format!("22 degrees in {city}, {}", access.subject)
}

/// Changes the weather. It needs a scope of its own.
#[tool(scopes = "weather:write")]
async fn set_weather(city: String, degrees: f64) -> String {
    format!("{degrees} degrees in {city}")
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let listener = TcpListener::bind(address).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let resource = format!("{url}/mcp");
    let verify = {
        let resource = resource.clone();
        move |token: String| {
            let scopes = match token.as_str() {
                "reader" => Some(vec!["weather"]),
                "writer" => Some(vec!["weather", "weather:write"]),
                _ => None,
            };
            let access = scopes.map(|scopes| Access::new(token).with_scopes(scopes).with_audience([&resource]));
            async move { Ok(access) }
        }
    };
    let protect = Protect::new(resource).issuer("https://auth.example.com").verifier(verify).scopes(["weather"]);
    eprintln!("{url}");
    App::new()
        .mount("", Server::new("Weather").tools((get_weather, set_weather)), HttpOptions::new().protect(protect)?)
        .run_on(listener)
        .await
}
