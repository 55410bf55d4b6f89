//! `brumate bundle build`: collects wheels in a directory with an index, for hosts without access to a package index.

mod index;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use brumate_packages::index::IndexError;
use brumate_packages::settings::FindLinks;
use brumate_packages::wheel::{WheelFileName, verify};
use brumate_packages::{DistributionName, Requirement, RequirementError};
use brumate_session::packages::{PackageEvent, PackageSettings};
use sha2::{Digest, Sha256};

use super::{print, print_error};
use crate::cli::BundleBuildArgs;
use crate::progress;
use crate::sandbox::single_run_sandbox;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::{exit_status, sandbox};
use index::WheelEntry;

/// Most wheels of one directory.
const MAX_WHEELS: usize = 10_000;

pub(crate) async fn run(settings: &Settings, arguments: &BundleBuildArgs) -> anyhow::Result<u8> {
    let requirements: Result<Vec<Requirement>, RequirementError> =
        settings.runner.dependencies.iter().chain(&arguments.requirements).map(|text| text.parse()).collect();
    let requirements = match requirements {
        Ok(requirements) if requirements.is_empty() && !arguments.all => {
            print_error("brumate: there is nothing to collect: name requirements, or use `--all` with `--find-links`");
            return Ok(exit_status::USAGE);
        }
        Ok(requirements) => requirements,
        Err(error) => {
            print_error(&format!("brumate: {error}"));
            return Ok(exit_status::USAGE);
        }
    };
    let sandbox = single_run_sandbox(settings)?;
    let work = build(&sandbox, settings, arguments, requirements);
    let (result, signalled) =
        Signals::listen()?.interruptible(work, || "interrupted; complete wheels were kept".to_owned()).await;
    match result {
        Ok(count) => {
            print(&format!("{}: {count} wheel{}", arguments.directory.display(), if count == 1 { "" } else { "s" }))?;
            Ok(exit_status::SUCCESS)
        }
        Err(error) => {
            print_error(&format!("brumate: {error}"));
            Ok(signalled.unwrap_or(exit_status::FAILURE))
        }
    }
}

/// Collects the wheels and writes the index. Returns the number of wheels in the directory.
async fn build(
    sandbox: &sandbox::Sandbox,
    settings: &Settings,
    arguments: &BundleBuildArgs,
    requirements: Vec<Requirement>,
) -> Result<usize, String> {
    let directory = arguments.directory.clone();
    let text = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(&directory).map_err(|error| text(&directory, error))?;
    if !requirements.is_empty() {
        let show = progress::packages_on_terminal();
        let tell = |event: PackageEvent| {
            if let Some(show) = &show {
                show(&event);
            }
        };
        let wanted = requirements.into_iter().map(Into::into).collect();
        let packages = sandbox.runner.packages();
        let installation = packages.install(wanted, &tell).await.map_err(|error| error.to_string())?;
        for layer in &installation.layers {
            let target = directory.join(&layer.name);
            let archive = layer.archive.try_clone().map_err(|error| text(&target, error))?;
            copy(archive, &target).map_err(|error| text(&target, error))?;
        }
    }
    let others =
        if arguments.all { local_wheels(&settings.packages).map_err(|error| error.to_string())? } else { Vec::new() };
    let work = tokio::task::spawn_blocking(move || {
        for path in others {
            let target = directory.join(path.file_name().unwrap_or_default());
            let same = fs::canonicalize(&path)
                .ok()
                .is_some_and(|path| fs::canonicalize(&target).is_ok_and(|target| target == path));
            if !same {
                let archive = File::open(&path).map_err(|error| text(&path, error))?;
                copy(archive, &target).map_err(|error| text(&target, error))?;
            }
        }
        let entries = entries(&directory)?;
        index::write(&directory, &entries).map_err(|error| text(&directory, error))?;
        Ok(entries.len())
    });
    work.await.map_err(|error| error.to_string())?
}

/// Returns the wheels in the directories of `--find-links`, of pip's settings and of uv's settings. Pages of links are not read.
///
/// # Errors
///
/// Settings or a directory cannot be read.
pub(crate) fn local_wheels(packages: &PackageSettings) -> Result<Vec<PathBuf>, IndexError> {
    let mut found = BTreeMap::new();
    for place in packages.sources.read()?.find_links {
        let FindLinks::Directory(path) = place else { continue };
        let wrong = |error: io::Error| IndexError::File { path: path.display().to_string(), reason: error.to_string() };
        for entry in fs::read_dir(&path).map_err(wrong)? {
            let entry = entry.map_err(wrong)?;
            if let Some(name) = wheel_name(&entry.path()) {
                // The first directory counts, as in resolution.
                found.entry(name.as_str().to_owned()).or_insert_with(|| entry.path());
            }
        }
    }
    Ok(found.into_values().take(MAX_WHEELS).collect())
}

/// Parses the name of a wheel's file. Returns `None` if it is not one.
pub(crate) fn wheel_name(path: &Path) -> Option<WheelFileName> {
    path.file_name()?.to_str()?.parse().ok()
}

/// Copies a file atomically.
fn copy(mut from: File, to: &Path) -> io::Result<()> {
    let mut name = to.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let temporary = PathBuf::from(name);
    // Descriptors of cached files are shared, so the position may be anywhere.
    let written = io::Seek::rewind(&mut from)
        .and_then(|()| io::copy(&mut from, &mut File::create(&temporary)?))
        .and_then(|_| fs::rename(&temporary, to));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Reads and verifies all wheels of the directory.
fn entries(directory: &Path) -> Result<Vec<WheelEntry>, String> {
    let wrong = |error: io::Error| format!("{}: {error}", directory.display());
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let Some(name) = wheel_name(&path) else { continue };
        if entries.len() == MAX_WHEELS {
            return Err(format!("{}: more than {MAX_WHEELS} wheels", directory.display()));
        }
        let mut file = File::open(&path).map_err(wrong)?;
        let contents = verify(&file, &name).map_err(|error| error.to_string())?;
        let mut hasher = Sha256::new();
        io::copy(&mut file, &mut HashWriter(&mut hasher)).map_err(wrong)?;
        let sha256 = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let distribution: DistributionName = name.name.clone();
        entries.push(WheelEntry {
            distribution,
            file: name.as_str().to_owned(),
            sha256,
            bytes: contents.summary.bytes,
            requires_python: contents.summary.metadata.requires_python,
        });
    }
    entries.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(entries)
}

/// A writer that hashes what is written.
struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
