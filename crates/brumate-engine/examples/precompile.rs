//! Compiles modules of the bundle for the common processors, for a release that has them inside.
//!
//!     cargo run --release -p brumate-engine --example precompile -- DIRECTORY [MODULE ...]
//!
//! The interpreter always belongs to them. A build with `BRUMATE_COMPILED_DIR=DIRECTORY` embeds what is there.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((directory, modules)) = arguments.split_first() else {
        eprintln!("usage: precompile DIRECTORY [MODULE ...]");
        return ExitCode::FAILURE;
    };
    let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
    match brumate_engine::precompile(Path::new(directory), &modules) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("precompile: {reason}");
            ExitCode::FAILURE
        }
    }
}
