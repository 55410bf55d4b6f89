//! `cargo xtask dist`: makes the packages to distribute from a static binary for each architecture: archive, PyPI wheels, npm packages,
//! Debian package, MCP bundle, bill of materials, the entry of MCP's registry, checksums.
//!
//! The binary is a program and, at its end, the bundle file with the packages. Wheels and npm packages have the two parts apart, since
//! PyPI bounds the size of a file; all others have the whole.
//!
//! Two runs on one commit with one toolchain give the same bytes: entries are sorted, have no owner, and have the time of the commit.

mod architecture;
mod archive;
mod binary;
mod debian;
#[allow(dead_code, reason = "the build script writes marks")]
#[path = "../../../brumate-engine/build/mark.rs"]
mod mark;
mod mcp;
mod npm;
mod sbom;
mod wheel;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use architecture::Architecture;
use sha2::{Digest, Sha256};

use crate::runtime::Lock;
use crate::{process, workspace};

/// Arguments of `cargo xtask dist`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory for the packages; existing files are replaced
    #[arg(long, value_name = "DIR", default_value = "target/dist")]
    out: PathBuf,
    /// Target triple to build for; may be repeated [default: this machine's]
    #[arg(long, value_name = "TRIPLE", conflicts_with = "binary")]
    target: Vec<String>,
    /// Static binary that `cargo xtask dist` has made, to package instead of building one; may be repeated
    #[arg(long, value_name = "FILE")]
    binary: Vec<PathBuf>,
    /// Name of the server in MCP's registry: your namespace, a slash, a name
    #[arg(long, value_name = "NAME", default_value = "localhost/brumate")]
    server_name: String,
    /// URL of the files of this release; server.json then contains the MCP bundle as well
    #[arg(long, value_name = "URL")]
    releases: Option<String>,
}

