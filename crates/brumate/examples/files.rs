//! Uploads a file to a session, lets code create another one, and downloads it.
//!
//!     cargo run --release -p brumate --example files

#![allow(clippy::print_stdout, reason = "it is a program")]

use brumate::Sandbox;

#[tokio::main]
async fn run() -> Result<(), brumate::Error> {
    let sandbox = Sandbox::new()?;
    let session = sandbox.session().await?;
    session.upload("prices.csv", "item,price\npen,2\nbook,12\n").await?;
    let code = "import pandas as pd\npd.read_csv('prices.csv').describe().to_csv('summary.csv')";
    let result = session.run(code).await?.ok()?;
    for file in &result.files {
        println!("{}, {} bytes", file.name, file.size);
    }
    print!("{}", String::from_utf8_lossy(&session.download("summary.csv").await?));
    session.delete().await
}

fn main() -> Result<(), brumate::Error> {
    brumate::init();
    run()
}
