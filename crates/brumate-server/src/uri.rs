//! URIs of files in sessions: `kernel://{session_id}/{filename}`, with `?offset=N&length=N` for a range of bytes.

use brumate_session::sessions::{FileName, FileRange, SessionId};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The URI template of the resource template.
pub(crate) const TEMPLATE: &str = "kernel://{session_id}/{filename}";

/// Name of the file that is the session as a notebook. It hides a file of the code with this name.
pub(crate) const NOTEBOOK: &str = ".history.ipynb";

const SCHEME: &str = "kernel://";

/// Characters that a simple expansion encodes (RFC 6570): all but unreserved ones.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns the URI of a file.
pub(crate) fn file_uri(id: &str, name: &str) -> String {
    format!("{SCHEME}{id}/{}", utf8_percent_encode(name, ENCODED))
}

/// Returns the URI of a range of a file.
pub(crate) fn range_uri(id: &str, name: &str, offset: u64, length: u64) -> String {
    format!("{}?offset={offset}&length={length}", file_uri(id, name))
}

/// A parsed URI.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileAddress {
    pub(crate) session: SessionId,
    pub(crate) file: FileName,
    /// `None`: the whole file.
    pub(crate) range: Option<FileRange>,
}

/// Parses a URI. Returns `None` if it is invalid. The name is percent-decoded once; a decoded name that leads out of the
/// session's directory is invalid.
pub(crate) fn parse(uri: &str) -> Option<FileAddress> {
    let (uri, range) = match uri.split_once('?') {
        Some((uri, query)) => (uri, Some(parse_range(query)?)),
        None => (uri, None),
    };
    let (id, name) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    if name.contains('#') {
        return None;
    }
    let name = percent_decode_str(name).decode_utf8().ok()?;
    Some(FileAddress { session: SessionId::parse(id)?, file: FileName::parse_existing(&name).ok()?, range })
}

/// Parses `offset=N&length=N`. Either may be missing; other parameters are invalid.
fn parse_range(query: &str) -> Option<FileRange> {
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    let (mut offset, mut length) = (None, None);
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=')?;
        let target = match name {
            "offset" => &mut offset,
            "length" => &mut length,
            _ => return None,
        };
        if target.replace(number(value)?).is_some() {
            return None;
        }
    }
    Some(FileRange { offset: offset.unwrap_or(0), length })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "abcDEF012345-_xy";

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for (name, uri) in [
            ("sine_wave.png", "kernel://abcDEF012345-_xy/sine_wave.png"),
            ("a b%.csv", "kernel://abcDEF012345-_xy/a%20b%25.csv"),
            ("sub/ä.txt", "kernel://abcDEF012345-_xy/sub%2F%C3%A4.txt"),
            (".output/3.txt", "kernel://abcDEF012345-_xy/.output%2F3.txt"),
            ("C:\\a%2Fb", "kernel://abcDEF012345-_xy/C%3A%5Ca%252Fb"),
        ] {
            assert_eq!(file_uri(ID, name), uri);
            let address = parse(uri).unwrap();
            assert_eq!((address.session.as_str(), address.file.as_str(), address.range), (ID, name, None));
        }
        assert_eq!(parse(&format!("kernel://{ID}/sub/a.txt")).unwrap().file.as_str(), "sub/a.txt");
    }

    #[test]
    fn ranges_are_read_as_they_are_written() {
        let range = |query: &str| parse(&format!("kernel://{ID}/a.bin?{query}")).map(|address| address.range.unwrap());
        let of = |offset, length| Some(FileRange { offset, length });
        for (query, expected) in [
            ("offset=5&length=10", of(5, Some(10))),
            ("length=10&offset=5", of(5, Some(10))),
            ("offset=5", of(5, None)),
            ("length=0", of(0, Some(0))),
            ("offset=18446744073709551615&length=18446744073709551615", of(u64::MAX, Some(u64::MAX))),
            ("offset=18446744073709551616", None),
            ("offset=-1", None),
            ("offset=+1", None),
            ("offset=", None),
            ("offset=1&offset=2", None),
            ("offset=1&x=2", None),
            ("offset", None),
            ("", None),
            ("offset=1&", None),
        ] {
            assert_eq!(range(query), expected, "{query}");
        }
        let uri = range_uri(ID, "a b?.bin", 5, 10);
        assert_eq!(uri, format!("kernel://{ID}/a%20b%3F.bin?offset=5&length=10"));
        assert_eq!(parse(&uri).unwrap().file.as_str(), "a b?.bin");
    }

    #[test]
    fn every_spelling_of_a_way_out_is_refused() {
        for path in [
            "../config.py",
            "..%2Fconfig.py",
            "%2E%2E/config.py",
            "%2e%2e%2fconfig.py",
            ".%2E/config.py",
            "%252E%252E/config.py",
            "%252e%252e%252fconfig.py",
            "a/../../config.py",
            "a/%2E%2E/b",
            "..",
            ".",
            "",
            "/etc/passwd",
            "%2Fetc%2Fpasswd",
            "//etc/passwd",
            "..\\config.py",
            "..%5Cconfig.py",
            "%5C%5Chost%5Cshare",
            "a%00.png",
            "a\0",
            "a%0Ab",
            "%FF",
            "a?b",
            "a#b",
            "%c0%ae%c0%ae/config.py",
            "%u002e%u002e/a/../b",
        ] {
            assert_eq!(parse(&format!("kernel://{ID}/{path}")), None, "{path:?}");
        }
        for uri in [
            "kernel://../config.py",
            "kernel://%2E%2E/config.py",
            "kernel:///config.py",
            "kernel://config.py",
            "kernel://",
            "file:///etc/passwd",
            "KERNEL://abcDEF012345-_xy/a",
            "kernel://abcDEF012345-_x%79/a",
            "kernel:abcDEF012345-_xy/a",
            "",
        ] {
            assert_eq!(parse(uri), None, "{uri:?}");
        }
    }
}
