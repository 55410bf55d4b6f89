//! Runs code in a fresh interpreter, with a variable, and reads its value.
//!
//!     cargo run --release -p brumate --example run

#![allow(clippy::print_stdout, reason = "it is a program")]

use brumate::Sandbox;

#[tokio::main]
async fn run() -> Result<(), brumate::Error> {
    let sandbox = Sandbox::new()?;
    let result = sandbox.run("import numpy as np\n(np.arange(3) ** n).tolist()").global("n", 2).await?;
    println!("{:?}", result.value::<Vec<i64>>()?);
    let failed = sandbox.run("1 / 0").await?;
    println!("{}", failed.error.unwrap_or_default().lines().last().unwrap_or_default());
    Ok(())
}

fn main() -> Result<(), brumate::Error> {
    brumate::init();
    run()
}
