//! A resource at one address, and a template of addresses.

use brumate_mcp::prelude::*;

/// Static configuration data.
#[resource("config://app", mime_type = "text/plain")]
async fn config() -> &'static str {
    "App configuration here"
}

/// Data of a user.
#[resource("users://{user_id}/profile", mime_type = "text/plain")]
async fn profile(user_id: u64) -> Result<String, Error> {
    match user_id {
        1..=9 => Ok(format!("Profile data for user {user_id}")),
        _ => Err(Error::not_found(format!("there is no user {user_id}"))),
    }
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    Server::new("My App").resources((config, profile)).run_stdio().await
}
