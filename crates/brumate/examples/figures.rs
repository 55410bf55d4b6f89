//! Draws with matplotlib and writes the picture to a file.
//!
//!     cargo run --release -p brumate --example figures -- plot.png

#![allow(clippy::print_stdout, reason = "it is a program")]

use brumate::Sandbox;

#[tokio::main]
async fn run(path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let sandbox = Sandbox::new()?;
    let result = sandbox.run("import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()").await?.ok()?;
    let figure = result.figures.first().ok_or("the code showed no picture")?;
    std::fs::write(path, &figure.bytes)?;
    println!("{path}: {}", figure.mime);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    brumate::init();
    run(&std::env::args().nth(1).unwrap_or_else(|| "plot.png".to_owned()))
}
