//! Verification of wheels.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::str::FromStr;

use pep440_rs::Version;

use super::archive::{Archive, Entry, PathNames, ReadAt};
use super::contents::{NativeFormat, NativeModule, WheelContents, WheelFile, WheelSummary};
use super::error::{LocatedProblem, WheelError, quote_for_error};
use super::file_name::WheelFileName;
use super::layout::{Scheme, split_scheme, top_directory};
use super::limits;
use super::metadata::{Metadata, WheelInfo, parse_entry_points};
use super::record::Record;
use super::{WheelProblem, limits::MAX_RECORD_BYTES};
use crate::name::DistributionName;

/// Version of the verifier. Raise it with every change after which a wheel may be judged, or described, differently.
pub const VERIFIER_VERSION: u32 = 1;

/// Extensions of native modules and libraries on any system. `.so.1` counts as well.
const NATIVE_ENDINGS: &[&str] = &[".so", ".pyd", ".dylib", ".dll"];

/// Verifies a wheel: structure, names, sizes, checksums, metadata against the file name, every file against `RECORD`.
/// Needs memory for the list of files and a buffer.
///
/// The SHA-256 of the wheel itself is not computed here.
///
/// # Errors
///
/// [`WheelError`] for the first problem.
pub fn verify<R: ReadAt + ?Sized>(source: &R, file_name: &WheelFileName) -> Result<WheelContents, WheelError> {
    read(source, file_name).map_err(|located| located.in_wheel(file_name.as_str()))
}