/// The parts of the packages of one architecture.
pub(crate) struct Release {
    architecture: Architecture,
    /// The version of the workspace.
    version: String,
    /// Seconds since 1970: the time of the commit, and of every entry.
    time: u64,
    /// The whole binary's bytes.
    binary: Vec<u8>,
    /// Offset of the bundle file in it.
    bundle_start: usize,
    /// Number of packages in the bundle file.
    packages: usize,
    /// Texts that every package has: name and content.
    documents: Vec<(&'static str, Vec<u8>)>,
    /// Completion scripts: path in the Debian package, and content.
    completions: Vec<(&'static str, Vec<u8>)>,
    /// Manual pages: name and content.
    manual: Vec<(String, Vec<u8>)>,
}

impl Release {
    /// Returns the binary without its packages.
    fn program(&self) -> &[u8] {
        &self.binary[..self.bundle_start]
    }

    /// Returns the file with the packages.
    fn bundle_file(&self) -> &[u8] {
        &self.binary[self.bundle_start..]
    }

    /// Returns the one-line description of a package of the bundle file.
    fn bundle_summary(&self) -> String {
        format!("The {} packages of Brumate, for its WebAssembly machine", self.packages)
    }
}

/// Largest file that PyPI takes, in bytes.
const MAX_PYPI_BYTES: u64 = 100 << 20;

/// Largest package of the program without its packages, in bytes: what every update fetches.
const MAX_PROGRAM_BYTES: u64 = 40 << 20;

/// Files that go into every package.
const DOCUMENTS: [&str; 4] = ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE", "README.md"];

/// Shells, each with Debian's directory of its completion scripts.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/brumate"),
    ("fish", "usr/share/fish/vendor_completions.d/brumate.fish"),
    ("zsh", "usr/share/zsh/vendor-completions/_brumate"),
];

/// One-line description of Brumate.
const SUMMARY: &str = "Python for AI agents in a sandbox: CPython with numpy, pandas and matplotlib, over MCP";

/// Makes all packages.
///
/// # Errors
/// When the binary does not build, is not static, or a file cannot be written.
pub(crate) fn run(args: &Args) -> Result<()> {
    let programs = if args.binary.is_empty() { build(&args.target)? } else { args.binary.clone() };
    let releases = releases(&programs)?;
    let first = releases.first().context("there is a program")?;
    let out = workspace::root().join(&args.out);
    if out.exists() {
        std::fs::remove_dir_all(&out)?;
    }
    std::fs::create_dir_all(&out)?;
    let server = &args.server_name;
    let mut made = vec![npm::launcher(first, server, &out)?];
    let mut bundles = Vec::new();
    for release in &releases {
        let programs = [wheel::program(release, server, &out)?, npm::program(release, &out)?];
        let packages = [wheel::bundle(release, &out)?, npm::bundle(release, &out)?];
        for path in &programs {
            check_size(path, MAX_PROGRAM_BYTES, "a package of the program: move files of the core to the packages")?;
        }
        for path in &packages {
            check_size(
                path,
                MAX_PYPI_BYTES,
                "a file on PyPI: take modules out of COMPILED, or packages out of runtime/",
            )?;
        }
        made.extend(programs.into_iter().chain(packages));
        made.extend([
            archive::make(release, &out)?,
            debian::make(release, &out)?,
            sbom::make(&release.version, release.architecture, &out)?,
        ]);
        bundles.push(mcp::bundle(release, &out)?);
    }
    made.push(mcp::server(first, server, args.releases.as_deref(), &bundles, &out)?);
    made.extend(bundles);
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

/// Checks that a file is not larger than `limit` bytes. `of` says what the limit is for, and what to do.
fn check_size(path: &Path, limit: u64, of: &str) -> Result<()> {
    let size = std::fs::metadata(path)?.len();
    ensure!(
        size <= limit,
        "{} has {size} bytes, {} more than the limit of {} MiB for {of}",
        path.display(),
        size - limit,
        limit >> 20
    );
    Ok(())
}

/// Builds the binaries for these targets; for this machine's when there are none.
fn build(targets: &[String]) -> Result<Vec<PathBuf>> {
    let named = targets.iter().map(|target| Architecture::of_target(target)).collect::<Result<Vec<_>>>()?;
    let architectures = if named.is_empty() { vec![Architecture::of_host()?] } else { named };
    architectures.into_iter().map(binary::build).collect()
}

/// Reads the programs, and what else goes into their packages.
fn releases(programs: &[PathBuf]) -> Result<Vec<Release>> {
    let manifest: toml::Table = std::fs::read_to_string(workspace::root().join("Cargo.toml"))?.parse()?;
    let version = manifest["workspace"]["package"]["version"].as_str().context("the workspace has a version")?;
    let read = |name: &'static str| Ok((name, std::fs::read(workspace::root().join(name))?));
    let documents: Vec<_> = DOCUMENTS.into_iter().map(read).collect::<Result<_>>()?;
    let time = commit_time()?;
    let packages = Lock::load(&workspace::runtime())?.packages();
    let mut releases: Vec<Release> = Vec::new();
    for path in programs {
        let named = || path.display().to_string();
        let binary = std::fs::read(path).with_context(named)?;
        binary::check(&binary).with_context(named)?;
        let bundle_start = binary::bundle_start(&binary).with_context(named)?;
        let architecture = Architecture::of_program(&binary).with_context(named)?;
        ensure!(
            releases.iter().all(|other| other.architecture != architecture),
            "{}: there is another program for {}",
            named(),
            architecture.name()
        );
        // They are the same on every architecture.
        let (completions, manual) = match releases.first() {
            Some(other) => (other.completions.clone(), other.manual.clone()),
            None => (completions(path, architecture)?, manual(path, architecture)?),
        };
        let (version, documents) = (version.to_owned(), documents.clone());
        releases.push(Release {
            architecture,
            version,
            time,
            binary,
            bundle_start,
            packages,
            documents,
            completions,
            manual,
        });
    }
    Ok(releases)
}

/// Returns the completion scripts, as the program prints them.
fn completions(program: &Path, architecture: Architecture) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let completion = |(shell, path)| {
        let script = process::output(binary::runner(program, architecture)?.args(["completions", shell]))?;
        Ok((path, script.into_bytes()))
    };
    COMPLETIONS.into_iter().map(completion).collect()
}

/// Returns the manual pages, as the program writes them.
fn manual(program: &Path, architecture: Architecture) -> Result<Vec<(String, Vec<u8>)>> {
    let pages = workspace::target().join("dist-man");
    process::run(binary::runner(program, architecture)?.arg("man").arg(&pages))?;
    files_below(&pages)
}

/// Returns the time of the last commit, or `SOURCE_DATE_EPOCH` if it is set.
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

#[cfg(test)]
mod tests;
