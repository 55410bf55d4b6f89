//! Files of a session: names, MIME types, and changes by a cell.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use brumate_engine_api::FileInfo;
use percent_encoding::percent_decode_str;

use super::error::SessionError;
use super::limits::{MAX_KNOWN_FILES, WORKSPACE};
use super::record::FileRecord;

/// Most bytes of a name.
const MAX_NAME_BYTES: usize = 1024;
/// Most bytes of a part of a name between two `/`, as Linux's file systems allow.
const MAX_PART_BYTES: usize = 255;
/// Bytes from which the type of a file can be recognised.
pub(crate) const SNIFFED_BYTES: u64 = 512;
/// MIME type of unrecognised files.
pub(crate) const UNKNOWN_MIME: &str = "application/octet-stream";

/// Relative path below a session's working directory that does not lead out of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileName(String);

impl FileName {
    /// Parses a name that a caller writes.
    ///
    /// # Errors
    ///
    /// [`SessionError::FileName`] for absolute, empty and too long names, for `.` and `..` in every encoding, and for
    /// NUL, backslashes and control characters.
    pub fn parse(text: &str) -> Result<Self, SessionError> {
        let lower = text.to_ascii_lowercase();
        // A client that encodes once too often gets the same answer.
        let encoded = ["%2e", "%2f", "%5c", "%00", "%25"].iter().any(|code| lower.contains(code));
        if encoded || text.contains('\\') { Err(Self::refused(text)) } else { Self::parse_existing(text) }
    }

    /// Parses the name of an existing file. Code may have put backslashes and percent signs into it, which have no
    /// meaning here.
    ///
    /// # Errors
    ///
    /// [`SessionError::FileName`] as [`FileName::parse`], for names that lead out when they are decoded, however
    /// often, or when backslashes count as separators.
    pub fn parse_existing(text: &str) -> Result<Self, SessionError> {
        let part_fits = |part: &str| !matches!(part, "" | "." | "..");
        let has_no_way_out = |text: &str| !text.chars().any(char::is_control) && text.split(['/', '\\']).all(part_fits);
        let short = text.len() <= MAX_NAME_BYTES && text.split('/').all(|part| part.len() <= MAX_PART_BYTES);
        let mut spelling = Cow::Borrowed(text);
        // Each round makes it shorter.
        while short && has_no_way_out(&spelling) {
            match percent_decode_str(&spelling).decode_utf8() {
                Ok(decoded) if decoded == spelling => return Ok(Self(text.to_owned())),
                Ok(decoded) => spelling = Cow::Owned(decoded.into_owned()),
                Err(_) => break,
            }
        }
        Err(Self::refused(text))
    }

    fn refused(text: &str) -> SessionError {
        SessionError::FileName { name: text.escape_debug().take(80).collect() }
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the path in the guest of a file in the working directory.
pub(crate) fn guest_path(name: &str) -> String {
    format!("{WORKSPACE}/{name}")
}

/// Returns whether a file is for tools rather than for people. Such files are neither listed nor reported.
pub(crate) fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.') || part == "__pycache__")
}

/// Returns the MIME type of a file's extension; `None` if it is not known.
fn mime_of_name(name: &str) -> Option<&'static str> {
    // The table has `.ts` as video, and lacks common files of analysts.
    let last = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let extension = last.rsplit_once('.').map(|(_, extension)| extension)?;
    match extension {
        "parquet" => Some("application/vnd.apache.parquet"),
        "ipynb" => Some("application/x-ipynb+json"),
        "npy" | "npz" | "pkl" | "pickle" => Some(UNKNOWN_MIME),
        "py" => Some("text/x-python"),
        "ts" => Some("text/plain"),
        _ => mime_guess::from_ext(extension).first_raw(),
    }
}

/// Returns the MIME type of a file by its name, else by its content.
pub(crate) fn mime_of(name: &str, bytes: &[u8]) -> &'static str {
    mime_of_name(name).unwrap_or_else(|| mime_of_content(bytes.get(..SNIFFED_BYTES as usize).unwrap_or(bytes)))
}

