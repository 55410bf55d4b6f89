//! Wheels and pages made for a test.

use std::io::Write;

use brumate_packages::Requirement;
use brumate_packages::resolver::{Policy, Resolution, ResolutionError, Resolver};
use brumate_packages::settings::{Credentials, Index, Settings};
use sha2::{Digest, Sha256};
use url::Url;
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use super::server::Server;

pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn metadata(name: &str, version: &str, requires: &[&str]) -> String {
    let requires: String = requires.iter().map(|requirement| format!("Requires-Dist: {requirement}\n")).collect();
    format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}\nA description.\n")
}

/// Makes a wheel with `padding` incompressible bytes in front of its metadata, and as many behind it.
pub(crate) fn wheel(name: &str, version: &str, requires: &[&str], padding: usize) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let deflated = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let mut put = |path: String, options, bytes: &[u8]| {
        archive.start_file(path, options).expect("a file");
        archive.write_all(bytes).expect("written");
    };
    put(format!("{name}/__init__.py"), stored, &vec![b'#'; padding]);
    put(format!("{name}-{version}.dist-info/METADATA"), deflated, metadata(name, version, requires).as_bytes());
    put(format!("{name}/data.py"), stored, &vec![b'#'; padding]);
    archive.finish().expect("an archive").into_inner()
}

/// Makes a page with one file for each of `files`: its name and further members of its object.
pub(crate) fn page(files: &[(&str, &str)]) -> String {
    let files: Vec<String> = files
        .iter()
        .map(|(name, more)| format!(r#"{{"filename": "{name}", "url": "/files/{name}", "hashes": {{}}{more}}}"#))
        .collect();
    format!(r#"{{"meta": {{"api-version": "1.1"}}, "files": [{}]}}"#, files.join(","))
}

/// Returns settings with `/simple/` of `server` as the only index, and short waits before retries.
pub(crate) fn settings(server: &Server) -> Settings {
    Settings {
        indexes: vec![index(&server.url)],
        retries: 2,
        retry_wait: std::time::Duration::from_millis(1),
        ..Settings::default()
    }
}

pub(crate) fn index(server: &Url) -> Index {
    Index::new(server.join("simple").expect("a URL").as_str(), &mut Credentials::default()).expect("an index")
}

pub(crate) async fn resolve(settings: Settings, requirements: &[&str]) -> Result<Resolution, ResolutionError> {
    resolve_with(&Resolver::new(settings).expect("settings"), requirements, Policy::default()).await
}

pub(crate) async fn resolve_with(
    resolver: &Resolver,
    requirements: &[&str],
    policy: Policy,
) -> Result<Resolution, ResolutionError> {
    let requirements: Vec<Requirement> = requirements.iter().map(|text| text.parse().expect("a requirement")).collect();
    resolver.resolve(&requirements, &[], policy).await
}

/// Returns `name==version` of each package.
pub(crate) fn names(resolution: &Resolution) -> Vec<String> {
    resolution.packages.iter().map(|package| format!("{}=={}", package.name, package.version)).collect()
}
