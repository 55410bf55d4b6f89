//! Reads `METADATA` from a wheel by fetching only its end and that file.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use url::Url;

use crate::index::blocking::blocking;
use crate::index::error::{IndexError, url_for_error};
use crate::index::http::Http;
use crate::index::transfer::ByteRange;
use crate::index::{MAX_METADATA_BYTES, MAX_RANGE_BYTES};

/// Bytes at the end that are fetched first: enough for the directory of most wheels.
const FIRST_BYTES: u64 = 32 * 1024;
/// Smallest piece that is fetched afterwards.
const PIECE_BYTES: u64 = 64 * 1024;
/// Most bytes of a wheel that are read for its metadata: the directory of one with 65,536 files, and `METADATA`.
const MAX_READ_BYTES: u64 = 24 << 20;
/// Most requests for one wheel.
const MAX_REQUESTS: usize = 64;

/// Reads `METADATA` of the wheel at `url`; `None` if its server does not support ranges.
pub(crate) async fn remote_metadata(http: &Http, url: &Url) -> Result<Option<Arc<[u8]>>, IndexError> {
    let malformed = |reason: String| IndexError::Malformed { url: url_for_error(url), reason };
    let Some(end) = http.get_range(url, ByteRange::Last(FIRST_BYTES), FIRST_BYTES).await? else {
        return Ok(None);
    };
    let mut pieces = PartialFile { total: end.total, parts: vec![(end.first, end.bytes)], ..PartialFile::default() };
    for _ in 0..MAX_REQUESTS {
        pieces.position = 0;
        let attempt = metadata_of(&mut pieces);
        let Some(missing) = pieces.missing.take() else {
            return attempt.map(Some).map_err(malformed);
        };
        let first = missing;
        let until = pieces.next_known(first).unwrap_or(pieces.total);
        let last = until.min(first.saturating_add(PIECE_BYTES)).saturating_sub(1);
        if pieces.fetched() + (last - first + 1) > MAX_RANGE_BYTES {
            return Err(IndexError::TooLarge { url: url_for_error(url), limit: MAX_RANGE_BYTES });
        }
        let part = http.get_range(url, ByteRange::Between(first, last), last - first + 1).await?;
        let part = part.filter(|part| part.first == first && part.total == pieces.total && !part.bytes.is_empty());
        let Some(part) = part else {
            return Err(malformed("its server answers requests for ranges with other ranges".to_owned()));
        };
        pieces.parts.push((part.first, part.bytes));
    }
    Err(malformed(format!("its metadata is not found within {MAX_REQUESTS} requests")))
}

/// Reads `METADATA` of the wheel of a `file:` URL.
pub(crate) async fn local_metadata(url: &Url) -> Result<Arc<[u8]>, IndexError> {
    let shown = url_for_error(url);
    let Ok(path) = url.to_file_path() else {
        return Err(IndexError::File { path: shown, reason: "not a path of this machine".to_owned() });
    };
    blocking(move || {
        let file = std::fs::File::open(&path)
            .map_err(|error| IndexError::File { path: path.display().to_string(), reason: error.to_string() })?;
        metadata_of(io::BufReader::new(file)).map_err(|reason| IndexError::Malformed { url: shown, reason })
    })
    .await
}

/// Reads `*.dist-info/METADATA` of a wheel.
///
/// # Errors
///
/// A sentence that says why the file cannot be read.
#[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
pub fn metadata_of(wheel: impl Read + Seek) -> Result<Arc<[u8]>, String> {
    let wheel = BoundedReads { inner: wheel, left: MAX_READ_BYTES };
    let mut archive = zip::ZipArchive::new(wheel).map_err(|error| format!("not a wheel: {error}"))?;
    let is_metadata = |name: &str| {
        let stem = name.strip_suffix("/METADATA").and_then(|rest| rest.strip_suffix(".dist-info"));
        stem.is_some_and(|stem| !stem.is_empty() && !stem.contains('/'))
    };
    let mut found: Vec<String> = Vec::new();
    for name in archive.file_names() {
        let name = name.map_err(|error| format!("not a wheel: {error}"))?;
        if is_metadata(&name) {
            found.push(name.into_owned());
        }
    }
    let name = match found.as_slice() {
        [name] => name,
        [] => return Err("it has no .dist-info/METADATA".to_owned()),
        _ => return Err("it has several .dist-info/METADATA".to_owned()),
    };
    let file = archive.by_name(name).map_err(|error| format!("{name}: {error}"))?;
    let mut bytes = Vec::new();
    file.take(MAX_METADATA_BYTES + 1).read_to_end(&mut bytes).map_err(|error| format!("{name}: {error}"))?;
    if bytes.len() as u64 > MAX_METADATA_BYTES {
        return Err(format!("{name} is larger than {MAX_METADATA_BYTES} bytes"));
    }
    Ok(bytes.into())
}

/// Reader that fails after so many bytes: the directory of an archive is decoded into memory as a whole.
struct BoundedReads<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for BoundedReads<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left =
            self.left.checked_sub(count as u64).ok_or_else(|| io::Error::other("its directory is too large"))?;
        Ok(count)
    }
}

impl<R: Seek> Seek for BoundedReads<R> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.inner.seek(position)
    }
}

/// File of which only some parts are present. A read elsewhere fails and notes the missing range.
#[derive(Default)]
struct PartialFile {
    total: u64,
    position: u64,
    parts: Vec<(u64, Arc<[u8]>)>,
    missing: Option<u64>,
}

impl PartialFile {
    fn fetched(&self) -> u64 {
        self.parts.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// Returns the start of the next present part after `offset`.
    fn next_known(&self, offset: u64) -> Option<u64> {
        self.parts.iter().map(|(first, _)| *first).filter(|first| *first > offset).min()
    }
}

impl Read for &mut PartialFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.total || buffer.is_empty() {
            return Ok(0);
        }
        let position = self.position;
        let found = self.parts.iter().find_map(|(first, bytes)| {
            let offset = usize::try_from(position.checked_sub(*first)?).ok()?;
            bytes.get(offset..).filter(|rest| !rest.is_empty())
        });
        let Some(rest) = found else {
            self.missing = Some(position);
            return Err(io::Error::other("not fetched yet"));
        };
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.position += length as u64;
        Ok(length)
    }
}

impl Seek for &mut PartialFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.total.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn archive(entries: usize, metadata: usize) -> Cursor<Vec<u8>> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default();
        for number in 0..entries {
            writer.start_file(format!("{number:0200}"), options).unwrap();
        }
        writer.start_file("a-1.dist-info/METADATA", options).unwrap();
        writer.write_all(&vec![b'x'; metadata]).unwrap();
        Cursor::new(writer.finish().unwrap().into_inner())
    }

    #[test]
    fn bombs_are_refused() {
        assert_eq!(metadata_of(archive(1000, 3)).unwrap()[..], *b"xxx");
        let most = MAX_METADATA_BYTES as usize;
        assert_eq!(metadata_of(archive(0, most)).unwrap().len(), most);
        let error = metadata_of(archive(0, most + 1)).unwrap_err();
        assert!(error.contains("is larger than"), "{error}");
        // Each entry takes 246 bytes in the directory.
        let error = metadata_of(archive(MAX_READ_BYTES as usize / 246 + 1, 3)).unwrap_err();
        assert!(error.contains("its directory is too large"), "{error}");
    }
}
