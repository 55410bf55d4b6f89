//! Wheels made for a test.

use std::fs::File;
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brumate_engine::api::Layer;
use sha2::{Digest, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A zip archive of these files.
pub(crate) fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        writer.start_file(*name, SimpleFileOptions::default()).expect("a name");
        writer.write_all(content).expect("memory");
    }
    writer.finish().expect("memory").into_inner()
}

/// The bytes of a wheel with these files, and the metadata an installer expects.
pub(crate) fn wheel(name: &str, version: &str, files: &[(&str, &[u8])], metadata: &str) -> Vec<u8> {
    let info = format!("{name}-{version}.dist-info");
    let record = format!("{info}/RECORD");
    let mut all: Vec<(String, Vec<u8>)> =
        files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect();
    let about = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}");
    all.push((format!("{info}/METADATA"), about.into_bytes()));
    all.push((format!("{info}/WHEEL"), b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n".to_vec()));
    let line = |(path, bytes): &(String, Vec<u8>)| {
        format!("{path},sha256={},{}\n", URL_SAFE_NO_PAD.encode(Sha256::digest(bytes)), bytes.len())
    };
    let lines: String = all.iter().map(line).collect();
    all.push((record.clone(), format!("{lines}{record},,\n").into_bytes()));
    let all: Vec<(&str, &[u8])> = all.iter().map(|(path, bytes)| (&path[..], &bytes[..])).collect();
    zip(&all)
}

/// Keeps `bytes` in a file of `directory`, opened for reading.
pub(crate) fn keep(directory: &Path, file: &str, bytes: &[u8]) -> Arc<File> {
    let path = directory.join(file);
    std::fs::write(&path, bytes).expect("the disk");
    Arc::new(File::open(path).expect("what was just written"))
}

/// `bytes` as a layer.
pub(crate) fn layer_of(directory: &Path, file: &str, bytes: &[u8]) -> Layer {
    let archive = keep(directory, file, bytes);
    Layer { name: file.to_owned(), sha256: Sha256::digest(bytes).into(), archive, bytecode: None }
}

/// A pure wheel as a layer.
pub(crate) fn layer(directory: &Path, name: &str, version: &str, files: &[(&str, &[u8])], metadata: &str) -> Layer {
    let file = format!("{name}-{version}-py3-none-any.whl");
    layer_of(directory, &file, &wheel(name, version, files, metadata))
}

/// The module `name` with a `__version__`, as a layer.
pub(crate) fn module(directory: &Path, name: &str, version: &str) -> Layer {
    let text = format!("__version__ = {version:?}\n");
    layer(directory, name, version, &[(&format!("{name}.py"), text.as_bytes())], "")
}
