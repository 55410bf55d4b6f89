//! Archives: `brumate-VERSION-ARCH-linux.tar.gz`, and tar and zip files for other packages.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::Release;

/// An entry of an archive.
pub(super) struct Entry<'a> {
    pub(super) path: String,
    pub(super) bytes: &'a [u8],
    pub(super) executable: bool,
}

/// Makes the archive with the binary and its documents.
pub(super) fn make(release: &Release, out: &Path) -> Result<PathBuf> {
    let name = format!("brumate-{}-{}-linux", release.version, release.architecture.name());
    let mut entries = vec![Entry { path: format!("{name}/brumate"), bytes: &release.binary, executable: true }];
    for (document, bytes) in &release.documents {
        entries.push(Entry { path: format!("{name}/{document}"), bytes, executable: false });
    }
    for (path, bytes) in &release.completions {
        let file = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
        let shell = path.split('/').nth(2).and_then(|part| part.split('-').next()).unwrap_or_default();
        entries.push(Entry { path: format!("{name}/completions/{shell}/{file}"), bytes, executable: false });
    }
    for (page, bytes) in &release.manual {
        entries.push(Entry { path: format!("{name}/man/{page}"), bytes, executable: false });
    }
    let path = out.join(format!("{name}.tar.gz"));
    std::fs::write(&path, gzip(&tar(&entries, release.time)?)?)?;
    Ok(path)
}

/// Returns a tar file of these entries, with the directories that they lie in.
pub(super) fn tar(entries: &[Entry<'_>], time: u64) -> Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut directories = std::collections::BTreeSet::new();
    for entry in entries {
        for parent in Path::new(&entry.path).ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            let text = parent.to_string_lossy().into_owned();
            if !text.is_empty() && text != "." && directories.insert(text.clone()) {
                let mut header = header(0o755, 0, time);
                header.set_entry_type(tar::EntryType::Directory);
                builder.append_data(&mut header, format!("{text}/"), &[][..])?;
            }
        }
        let mut header = header(if entry.executable { 0o755 } else { 0o644 }, entry.bytes.len(), time);
        builder.append_data(&mut header, &entry.path, entry.bytes)?;
    }
    Ok(builder.into_inner()?)
}

fn header(mode: u32, size: usize, time: u64) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_mode(mode);
    header.set_size(size as u64);
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Compresses without a time or a name.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Writes a zip file of these entries, in their order. They have no time of their own: that of the format's first year.
pub(super) fn zip(path: &Path, entries: &[Entry<'_>]) -> Result<()> {
    let mut writer = ZipWriter::new(std::io::BufWriter::new(std::fs::File::create(path)?));
    for entry in entries {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(9))
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(if entry.executable { 0o755 } else { 0o644 });
        writer.start_file(entry.path.as_str(), options)?;
        writer.write_all(entry.bytes)?;
    }
    writer.finish()?.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_owned_by_nobody_and_have_their_directories() {
        let entry = Entry { path: "a/b/c".to_owned(), bytes: b"text", executable: true };
        let bytes = tar(&[entry], 7).unwrap();
        let mut archive = tar::Archive::new(&bytes[..]);
        let mut seen = Vec::new();
        for entry in archive.entries().unwrap() {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.mtime().unwrap()), (0, 7));
            seen.push((entry.path().unwrap().display().to_string(), header.mode().unwrap()));
        }
        assert_eq!(seen, [("a/".to_owned(), 0o755), ("a/b/".to_owned(), 0o755), ("a/b/c".to_owned(), 0o755)]);
    }
}
