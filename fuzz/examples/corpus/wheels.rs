//! Small wheels of the bundle, their text files, and hostile wheels.

use std::fs::File;
use std::io::{self, Cursor, Read, Write};

use brumate_fuzz::packages::Reader;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::{Input, damage, repository};

/// A file of an archive: its name and content.
type Member<'a> = (&'a str, &'a [u8]);

/// The smallest wheels of the bundle.
const SMALL: [&str; 3] = [
    "cycler-0.12.1-py3-none-any.whl",
    "ipython_pygments_lexers-1.1.1-py3-none-any.whl",
    "matplotlib_inline-0.2.2-py3-none-any.whl",
];

/// Inputs of `wheel`: a file name, a line's end, a wheel.
pub(crate) fn whole() -> io::Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for name in SMALL {
        inputs.push((project(name), [format!("{name}\n").as_bytes(), &bundled(name)?].concat()));
    }
    for (name, bytes) in hostile()? {
        inputs.push((name, [&b"a-1-py3-none-any.whl\n"[..], &bytes].concat()));
    }
    inputs.push(("other-name".to_owned(), [&b"six-1.17.0-py3-none-any.whl\n"[..], &bundled(SMALL[0])?].concat()));
    inputs.push(("no-name".to_owned(), bundled(SMALL[1])?));
    damage::add(&mut inputs, "cycler");
    Ok(inputs)
}

/// Inputs of `packages` for the reader of wheels.
pub(crate) fn for_metadata() -> io::Result<Vec<Input>> {
    let reader = [Reader::Wheel as u8];
    let mut inputs = vec![("wheel".to_owned(), [&reader[..], &bundled(SMALL[1])?].concat())];
    for (name, bytes) in hostile()? {
        inputs.push((format!("wheel-{name}"), [&reader[..], &bytes].concat()));
    }
    damage::add(&mut inputs, "wheel-no-record");
    Ok(inputs)
}

/// `METADATA`, `WHEEL`, `RECORD` and `entry_points.txt` of the small wheels.
pub(crate) fn texts() -> io::Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for name in SMALL {
        let mut archive = ZipArchive::new(Cursor::new(bundled(name)?)).map_err(io::Error::other)?;
        for index in 0..archive.len() {
            let mut file = archive.by_index(index).map_err(io::Error::other)?;
            let path = file.name().map_err(io::Error::other)?.into_owned();
            let (_, file_name) = path.rsplit_once('/').unwrap_or(("", &path));
            if ["METADATA", "WHEEL", "RECORD", "entry_points.txt"].contains(&file_name) {
                let mut text = Vec::new();
                file.read_to_end(&mut text)?;
                inputs.push((format!("{}-{file_name}", project(name)), text));
            }
        }
    }
    damage::add(&mut inputs, "cycler-METADATA");
    damage::add(&mut inputs, "cycler-RECORD");
    Ok(inputs)
}

/// Archives that no reader may accept.
fn hostile() -> io::Result<Vec<Input>> {
    const METADATA: Member<'_> = ("a-1.dist-info/METADATA", b"Metadata-Version: 2.1\nName: a\nVersion: 1\n");
    const WHEEL: Member<'_> =
        ("a-1.dist-info/WHEEL", b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
    let wrong = b"a.py,sha256=AAAA,1\na-1.dist-info/METADATA,,\na-1.dist-info/WHEEL,,\na-1.dist-info/RECORD,,\n";
    let record = ("a-1.dist-info/RECORD", &wrong[..]);
    let cases: [(&str, &[Member<'_>]); 6] = [
        ("empty-archive", &[]),
        ("no-record", &[("a.py", b"1"), METADATA, WHEEL]),
        ("wrong-hash", &[("a.py", b"1"), METADATA, WHEEL, record]),
        ("path-upwards", &[("../a.py", b"1"), METADATA, WHEEL, record]),
        ("path-absolute", &[("/etc/a.py", b"1"), METADATA, WHEEL, record]),
        ("two-projects", &[METADATA, WHEEL, record, ("b-1.dist-info/METADATA", METADATA.1)]),
    ];
    cases.into_iter().map(|(name, files)| Ok((name.to_owned(), archive(files)?))).collect()
}

/// An archive whose files are stored as they are.
fn archive(files: &[Member<'_>]) -> io::Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, bytes) in files {
        archive.start_file(*name, options).map_err(io::Error::other)?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish().map_err(io::Error::other)?.into_inner())
}

fn bundled(name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(repository().join("runtime/wheels").join(name))?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The part of a file name before the version.
fn project(name: &str) -> String {
    name.split('-').next().unwrap_or(name).to_owned()
}
