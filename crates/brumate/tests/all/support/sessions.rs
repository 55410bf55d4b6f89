//! Sandboxes, sessions and cells, through the engine's own interface.

use brumate_engine::api::Session as _;
use brumate_engine::api::{Ended, Event, Execute, ExecuteMode, Outcome};
use brumate_engine::client::{EngineError, Sandbox, SandboxConfig, Session};

/// A sandbox that keeps `ready` machines ready. All tests use one cache: modules are compiled once.
pub(crate) async fn sandbox(ready: usize) -> Sandbox {
    Sandbox::start(config(ready)).await.expect("a sandbox")
}

/// How a sandbox that keeps `ready` machines ready is started.
pub(crate) fn config(ready: usize) -> SandboxConfig {
    SandboxConfig {
        cache_dir: brumate_test_support::cache_directory(),
        program: Some(env!("CARGO_BIN_EXE_brumate").into()),
        ready,
        ..SandboxConfig::default()
    }
}

/// Runs a cell of a session: what became of it, and what it printed.
pub(crate) async fn cell(session: &Session, code: &str) -> (Result<Outcome, EngineError>, String) {
    let (sender, mut events) = tokio::sync::mpsc::channel(64);
    let listening = tokio::spawn(async move {
        let mut printed = String::new();
        while let Some(event) = events.recv().await {
            if let Event::Stream { text, .. } = event {
                printed.push_str(&text);
            }
        }
        printed
    });
    let request = Execute { code: code.to_owned(), mode: ExecuteMode::Cell, ..Execute::default() };
    let outcome = session.execute(request, sender).await;
    (outcome, listening.await.expect("the events end"))
}

/// Runs a cell that must end well; returns what it printed.
pub(crate) async fn say(session: &Session, code: &str) -> String {
    match cell(session, code).await {
        (Ok(Outcome { ended: Ended::Returned(_), .. }), text) => text,
        (other, text) => panic!("{code}: {other:?}; printed {text}"),
    }
}
