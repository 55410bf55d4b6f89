//! Structured results: structs, maps, lists, and what is not an object; `ToolResult` for full control.

use brumate_mcp::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;

/// The weather somewhere.
#[derive(Serialize, JsonSchema)]
struct WeatherData {
    /// Temperature in Celsius
    temperature: f64,
    /// Humidity percentage
    humidity: f64,
    condition: &'static str,
}

/// The weather in a city.
#[tool]
async fn get_weather(city: String) -> WeatherData {
    let temperature = if city == "Paris" { 22.5 } else { 18.0 };
    WeatherData { temperature, humidity: 45.0, condition: "sunny" }
}

/// Numbers by their names.
#[tool]
async fn get_statistics() -> BTreeMap<&'static str, f64> {
    BTreeMap::from([("mean", 42.5), ("median", 40.0)])
}

/// The cities that there are. What is no object is wrapped into one: `{"result": […]}`.
#[tool]
async fn list_cities() -> Vec<&'static str> {
    vec!["London", "Paris"]
}

/// A result with content for the model, data for the program, and `_meta` for the client alone.
#[tool]
async fn advanced() -> ToolResult {
    ToolResult::text("two rows").structured(json!({"rows": [1, 2]})).meta("hidden", "for the client")
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    Server::new("Weather").tools((get_weather, get_statistics, list_cities, advanced)).run_stdio().await
}
