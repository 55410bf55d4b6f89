//! `RECORD`: the hashes and sizes of a wheel's files (recording installed projects specification, PEP 376 and 427).

use std::collections::HashMap;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::WheelProblem;
use super::error::quote_for_error;
use super::limits::MAX_PATHS;

/// Hash in `RECORD`. The specification allows SHA-256 and better.
#[derive(Debug, Clone, PartialEq, Eq)]
enum StatedHash {
    Sha256(Vec<u8>),
    Sha384(Vec<u8>),
    Sha512(Vec<u8>),
}

/// Entry of `RECORD` for one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RecordEntry {
    hash: Option<StatedHash>,
    size: Option<u64>,
}

impl RecordEntry {
    /// Returns whether the entry has a hash.
    pub(super) fn has_hash(&self) -> bool {
        self.hash.is_some()
    }

    /// Starts the comparison of a file's content with the entry.
    pub(super) fn hasher(&self) -> ContentComparison<'_> {
        let other = match &self.hash {
            Some(StatedHash::Sha384(_)) => Some(OtherHasher::Sha384(Sha384::new())),
            Some(StatedHash::Sha512(_)) => Some(OtherHasher::Sha512(Sha512::new())),
            _ => None,
        };
        ContentComparison { recorded: self, sha256: Sha256::new(), other, size: 0 }
    }
}

enum OtherHasher {
    Sha384(Sha384),
    Sha512(Sha512),
}

/// Comparison of a file's content with its entry.
pub(super) struct ContentComparison<'a> {
    recorded: &'a RecordEntry,
    sha256: Sha256,
    other: Option<OtherHasher>,
    size: u64,
}

impl ContentComparison<'_> {
    pub(super) fn update(&mut self, piece: &[u8]) {
        self.size += piece.len() as u64;
        self.sha256.update(piece);
        match &mut self.other {
            Some(OtherHasher::Sha384(hasher)) => hasher.update(piece),
            Some(OtherHasher::Sha512(hasher)) => hasher.update(piece),
            None => {}
        }
    }

    /// Returns the file's SHA-256.
    ///
    /// # Errors
    /// [`WheelProblem::RecordMismatch`].
    pub(super) fn finish(self) -> Result<[u8; 32], WheelProblem> {
        let sha256: [u8; 32] = self.sha256.finalize().into();
        let other = match self.other {
            Some(OtherHasher::Sha384(hasher)) => hasher.finalize().to_vec(),
            Some(OtherHasher::Sha512(hasher)) => hasher.finalize().to_vec(),
            None => Vec::new(),
        };
        let agrees = match &self.recorded.hash {
            None => true,
            Some(StatedHash::Sha256(stated_hash)) => stated_hash[..] == sha256,
            Some(StatedHash::Sha384(stated_hash) | StatedHash::Sha512(stated_hash)) => *stated_hash == other,
        };
        if !agrees {
            return Err(WheelProblem::RecordMismatch("hash"));
        }
        if self.recorded.size.is_some_and(|size| size != self.size) {
            return Err(WheelProblem::RecordMismatch("size"));
        }
        Ok(sha256)
    }
}

/// Parsed `RECORD` file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    files: HashMap<String, RecordEntry>,
}

impl Record {
    /// Parses a `RECORD` file.
    ///
    /// # Errors
    ///
    /// [`WheelProblem::RecordLine`] for lines that are not `path,hash,size`, weak hashes, and paths that occur twice.
    pub fn parse(bytes: &[u8]) -> Result<Self, WheelProblem> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        let mut files = HashMap::new();
        let mut row = csv::ByteRecord::new();
        loop {
            let before = reader.position().line();
            let more = reader.read_byte_record(&mut row).map_err(|error| WheelProblem::RecordLine {
                line: before,
                reason: quote_for_error(&error.to_string()),
            })?;
            if !more {
                return Ok(Self { files });
            }
            let line = row.position().map_or(before, csv::Position::line);
            let fail = |reason: String| WheelProblem::RecordLine { line, reason };
            if files.len() >= MAX_PATHS {
                return Err(WheelProblem::TooMuch { what: "lines", limit: MAX_PATHS as u64 });
            }
            let (path, recorded) = entry(&row).map_err(fail)?;
            let again = files.get(path).is_some_and(|earlier| *earlier != recorded);
            if again {
                return Err(fail(format!("`{}` is listed twice, differently", quote_for_error(path))));
            }
            files.insert(path.to_owned(), recorded);
        }
    }

    pub(super) fn get(&self, path: &str) -> Option<&RecordEntry> {
        self.files.get(path)
    }

    /// Returns every path, in no order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

