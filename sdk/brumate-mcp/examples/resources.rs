//! A resource at one address, and a template of addresses with suggestions for its variable.

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

/// Suggests users whose numbers begin with what was typed.
#[completion(template = "users://{user_id}/profile", argument = "user_id")]
async fn user_ids(typed: String) -> Vec<String> {
    (1..=9).map(|id: u64| id.to_string()).filter(|id| id.starts_with(&typed)).collect()
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    Server::new("My App").resources((config, profile)).completion(user_ids).run_stdio().await
}
