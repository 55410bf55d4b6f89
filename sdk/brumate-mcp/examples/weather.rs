//! A tool that calculates, and one that asks another server: `weather https://weather.example.com`.

use brumate_mcp::prelude::*;

/// The weather service's address, and the client for it.
struct Weather {
    url: String,
    http: reqwest::Client,
}

/// Calculates the body mass index.
#[tool(read_only)]
async fn calculate_bmi(weight_kg: f64, height_m: f64) -> Result<f64, Error> {
    if height_m <= 0.0 {
        return Err(Error::new("`height_m` must be greater than 0"));
    }
    Ok(weight_kg / (height_m * height_m))
}

/// Fetches the current weather of a city.
#[tool(read_only, open_world)]
async fn fetch_weather(city: String, weather: State<Weather>) -> Result<String, Error> {
    // As one segment of the path, whatever the model writes.
    let mut url = url::Url::parse(&weather.url)?;
    url.path_segments_mut().map_err(|()| Error::new("the service's address has no path"))?.push(&city);
    Ok(weather.http.get(url).send().await?.error_for_status()?.text().await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let url = std::env::args().nth(1).ok_or("usage: weather URL")?;
    // This workspace's reqwest leaves the choice of a provider for TLS to the program.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let weather = Weather { url, http: reqwest::Client::builder().build()? };
    Ok(Server::new("My App").state(weather).tools((calculate_bmi, fetch_weather)).run_stdio().await?)
}