fn entry(row: &csv::ByteRecord) -> Result<(&str, RecordEntry), String> {
    let field =
        |index| row.get(index).map_or(Ok(""), |bytes| std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8"));
    if !(1..=3).contains(&row.len()) {
        return Err(format!("it has {} fields instead of path, hash and size", row.len()));
    }
    let (path, hash, size) = (field(0)?, field(1)?, field(2)?);
    if path.is_empty() {
        return Err("the path is empty".to_owned());
    }
    let hash = if hash.is_empty() { None } else { Some(stated_hash(hash)?) };
    let size = match size {
        "" => None,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().map_err(|_| "the size is too large")?)
        }
        other => return Err(format!("`{}` is not a size", quote_for_error(other))),
    };
    Ok((path, RecordEntry { hash, size }))
}

/// Reads `algorithm=digest`.
fn stated_hash(text: &str) -> Result<StatedHash, String> {
    let (algorithm, digest) =
        text.split_once('=').ok_or_else(|| format!("`{}` is not a hash", quote_for_error(text)))?;
    let (length, make): (usize, fn(Vec<u8>) -> StatedHash) = match algorithm {
        "sha256" => (32, StatedHash::Sha256),
        "sha384" => (48, StatedHash::Sha384),
        "sha512" => (64, StatedHash::Sha512),
        other => {
            return Err(format!(
                "hashes by `{}` are not accepted: sha256, sha384 and sha512 are",
                quote_for_error(other)
            ));
        }
    };
    BASE64_URL_SAFE_NO_PAD
        .decode(digest.trim_end_matches('='))
        .ok()
        .filter(|bytes| bytes.len() == length)
        .map(make)
        .ok_or_else(|| format!("`{}` is not a {algorithm} in base64", quote_for_error(digest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";

    fn reason(text: &str) -> String {
        Record::parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn reads_quoted_paths_and_all_line_ends() {
        let text = format!("a.py,{EMPTY},0\r\n\"b, \"\"c\"\".py\",{EMPTY}=,\nd-1.dist-info/RECORD,,\n");
        let record = Record::parse(text.as_bytes()).unwrap();
        assert!(record.get("b, \"c\".py").unwrap().has_hash());
        assert!(!record.get("d-1.dist-info/RECORD").unwrap().has_hash());
        assert_eq!(record.paths().count(), 3);
        assert!(record.get("a.py").unwrap().hasher().finish().is_ok());
    }

    #[test]
    fn content_is_compared() {
        let record = Record::parse(format!("a,{EMPTY},0\nb,{EMPTY},1\n").as_bytes()).unwrap();
        let mut changed = record.get("a").unwrap().hasher();
        changed.update(b"x");
        assert_eq!(changed.finish(), Err(WheelProblem::RecordMismatch("hash")));
        assert_eq!(record.get("b").unwrap().hasher().finish(), Err(WheelProblem::RecordMismatch("size")));
        let long = BASE64_URL_SAFE_NO_PAD.encode(Sha512::digest(b"abc"));
        let record = Record::parse(format!("a,sha512={long},3\n").as_bytes()).unwrap();
        let mut same = record.get("a").unwrap().hasher();
        same.update(b"a");
        same.update(b"bc");
        assert_eq!(same.finish().unwrap()[..], Sha256::digest(b"abc")[..]);
        assert!(record.get("a").unwrap().hasher().finish().is_err());
    }

    #[test]
    fn lines_that_prove_nothing() {
        assert!(reason("a,md5=abc,1\n").contains("`md5` are not accepted"));
        assert!(reason("a,sha1=abc,1\n").contains("not accepted"));
        assert!(reason("x,,\na,sha256=abc,1\n").starts_with("line 2:"));
        assert!(reason("a,sha256,1\n").contains("not a hash"));
        assert!(reason("a,,-1\n").contains("not a size"));
        assert!(reason("a,,99999999999999999999999\n").contains("too large"));
        assert!(reason("a,,1,4\n").contains("4 fields"));
        assert!(reason(",,\n").contains("empty"));
        assert!(reason(&format!("a,{EMPTY},0\na,,\n")).contains("listed twice"));
        assert!(reason("a,,1\n\u{fe}\n".replace('\u{fe}', "x,x").as_str()).contains("not a hash"));
        assert!(Record::parse(b"\xff,,\n").is_err());
    }
}