/// Returns the MIME type that the first bytes of a file show, or `application/octet-stream`.
pub fn mime_of_content(bytes: &[u8]) -> &'static str {
    const MAGIC: [(&[u8], &str); 7] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"%PDF-", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b", "application/gzip"),
        (b"SQLite format 3\0", "application/vnd.sqlite3"),
    ];
    if let Some((_, mime)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return mime;
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return "image/webp";
    }
    // The last character may be cut off.
    let is_text = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && error.valid_up_to() > 0,
    };
    if is_text && !bytes.contains(&0) { "text/plain" } else { UNKNOWN_MIME }
}

/// Returns whether content of this type is returned as text if it is UTF-8. Images are never text.
pub fn is_text(mime: &str) -> bool {
    mime.starts_with("text/")
        || mime.ends_with("+json")
        || (mime.ends_with("+xml") && !mime.starts_with("image/"))
        || matches!(
            mime,
            "application/json"
                | "application/xml"
                | "application/javascript"
                | "application/x-javascript"
                | "application/yaml"
                | "application/x-yaml"
                | "application/toml"
                | "application/sql"
                | "application/x-sh"
                | "application/x-tex"
                | "application/x-ndjson"
        )
}

/// Compares names with their numbers as numbers: `figure_9` comes before `figure_10`.
pub(crate) fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    while let (Some(first), Some(second)) = (left.first(), right.first()) {
        let order = if first.is_ascii_digit() && second.is_ascii_digit() {
            let (number, other) = (take_number(&mut left), take_number(&mut right));
            (number.len(), number).cmp(&(other.len(), other))
        } else {
            (left, right) = (&left[1..], &right[1..]);
            first.cmp(second)
        };
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// Takes the digits at the beginning, without leading zeros.
fn take_number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    *text = rest;
    let zeros = number.iter().take_while(|&&digit| digit == b'0').count();
    &number[zeros..]
}

/// Changes of a session's files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileChanges {
    /// All files after the change. Files with an unknown type have an empty one.
    pub(crate) files: BTreeMap<String, FileRecord>,
    /// Files that are new or were written to, in [natural order](natural_order).
    pub(crate) written: Vec<String>,
    /// Whether a file was removed.
    pub(crate) removed: bool,
}

impl FileChanges {
    /// Compares the known files with the present ones.
    pub(crate) fn between(known: &BTreeMap<String, FileRecord>, there: Vec<FileInfo>) -> Self {
        let mut changes = FileChanges::default();
        for info in there {
            if is_hidden(&info.path)
                || FileName::parse_existing(&info.path).is_err()
                || changes.files.len() >= MAX_KNOWN_FILES
            {
                continue;
            }
            let file = match known.get(&info.path) {
                Some(file) if file.stamp == info.stamp && file.size == info.size => file.clone(),
                _ => {
                    changes.written.push(info.path.clone());
                    let mime = mime_of_name(&info.path).unwrap_or_default().to_owned();
                    FileRecord { size: info.size, stamp: info.stamp, mime }
                }
            };
            changes.files.insert(info.path, file);
        }
        changes.written.sort_by(|a, b| natural_order(a, b));
        changes.removed = known.keys().any(|path| !changes.files.contains_key(path));
        changes
    }

