//! Writes a session's state to a file and goes on from it.
//!
//!     cargo run --release -p brumate --example snapshot -- state.brumate

#![allow(clippy::print_stdout, reason = "it is a program")]

use brumate::Sandbox;

#[tokio::main]
async fn run(path: &str) -> Result<(), brumate::Error> {
    let sandbox = Sandbox::new()?;
    let session = sandbox.session().await?;
    session.run("import collections\nwords = collections.Counter('a b a'.split())").await?.ok()?;
    session.snapshot(path).await?;
    session.delete().await?;
    let restored = sandbox.restore(path).await?;
    println!("{}", restored.run("words.most_common(1)[0]").await?.text.unwrap_or_default());
    restored.delete().await
}

fn main() -> Result<(), brumate::Error> {
    brumate::init();
    run(&std::env::args().nth(1).unwrap_or_else(|| "state.brumate".to_owned()))
}
