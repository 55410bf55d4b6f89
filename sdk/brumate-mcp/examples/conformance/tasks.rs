//! Tools whose calls become tasks.

use crate::input::{Name, ask_name};
use brumate_mcp::{Content, Context, Elicitation, Error, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// Greets.
#[tool]
pub(crate) async fn greet(name: String) -> Content {
    Content::text(format!("Hello, {name}!"))
}

/// Takes its time.
#[tool(tasks = "optional")]
pub(crate) async fn slow_compute(seconds: f64, #[arg(default = "work")] label: String) -> Content {
    tokio::time::sleep(Duration::from_secs_f64(seconds.clamp(0.0, 600.0))).await;
    Content::text(format!("{label}: done after {seconds} seconds"))
}

/// Fails, in the tool.
#[tool(tasks = "required")]
pub(crate) async fn failing_job() -> Result<Content, Error> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    Err(Error::new("This job fails"))
}

/// Fails, in the protocol.
#[tool(tasks = "optional")]
pub(crate) async fn protocol_error_job() -> Result<Content, Error> {
    Err(Error::protocol(-32603, "This job breaks", None))
}

#[derive(Deserialize, JsonSchema)]
struct Confirmed {
    confirm: bool,
}

/// Asks before it goes on.
#[tool(tasks = "optional")]
pub(crate) async fn confirm_delete(filename: String, context: Context) -> Result<Content, Error> {
    let answer = context.elicit(Elicitation::<Confirmed>::form(format!("Delete {filename}?"))).await?;
    let confirmed = answer.accepted().is_some_and(|answer| answer.confirm);
    Ok(Content::text(if confirmed { "deleted" } else { "kept" }))
}

/// Asks two things at once.
#[tool(tasks = "optional")]
pub(crate) async fn multi_input(context: Context) -> Result<Content, Error> {
    let (name, confirmed) = tokio::join!(
        context.elicit(Elicitation::<Name>::form("What is your name?")),
        context.elicit(Elicitation::<Confirmed>::form("Go on?")),
    );
    Ok(Content::text(format!("{:?} {:?}", name?.accepted().map(|n| n.name), confirmed?.accepted().map(|c| c.confirm))))
}

/// Asks in the call, then goes on as a task.
#[tool(tasks = "required", detaches)]
pub(crate) async fn test_tool_with_task(context: Context) -> Result<Content, Error> {
    let name = context.elicit(ask_name()).await?.accepted().map(|name| name.name);
    context.detach().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok(Content::text(format!("Hello, {}!", name.unwrap_or_else(|| "stranger".to_owned()))))
}