    /// Returns whether the list of files has changed.
    pub(crate) fn any(&self) -> bool {
        self.removed || !self.written.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(path: &str, size: u64, stamp: u64) -> FileInfo {
        FileInfo { path: path.to_owned(), size, modified: 0, stamp }
    }

    #[test]
    fn names_are_listed_as_people_count() {
        let mut names =
            ["figure_10.png", "b", "figure_9.svg", "a2/x", "figure_9.png", "a10/x", "figure_09.png", "a", "figure_"];
        names.sort_by(|a, b| natural_order(a, b));
        let expected =
            ["a", "a2/x", "a10/x", "b", "figure_", "figure_09.png", "figure_9.png", "figure_9.svg", "figure_10.png"];
        assert_eq!(names, expected);
    }

    #[test]
    fn names_have_no_way_out() {
        for name in ["a", "a.csv", "sub/dir/ä b.png", "...", ".output/1.txt", "100%", "a..b", &"x".repeat(255)] {
            assert_eq!(FileName::parse(name).unwrap().as_str(), name);
        }
        assert_eq!(guest_path("a/b"), "/workspace/a/b");
        for name in ["a\\b", "C:\\temp\\out.csv", "a%2Fb", "a%5cb", "100%25", "a%252Fb", "100%", "%"] {
            assert_eq!(FileName::parse_existing(name).unwrap().as_str(), name);
        }
        for name in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../config.py",
            "a/../b",
            "a/..",
            "./a",
            "a/./b",
            "a//b",
            "a/",
            "a\\b",
            "..\\a",
            "a\0b",
            "a\nb",
            "%2e%2e/config.py",
            "%2E%2E%2Fconfig.py",
            "..%2fa",
            "a%5cb",
            "a%00b",
            "%252e%252e",
            &"x".repeat(256),
            &"x/".repeat(600),
        ] {
            let error = FileName::parse(name).unwrap_err();
            assert!(error.to_string().len() < 300, "{error}");
            let harmless = ["a\\b", "a%5cb"].contains(&name);
            assert_eq!(FileName::parse_existing(name).is_ok(), harmless, "{name}");
        }
        for name in [
            "..\\a",
            "a\\..\\b",
            "\\\\host\\a",
            "a%5c..%5cb",
            "%252e%252e",
            "a%252F%252e%252e",
            "a%250Ab",
            "%FF",
            "%25FF",
        ] {
            assert!(FileName::parse_existing(name).is_err(), "{name}");
        }
    }

    #[test]
    fn types_come_from_names_and_then_from_content() {
        for (name, mime) in [
            ("a.png", "image/png"),
            ("A.PNG", "image/png"),
            ("a.svg", "image/svg+xml"),
            ("a.csv", "text/csv"),
            ("a.txt", "text/plain"),
            ("a.py", "text/x-python"),
            ("a.json", "application/json"),
            ("a.html", "text/html"),
            ("a.pdf", "application/pdf"),
            ("a.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
            ("a.md", "text/markdown"),
            ("a.parquet", "application/vnd.apache.parquet"),
            ("d.x/a.jpeg", "image/jpeg"),
        ] {
            assert_eq!(mime_of_name(name), Some(mime), "{name}");
        }
        assert_eq!(
            (mime_of_name("README"), mime_of_name("d.csv/README"), mime_of_name("a.nosuch")),
            (None, None, None)
        );
        for (bytes, mime) in [
            (&b"\x89PNG\r\n\x1a\n.."[..], "image/png"),
            (b"RIFF....WEBPVP8 ", "image/webp"),
            (b"hello", "text/plain"),
            (b"", "text/plain"),
            ("abcé".as_bytes().split_at(4).0, "text/plain"),
            (b"a\0b", UNKNOWN_MIME),
            (b"\xff\xfe\x00", UNKNOWN_MIME),
        ] {
            assert_eq!(mime_of_content(bytes), mime, "{bytes:?}");
        }
        for (mime, text) in
            [("text/csv", true), ("application/json", true), ("image/svg+xml", false), ("image/png", false)]
        {
            assert_eq!(is_text(mime), text);
        }
    }

    #[test]
    fn what_is_new_or_written_is_found_once() {
        let first = FileChanges::between(
            &BTreeMap::new(),
            vec![
                info("a.csv", 1, 1),
                info("b", 2, 1),
                info(".hidden/x", 1, 1),
                info("p/__pycache__/m.pyc", 1, 1),
                info("a\\..\\b", 1, 1),
            ],
        );
        assert_eq!(first.written, ["a.csv", "b"]);
        assert_eq!(first.files["a.csv"].mime, "text/csv");
        assert!(first.any() && !first.removed);
        let same = FileChanges::between(&first.files, vec![info("a.csv", 1, 1), info("b", 2, 1)]);
        assert!(!same.any());
        let changed = FileChanges::between(&first.files, vec![info("a.csv", 1, 2)]);
        assert_eq!((changed.written, changed.removed), (vec!["a.csv".to_owned()], true));
    }

    #[test]
    fn a_flood_of_files_is_bounded() {
        let there = (0..MAX_KNOWN_FILES as u64 + 10).map(|n| info(&format!("{n:06}"), n, n)).collect();
        assert_eq!(FileChanges::between(&BTreeMap::new(), there).files.len(), MAX_KNOWN_FILES);
    }
}
