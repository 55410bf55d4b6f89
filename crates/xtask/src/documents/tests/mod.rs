//! Tests of the checks: each fails for what it is there for.

mod changelog;
mod citations;
mod contents;
mod counts;
mod links;
mod listing;
mod notice;
mod specification;

use super::citations::{Citations, Reference};
use super::fault::Fault;
use super::markdown::{self, Document};
use super::repository::Repository;
use tempfile::TempDir;

/// What the fixture's documents may cite.
const FILES: &[(&str, &str)] = &[
    (
        "Cargo.toml",
        "[workspace.package]\nversion = \"0.2.0\"\n[workspace.dependencies]\nbrumate-json = { version = \"0.2.0\" }\nbrumate-mcp-macros = { version = \"0.2.0\" }\nbrumate-mcp-oauth = { version = \"0.2.0\" }\n",
    ),
    ("python/src/brumate/__init__.py", "__version__ = \"0.2.0\"\n"),
    ("bench/run.py", "SECTIONS = {\n    \"cold\": cold_start,\n    \"mcp\": mcp_stdio,\n}\n"),
    ("crates/demo/src/lib.rs", "mod wheel;\n"),
    ("crates/demo/src/wheel/mod.rs", "#[cfg(test)]\nmod tests;\n"),
    ("crates/demo/src/wheel/tests.rs", "#[test]\nfn damage() {}\n"),
    ("crates/demo/examples/latency.rs", "fn main() {}\n"),
    ("crates/demo/tests/all/main.rs", "mod science;\nmod mcp;\nmod live;\n"),
    ("crates/demo/tests/all/science.rs", "#[test]\nfn numbers() {}\n"),
    ("crates/demo/tests/all/live.rs", "#[test]\n#[ignore]\nfn index() {}\n"),
    ("crates/demo/tests/all/mcp.rs", "cases! { session_cases: restart, files }\n"),
    (
        "tests/python/session_cases.py",
        "async def restart(setup: Setup) -> None:\nasync def forgotten(setup: Setup) -> None:\n",
    ),
];

/// A repository with [`FILES`], and one document.
struct Fixture {
    _directory: TempDir,
    repository: Repository,
    document: Document,
}

impl Fixture {
    fn new(path: &str, text: &str) -> Self {
        let directory = tempfile::tempdir().expect("temporary directory");
        let files = FILES.iter().copied().chain([(path, text)]);
        for (file, text) in files.clone() {
            let file = directory.path().join(file);
            std::fs::create_dir_all(file.parent().expect("a file has a directory")).expect("directory");
            std::fs::write(file, text).expect("file");
        }
        let repository = Repository::with_files(directory.path(), files.map(|(file, _)| file.to_owned()));
        Self { _directory: directory, repository, document: markdown::parse(path, text) }
    }

    fn citations(&self) -> Citations<'_> {
        let xtask = clap::Command::new("xtask").subcommands([
            clap::Command::new("ci").arg(clap::Arg::new("self-test").long("self-test")),
            clap::Command::new("bench").arg(clap::Arg::new("bench").trailing_var_arg(true).num_args(0..)),
        ]);
        Citations::new(&self.repository, xtask).expect("sections")
    }

    fn cited(&self) -> (Vec<Reference>, Vec<Fault>) {
        self.citations().of_document(&self.document)
    }
}

/// The faults as text.
fn messages(faults: &[Fault]) -> Vec<String> {
    faults.iter().map(ToString::to_string).collect()
}
