//! Makes wheels, sound and hostile ones: each field of both headers can be set.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use sha2::{Digest, Sha256};
use std::io::Write;

/// One header's fields.
#[derive(Debug, Clone, Default)]
pub(crate) struct Header {
    pub(crate) name: Vec<u8>,
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) crc: u32,
    pub(crate) packed: u32,
    pub(crate) size: u32,
    pub(crate) extra: Vec<u8>,
}

/// One file: both of its headers, and what lies around them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub(crate) local: Header,
    pub(crate) central: Header,
    pub(crate) attributes: u32,
    pub(crate) data: Vec<u8>,
    /// Bytes behind the data: a descriptor, or what does not belong there.
    pub(crate) after: Vec<u8>,
    /// Another offset than the right one.
    pub(crate) offset: Option<u32>,
    /// Not written in the body; only the directory names it.
    pub(crate) is_ghost: bool,
}

impl Entry {
    /// Makes a stored file.
    pub(crate) fn stored(name: &str, content: &[u8]) -> Self {
        Self::new(name, content, content.to_vec(), 0)
    }

    /// Makes a deflated file.
    pub(crate) fn deflated(name: &str, content: &[u8]) -> Self {
        Self::new(name, content, deflate(content), 8)
    }

    fn new(name: &str, content: &[u8], data: Vec<u8>, method: u16) -> Self {
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let header = Header {
            name: name.as_bytes().to_vec(),
            flags: if name.is_ascii() { 0 } else { 1 << 11 },
            method,
            crc: crc.sum(),
            packed: data.len() as u32,
            size: content.len() as u32,
            extra: Vec::new(),
        };
        Self { local: header.clone(), central: header, data, attributes: 0o100_644 << 16, ..Self::default() }
    }

    /// Makes a directory.
    pub(crate) fn directory(name: &str) -> Self {
        Self { attributes: 0o40_755 << 16 | 0x10, ..Self::stored(&format!("{name}/"), b"") }
    }

    /// Changes both headers alike.
    pub(crate) fn both(mut self, change: impl Fn(&mut Header)) -> Self {
        change(&mut self.local);
        change(&mut self.central);
        self
    }

    /// Changes anything.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) fn name(&self) -> String {
        String::from_utf8_lossy(&self.central.name).into_owned()
    }
}

pub(crate) fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// An archive's end record, and zip64's when `zip64` is set.
#[derive(Debug, Clone, Default)]
pub(crate) struct End {
    pub(crate) prefix: Vec<u8>,
    pub(crate) before_directory: Vec<u8>,
    pub(crate) after_directory: Vec<u8>,
    pub(crate) comment: Vec<u8>,
    pub(crate) trailing: Vec<u8>,
    pub(crate) zip64: bool,
    /// Added to the numbers that the record states.
    pub(crate) more_entries: i64,
    pub(crate) longer_directory: i64,
    pub(crate) later_directory: i64,
    pub(crate) disk: u16,
}

