//! Resolves requirements with this machine's settings and prints `name==version` lines, sorted.
//!
//! `cargo run --release -p brumate-packages --example resolve -- [-c CONSTRAINT]... [--cache DIR] REQUIREMENT...`

use std::io::Write as _;
use std::process::ExitCode;

use brumate_packages::Requirement;
use brumate_packages::resolver::{Policy, Resolver};
use brumate_packages::settings::Settings;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(text) => {
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<String, Box<dyn std::error::Error>> {
    let mut settings = Settings::from_environment()?;
    let (mut requirements, mut constraints): (Vec<Requirement>, Vec<Requirement>) = (Vec::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--cache" => settings.cache_directory = arguments.next().map(Into::into),
            "-c" => constraints.push(arguments.next().unwrap_or_default().parse()?),
            text => requirements.push(text.parse()?),
        }
    }
    let policy = Policy { url: std::sync::Arc::new(|_| Ok(())), ..Policy::default() };
    let resolution = Resolver::new(settings)?.resolve(&requirements, &constraints, policy).await?;
    let mut lines: Vec<String> =
        resolution.packages.iter().map(|package| format!("{}=={}\n", package.name, package.version)).collect();
    lines.sort();
    Ok(lines.concat())
}
