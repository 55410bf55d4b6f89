//! Results of tools, read: `client_results IMAGES STRUCTURED`, two servers in one group (the examples of these names).
#![expect(clippy::print_stdout, reason = "a program for people")]

use brumate_mcp::Client;
use brumate_mcp::client::{ClientError, ClientGroup};
use serde::Deserialize;

#[derive(Deserialize)]
struct WeatherData {
    temperature: f64,
    condition: String,
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let group = ClientGroup::new().tool_names(|server, tool| format!("{}.{tool}", server.to_lowercase()));
    for server in std::env::args().skip(1) {
        group.connect(Client::stdio(server, [""; 0])).await?;
    }
    let weather: WeatherData = group.call("weather.get_weather").await?.arg("city", "Paris").await?.parse()?;
    println!("{} degrees, {}", weather.temperature, weather.condition);
    let cities: Vec<String> = group.call("weather.list_cities").await?.await?.parse()?;
    println!("{}", cities.join(" and "));

    for content in group.call("images.table").await?.arg("rows", 2).await?.content {
        match (content.as_text(), content.as_resource(), content.as_link()) {
            (Some(text), ..) => println!("text: {text}"),
            (_, Some(file), _) => println!("file: {} ({} bytes)", file.uri(), file.as_bytes().len()),
            (.., Some(link)) => println!("link: {link}"),
            _ => println!("something else"),
        }
    }
    let picture = group.call("images.swatch").await?.args(serde_json::json!({"red": 255, "green": 0, "blue": 0}));
    if let Some(image) = picture.await?.content[0].as_image() {
        println!("image: {}, {} bytes", image.mime_type, image.data.len());
    }
    let failed = group.call("images.tone").await?.arg("milliseconds", "many").await?;
    println!("failed: {}", failed.is_error);
    Ok(())
}
