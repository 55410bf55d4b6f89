//! Layers around tools: one that measures, one that limits, one that asks before something is lost. Messages of other
//! errors stay on the server.

use brumate_mcp::prelude::*;
use std::sync::Mutex;
use std::time::Instant;
use tokio::sync::Semaphore;

/// Says on standard error how long each call took.
async fn measure(call: ToolCall, next: Next) -> Result<ToolResult, Error> {
    let (name, start) = (call.name().to_owned(), Instant::now());
    let result = next.run(call).await;
    eprintln!("{name} took {:?}", start.elapsed());
    result
}

/// Lets some calls run at the same time, and refuses more.
struct AtMost(Semaphore);

impl Layer for AtMost {
    async fn call(&self, call: ToolCall, next: Next) -> Result<ToolResult, Error> {
        let _running = self.0.try_acquire().map_err(|_| Error::new("too many calls at once: try again later"))?;
        next.run(call).await
    }
}

/// Refuses what is not confirmed.
async fn confirmed(call: ToolCall, next: Next) -> Result<ToolResult, Error> {
    if call.arguments().get("confirm").is_some_and(|confirm| confirm == true) {
        return next.run(call).await;
    }
    Err(Error::new(format!("`{}` loses data: repeat it with `confirm: true`", call.name())))
}

/// Notes, in memory.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

/// Keeps a note; returns how many there are.
#[tool]
async fn keep(note: String, notes: State<Notes>) -> Result<usize, Error> {
    let mut notes = notes.0.0.lock().map_err(|error| Error::new(error.to_string()))?;
    notes.push(note);
    Ok(notes.len())
}

/// Forgets all notes.
#[tool(destructive)]
async fn forget(#[arg(default)] confirm: bool, notes: State<Notes>) -> Result<(), Error> {
    debug_assert!(confirm, "a layer has checked it");
    notes.0.0.lock().map_err(|error| Error::new(error.to_string()))?.clear();
    Ok(())
}

/// Reads a file of the server.
#[tool]
async fn read_settings() -> Result<String, Error> {
    let size = tokio::fs::metadata("/nonexistent/settings.toml").await?.len();
    Ok(format!("{size} bytes"))
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    Server::new("Notes")
        .state(Notes::default())
        .layer(measure)
        .layer(AtMost(Semaphore::new(8)))
        .tools((keep.tool(), forget.tool().layer(confirmed), read_settings.tool()))
        .hide_errors()
        .run_stdio()
        .await
}
