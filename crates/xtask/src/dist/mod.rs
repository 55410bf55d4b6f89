//! Everything that is handed out, made of one static binary: archive, PyPI wheel, npm packages, Debian package, MCP bundle; what it is
//! made of, how MCP's registry describes it, and the checksums.
//!
//! Two runs on one commit with one toolchain give the same bytes: entries are sorted, owned by nobody, and as old as the commit.

mod archive;
mod binary;
mod debian;
mod mcp;
mod npm;
mod sbom;
mod wheel;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::{process, workspace};

/// Arguments of `cargo xtask dist`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to put the files; what is there is replaced
    #[arg(long, value_name = "DIR", default_value = "target/dist")]
    out: PathBuf,
    /// A static binary that is there already, in place of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// The server's name in MCP's registry: a namespace that is yours, a slash, a name
    #[arg(long, value_name = "NAME", default_value = "localhost/brumate")]
    server_name: String,
    /// Where the files of this release can be fetched; server.json then names the MCP bundle as well
    #[arg(long, value_name = "URL")]
    releases: Option<String>,
}

/// What all packages are made of.
pub(crate) struct Release {
    /// The version of the workspace.
    version: String,
    /// Seconds since 1970: the time of the commit, and of every entry.
    time: u64,
    /// The binary's bytes.
    binary: Vec<u8>,
    /// Texts that every package has: name and content.
    documents: Vec<(&'static str, Vec<u8>)>,
    /// Scripts that complete the command line: where Debian has them, and content.
    completions: Vec<(&'static str, Vec<u8>)>,
    /// Manual pages: name and content.
    manual: Vec<(String, Vec<u8>)>,
}

/// Files that go into every package.
const DOCUMENTS: [&str; 4] = ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE", "README.md"];

/// Shells, and where Debian looks for what completes a command in them.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/brumate"),
    ("fish", "usr/share/fish/vendor_completions.d/brumate.fish"),
    ("zsh", "usr/share/zsh/vendor-completions/_brumate"),
];

/// What Brumate is, in a line.
const SUMMARY: &str = "Python for AI agents in a sandbox: CPython with numpy, pandas and matplotlib, over MCP";

/// Makes all packages.
///
/// # Errors
/// When the binary does not build, is not static, or a file cannot be written.
pub(crate) fn run(args: &Args) -> Result<()> {
    let built = match &args.binary {
        Some(path) => path.clone(),
        None => binary::build()?,
    };
    let bytes = std::fs::read(&built).with_context(|| built.display().to_string())?;
    binary::check(&bytes).with_context(|| built.display().to_string())?;
    let release = Release::of(&built, bytes)?;
    let out = workspace::root().join(&args.out);
    if out.exists() {
        std::fs::remove_dir_all(&out)?;
    }
    std::fs::create_dir_all(&out)?;
    let server = &args.server_name;
    let mut made =
        vec![archive::make(&release, &out)?, wheel::make(&release, server, &out)?, debian::make(&release, &out)?];
    made.extend(npm::make(&release, server, &out)?);
    let bundle = mcp::bundle(&release, &out)?;
    made.push(mcp::server(&release, server, args.releases.as_deref(), &bundle, &out)?);
    made.extend([bundle, sbom::make(&release.version, &out)?]);
    made.sort();
    let mut sums = String::new();
    for path in &made {
        let bytes = std::fs::read(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let digest = hex(&Sha256::digest(&bytes));
        println!("{:>12} {name}", bytes.len());
        writeln!(sums, "{digest}  {name}")?;
    }
    std::fs::write(out.join("SHA256SUMS"), sums)?;
    println!("{}", out.display());
    Ok(())
}

impl Release {
    fn of(program: &Path, binary: Vec<u8>) -> Result<Release> {
        let manifest: toml::Table = std::fs::read_to_string(workspace::root().join("Cargo.toml"))?.parse()?;
        let version = manifest["workspace"]["package"]["version"].as_str().context("the workspace has a version")?;
        let read = |name: &'static str| Ok((name, std::fs::read(workspace::root().join(name))?));
        let documents = DOCUMENTS.into_iter().map(read).collect::<Result<_>>()?;
        let completion = |(shell, path)| {
            let script = process::output(Command::new(program).args(["completions", shell]))?;
            Ok((path, script.into_bytes()))
        };
        let completions = COMPLETIONS.into_iter().map(completion).collect::<Result<_>>()?;
        let pages = workspace::target().join("dist-man");
        process::run(Command::new(program).arg("man").arg(&pages))?;
        let manual = files_below(&pages)?;
        Ok(Release { version: version.to_owned(), time: commit_time()?, binary, documents, completions, manual })
    }
}

/// Returns the time of the last commit, or what `SOURCE_DATE_EPOCH` says.
fn commit_time() -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => {
            let mut git = Command::new("git");
            process::output(git.args(["log", "-1", "--format=%ct"]).current_dir(workspace::root()))?
        }
    };
    text.trim().parse().context("the time of the commit is a number")
}

/// Returns the files below a directory, sorted by their paths in it.
fn files_below(directory: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                if !path.ends_with("__pycache__") {
                    open.push(path);
                }
            } else {
                let name = path.strip_prefix(directory)?.to_str().context("a name in UTF-8")?.to_owned();
                found.push((name, std::fs::read(&path)?));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