fn read<R: ReadAt + ?Sized>(source: &R, file_name: &WheelFileName) -> Result<WheelContents, LocatedProblem> {
    let bytes = source.size().map_err(|error| WheelProblem::Io(error.to_string()))?;
    let archive = Archive::open(source)?;
    let directories = SpecialDirectories::find(&archive.entries, file_name)?;
    let placed = place_all(&archive.entries, &directories)?;
    let files: HashMap<&str, &Entry> =
        archive.entries.iter().filter(|entry| !entry.is_directory).map(|entry| (entry.path.as_str(), entry)).collect();

    let own = |name: &str| format!("{}/{name}", directories.dist_info);
    let content = |path: &str, limit: usize| {
        let entry = files.get(path).ok_or_else(|| LocatedProblem::new(path, WheelProblem::Missing))?;
        archive.content(entry, limit).map_err(|problem| LocatedProblem::new(path, problem))
    };
    let parsed = |path: String, limit: usize| content(&path, limit).map(|bytes| (bytes, path));

    let (bytes_of, path) = parsed(own("METADATA"), limits::MAX_METADATA_BYTES)?;
    let metadata = Metadata::parse(&bytes_of)
        .and_then(|metadata| check_metadata(&metadata, file_name).map(|()| metadata))
        .map_err(|problem| LocatedProblem::new(&path, problem))?;
    let (bytes_of, path) = parsed(own("WHEEL"), limits::MAX_WHEEL_FILE_BYTES)?;
    let wheel = WheelInfo::parse(&bytes_of)
        .and_then(|wheel| check_build(&wheel, file_name).map(|()| wheel))
        .map_err(|problem| LocatedProblem::new(&path, problem))?;
    let entry_points = match files.contains_key(own("entry_points.txt").as_str()) {
        false => Vec::new(),
        true => {
            let (bytes_of, path) = parsed(own("entry_points.txt"), limits::MAX_ENTRY_POINTS_BYTES)?;
            parse_entry_points(&bytes_of).map_err(|problem| LocatedProblem::new(&path, problem))?
        }
    };
    let (bytes_of, record_path) = parsed(own("RECORD"), MAX_RECORD_BYTES)?;
    let record = Record::parse(&bytes_of).map_err(|problem| LocatedProblem::new(&record_path, problem))?;
    check_record(&record, &archive.entries, &record_path)?;

    let mut found = Vec::with_capacity(files.len());
    let mut native_modules = Vec::new();
    for (entry, (scheme, relative)) in archive.entries.iter().zip(&placed).filter(|(entry, _)| !entry.is_directory) {
        let (sha256, first) =
            digest(&archive, entry, &record).map_err(|problem| LocatedProblem::new(&entry.path, problem))?;
        if is_native(&entry.path) {
            native_modules.push(NativeModule { path: entry.path.clone(), format: NativeFormat::of(&first) });
        }
        found.push(WheelFile::new(&entry.path, *scheme, relative, entry.size, sha256));
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    native_modules.sort_by(|a, b| a.path.cmp(&b.path));
    let summary = WheelSummary {
        file_name: file_name.as_str().to_owned(),
        bytes,
        unpacked_bytes: found.iter().map(|file| file.size).sum(),
        file_count: found.len() as u64,
        import_names: import_names(&found),
        library_directories: library_directories(&found),
        metadata,
        wheel,
        entry_points,
        native_modules,
    };
    Ok(WheelContents { summary, files: found })
}

/// Special directories at the root.
struct SpecialDirectories {
    dist_info: String,
    data: Option<String>,
}

impl SpecialDirectories {
    fn find(entries: &[Entry], file_name: &WheelFileName) -> Result<Self, LocatedProblem> {
        let tops: BTreeSet<&str> = entries
            .iter()
            .filter_map(|entry| top_directory(&entry.path).or_else(|| entry.is_directory.then_some(&entry.path)))
            .collect();
        let ending = |ending: &'static str| tops.iter().copied().filter(move |top| top.ends_with(ending));
        let dist_infos: Vec<&str> = ending(".dist-info").collect();
        let [dist_info] = dist_infos[..] else { return Err(WheelProblem::DistInfo(dist_infos.len()).into()) };
        check_directory(dist_info, ".dist-info", file_name)?;
        // Installers treat every such directory as one with schemes.
        for data in ending(".data") {
            check_directory(data, ".data", file_name)?;
        }
        let data: Vec<&str> = ending(".data").collect();
        if let [_, second, ..] = data[..] {
            return Err(LocatedProblem::new(second, WheelProblem::Syntax("a second `.data` directory".to_owned())));
        }
        Ok(Self { dist_info: dist_info.to_owned(), data: data.first().map(|data| (*data).to_owned()) })
    }
}

/// Checks that a directory is named after the wheel.
fn check_directory(directory: &str, ending: &str, file_name: &WheelFileName) -> Result<(), LocatedProblem> {
    let stem = directory.strip_suffix(ending).unwrap_or(directory);
    let (name, version) = stem.rsplit_once('-').unwrap_or((stem, ""));
    let located = |problem| LocatedProblem::new(directory, problem);
    check_name(name, file_name).map_err(located)?;
    check_version(&version.replace('_', "-"), file_name).map_err(located)
}

fn check_name(found: &str, file_name: &WheelFileName) -> Result<(), WheelProblem> {
    if DistributionName::new(found).as_ref() == Some(&file_name.name) {
        return Ok(());
    }
    Err(WheelProblem::Contradiction {
        field: "name",
        found: quote_for_error(found),
        expected: file_name.name.to_string(),
    })
}

fn check_version(found: &str, file_name: &WheelFileName) -> Result<(), WheelProblem> {
    if Version::from_str(found).is_ok_and(|version| version == file_name.version) {
        return Ok(());
    }
    Err(WheelProblem::Contradiction {
        field: "version",
        found: quote_for_error(found),
        expected: file_name.version.to_string(),
    })
}

fn check_metadata(metadata: &Metadata, file_name: &WheelFileName) -> Result<(), WheelProblem> {
    check_name(&metadata.name, file_name)?;
    check_version(&metadata.version, file_name)
}

fn check_build(wheel: &WheelInfo, file_name: &WheelFileName) -> Result<(), WheelProblem> {
    // Wheels are often renamed to add a build tag; a wheel that states another one is refused.
    match (&wheel.build, &file_name.build) {
        (Some(found), Some(expected)) if *found != expected.to_string() => Err(WheelProblem::Contradiction {
            field: "build",
            found: quote_for_error(found),
            expected: expected.to_string(),
        }),
        _ => Ok(()),
    }
}

/// Returns the place of each entry, in the order of the entries; two files must not have the same place.
fn place_all<'a>(
    entries: &'a [Entry],
    directories: &SpecialDirectories,
) -> Result<Vec<(Scheme, &'a str)>, LocatedProblem> {
    let mut names = PathNames::default();
    let mut placed = Vec::with_capacity(entries.len());
    for entry in entries {
        let located = |problem| LocatedProblem::new(&entry.path, problem);
        if entry.is_directory {
            placed.push((Scheme::SitePackages, entry.path.as_str()));
            continue;
        }
        let (scheme, relative) = split_scheme(&entry.path, directories.data.as_deref()).map_err(located)?;
        if scheme == Scheme::SitePackages {
            names.add(relative, false).map_err(located)?;
            let top = top_directory(relative).unwrap_or("");
            if top.ends_with(".dist-info") && top != directories.dist_info {
                return Err(WheelProblem::DistInfo(2).into());
            }
        }
        placed.push((scheme, relative));
    }
    Ok(placed)
}

