//! `cargo xtask <task>`: the tasks of contributors.
//!
//! They need this repository and cargo; some need Node, Python or a Debian host. They write below `target/`, except `runtime lock`,
//! `runtime bytecode` and `runtime build`, which change `runtime/`.

#![allow(clippy::disallowed_methods, reason = "it reads the repository")]
#![allow(clippy::print_stdout)] // a task's report is its output

mod bench;
mod ci;
mod dist;
mod documents;
mod gates;
mod process;
mod runtime;
mod structure;
mod test;
mod workspace;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own tasks")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Manage the files that the binary embeds: interpreter, standard library, wheels
    #[command(subcommand)]
    Runtime(runtime::Task),
    /// Set up the test environment and run all tests
    Test(test::Args),
    /// Run the checks of the continuous integration
    Ci(ci::Args),
    /// Run one check that needs a tool from PyPI
    #[command(subcommand)]
    Gate(gates::Task),
    /// Run the benchmarks
    Bench(bench::Args),
    /// Check links and citations of the documents, and what is generated
    Docs(documents::Args),
    /// Check import cycles, the order of module groups, and duplicate lines
    Structure,
    /// Make the documents a book of HTML, target/book, and check its links
    Book,
    /// Make the packages to distribute: archive, PyPI wheel, npm packages, Debian package, MCP bundle, bill of materials
    Dist(dist::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().task {
        Task::Runtime(task) => runtime::run(&task),
        Task::Test(args) => test::run(&args),
        Task::Ci(args) => ci::run(&args),
        Task::Gate(task) => gates::run(&task),
        Task::Bench(args) => bench::run(&args),
        Task::Docs(args) => documents::run(&args),
        Task::Structure => structure::check(),
        Task::Book => documents::book(),
        Task::Dist(args) => dist::run(&args),
    }
}
