//! Keeps variables from call to call, copies the interpreter, and leaves it for the next program.
//!
//!     cargo run --release -p brumate --example session

#![allow(clippy::print_stdout, reason = "it is a program")]

use brumate::Sandbox;

#[tokio::main]
async fn run() -> Result<(), brumate::Error> {
    let sandbox = Sandbox::new()?;
    let session = sandbox.session().await?;
    session.set("prices", [3, 4]).await?;
    session.run("total = sum(prices)").await?.ok()?;
    let copy = session.fork().await?;
    copy.run("total += 100").await?.ok()?;
    println!("{} {}", session.get::<i64>("total").await?, copy.get::<i64>("total").await?);
    copy.delete().await?;
    println!("the next program finds it as {}", session.id());
    sandbox.close().await;
    Ok(())
}

fn main() -> Result<(), brumate::Error> {
    brumate::init();
    run()
}