/// Writes an archive.
pub(crate) fn zip(entries: &[Entry], end: &End) -> Vec<u8> {
    let mut bytes = end.prefix.clone();
    let mut offsets = Vec::new();
    for entry in entries {
        offsets.push(entry.offset.unwrap_or(bytes.len() as u32));
        if entry.is_ghost {
            continue;
        }
        bytes.extend_from_slice(b"PK\x03\x04\x14\0");
        put_common(&mut bytes, &entry.local);
        bytes.extend_from_slice(&entry.local.name);
        bytes.extend_from_slice(&entry.local.extra);
        bytes.extend_from_slice(&entry.data);
        bytes.extend_from_slice(&entry.after);
    }
    bytes.extend_from_slice(&end.before_directory);
    let start = bytes.len();
    for (entry, offset) in entries.iter().zip(offsets) {
        bytes.extend_from_slice(b"PK\x01\x02\x14\x03\x14\0");
        put_common(&mut bytes, &entry.central);
        bytes.extend_from_slice(&[0; 6]);
        bytes.extend_from_slice(&entry.attributes.to_le_bytes());
        bytes.extend_from_slice(&offset.to_le_bytes());
        bytes.extend_from_slice(&entry.central.name);
        bytes.extend_from_slice(&entry.central.extra);
    }
    let count = (entries.len() as i64 + end.more_entries) as u64;
    let length = ((bytes.len() - start) as i64 + end.longer_directory) as u64;
    let start = (start as i64 + end.later_directory) as u64;
    bytes.extend_from_slice(&end.after_directory);
    if end.zip64 {
        let record = bytes.len() as u64;
        bytes.extend_from_slice(b"PK\x06\x06");
        bytes.extend_from_slice(&44_u64.to_le_bytes());
        bytes.extend_from_slice(&[45, 3, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for number in [count, count, length, start] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(b"PK\x06\x07\0\0\0\0");
        bytes.extend_from_slice(&record.to_le_bytes());
        bytes.extend_from_slice(&1_u32.to_le_bytes());
    }
    bytes.extend_from_slice(b"PK\x05\x06");
    bytes.extend_from_slice(&end.disk.to_le_bytes());
    bytes.extend_from_slice(&[0; 2]);
    for _ in 0..2 {
        bytes.extend_from_slice(&if end.zip64 { 0xffff } else { count as u16 }.to_le_bytes());
    }
    for number in [length, start] {
        bytes.extend_from_slice(&if end.zip64 { u32::MAX } else { number as u32 }.to_le_bytes());
    }
    bytes.extend_from_slice(&(end.comment.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&end.comment);
    bytes.extend_from_slice(&end.trailing);
    bytes
}

/// Writes the common part of both headers, from the flags to the extra area's length.
fn put_common(bytes: &mut Vec<u8>, header: &Header) {
    for number in [header.flags, header.method, 0, 0x21] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for number in [header.crc, header.packed, header.size] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&(header.name.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&(header.extra.len() as u16).to_le_bytes());
}

/// A wheel in the making.
#[derive(Debug, Clone)]
pub(crate) struct Wheel {
    pub(crate) entries: Vec<Entry>,
    pub(crate) end: End,
    pub(crate) metadata: String,
    pub(crate) wheel: String,
    /// Changes `RECORD` after it was made.
    pub(crate) record: fn(String) -> String,
    pub(crate) dist_info: String,
    /// Files of `.dist-info` to leave out.
    pub(crate) without: &'static str,
}

/// File name of the wheel that [`Wheel::new`] makes.
pub(crate) const FILE_NAME: &str = "demo_pkg-1.2-py3-none-any.whl";

impl Wheel {
    /// Makes a sound wheel with `entries` besides its own.
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        Self {
            entries,
            end: End::default(),
            metadata: "Metadata-Version: 2.1\nName: Demo.Pkg\nVersion: 1.2\n\nText.\n".to_owned(),
            wheel: "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n".to_owned(),
            record: |record| record,
            dist_info: "demo_pkg-1.2.dist-info".to_owned(),
            without: "",
        }
    }

    /// Changes anything.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the archive's bytes.
    pub(crate) fn build(&self) -> Vec<u8> {
        let own = |name: &str| format!("{}/{name}", self.dist_info);
        let mut entries = self.entries.clone();
        for (name, content) in [("METADATA", &self.metadata), ("WHEEL", &self.wheel)] {
            if self.without != name {
                entries.push(Entry::deflated(&own(name), content.as_bytes()));
            }
        }
        let mut record = String::new();
        for entry in entries.iter().filter(|entry| !entry.name().ends_with('/')) {
            let content = match entry.central.method {
                8 => inflate(&entry.data),
                _ => entry.data.clone(),
            };
            let hash = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&content));
            record.push_str(&format!("\"{}\",sha256={hash},{}\n", entry.name().replace('"', "\"\""), content.len()));
        }
        record.push_str(&format!("{},,\n", own("RECORD")));
        if self.without != "RECORD" {
            entries.push(Entry::deflated(&own("RECORD"), (self.record)(record).as_bytes()));
        }
        zip(&entries, &self.end)
    }
}

/// Decompresses as much as possible: hostile entries are recorded as well.
fn inflate(data: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    let _ = std::io::Read::read_to_end(&mut flate2::read::DeflateDecoder::new(data), &mut content);
    content
}