/// Returns whether a file cannot hold its own hash, or that of `RECORD`.
fn is_exempt(path: &str, record_path: &str) -> bool {
    path.strip_prefix(record_path).is_some_and(|rest| matches!(rest, "" | ".jws" | ".p7s"))
}

/// Checks that `RECORD` lists each file with a hash, and nothing else.
fn check_record(record: &Record, entries: &[Entry], record_path: &str) -> Result<(), LocatedProblem> {
    let mut listed: BTreeSet<&str> = record.paths().collect();
    for entry in entries {
        let was_listed = listed.remove(entry.path.as_str());
        if entry.is_directory || is_exempt(&entry.path, record_path) {
            continue;
        }
        if !was_listed {
            return Err(LocatedProblem::new(&entry.path, WheelProblem::Unlisted));
        }
        if !record.get(&entry.path).is_some_and(super::record::RecordEntry::has_hash) {
            return Err(LocatedProblem::new(&entry.path, WheelProblem::Unlisted));
        }
    }
    // A directory may be listed with its slash.
    let directories: HashSet<&str> =
        entries.iter().filter(|entry| entry.is_directory).map(|entry| entry.path.as_str()).collect();
    let is_directory = |path: &str| path.strip_suffix('/').is_some_and(|path| directories.contains(path));
    match listed.into_iter().find(|path| !is_exempt(path, record_path) && !is_directory(path)) {
        Some(path) => Err(LocatedProblem::new(path, WheelProblem::ListedMissing)),
        None => Ok(()),
    }
}

/// Returns the SHA-256 and the first bytes of a file, after a comparison with its entry in `RECORD`.
fn digest<R: ReadAt + ?Sized>(
    archive: &Archive<'_, R>,
    entry: &Entry,
    record: &Record,
) -> Result<([u8; 32], Vec<u8>), WheelProblem> {
    let unrecorded = super::record::RecordEntry::default();
    let recorded = record.get(&entry.path).filter(|_| !entry.path.ends_with("/RECORD")).unwrap_or(&unrecorded);
    let mut comparison = recorded.hasher();
    let mut first = Vec::new();
    archive.unpack(entry, &mut |piece| {
        if first.is_empty() {
            first.extend_from_slice(&piece[..piece.len().min(8)]);
        }
        comparison.update(piece);
    })?;
    Ok((comparison.finish()?, first))
}

fn is_native(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    NATIVE_ENDINGS.iter().any(|ending| name.ends_with(ending)) || name.contains(".so.")
}

/// Returns the modules at the top level of a wheel. Reads the list of its files only, and verifies none of them.
///
/// # Errors
///
/// [`WheelError`] when it is not a wheel.
pub fn modules_of<R: ReadAt + ?Sized>(source: &R, file_name: &WheelFileName) -> Result<Vec<String>, WheelError> {
    let list = || {
        let archive = Archive::open(source)?;
        let directories = SpecialDirectories::find(&archive.entries, file_name)?;
        let placed = place_all(&archive.entries, &directories)?;
        let files = archive.entries.iter().zip(&placed).filter(|(entry, _)| !entry.is_directory);
        Ok(top_level(files.filter(|(_, (scheme, _))| *scheme == Scheme::SitePackages).map(|(_, (_, path))| *path)))
    };
    list().map_err(|located: LocatedProblem| located.in_wheel(file_name.as_str()))
}

/// Returns the top-level modules: files and directories at the root of site-packages that Python can import.
fn import_names(files: &[WheelFile]) -> Vec<String> {
    top_level(files.iter().filter_map(WheelFile::site_packages_path))
}

fn top_level<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut names = BTreeSet::new();
    for path in paths {
        let (top, is_package) = match path.split_once('/') {
            Some((top, rest)) => {
                // A package has modules in it or below; directories of data do not count.
                let is_code = rest.ends_with(".py") || is_native(rest);
                (top, is_code)
            }
            None if path.ends_with(".py") || is_native(path) => (path.split('.').next().unwrap_or(path), true),
            None => (path, false),
        };
        if is_package && is_identifier(top) {
            names.insert(top.to_owned());
        }
    }
    names.into_iter().collect()
}

fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|character| character.is_alphanumeric() || character == '_')
}

/// Returns the directories of the archive, other than its root, that belong into site-packages.
fn library_directories(files: &[WheelFile]) -> Vec<String> {
    let outside = |file: &WheelFile| {
        let relative = file.site_packages_path()?;
        file.path.strip_suffix(relative)?.strip_suffix('/').map(str::to_owned)
    };
    files.iter().filter_map(outside).collect::<BTreeSet<_>>().into_iter().collect()
}
