//! Addresses of files in sessions: `kernel://{session_id}/{filename}`.

use brumate_session::sessions::{FileName, SessionId};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The template that clients see.
pub(crate) const TEMPLATE: &str = "kernel://{session_id}/{filename}";

const SCHEME: &str = "kernel://";

/// What RFC 6570 encodes in a simple expansion: all but unreserved characters.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The address of a file.
pub(crate) fn of_file(id: &str, name: &str) -> String {
    format!("{SCHEME}{id}/{}", utf8_percent_encode(name, ENCODED))
}

/// The session and the file of an address; `None` for everything else. Names are decoded once; what still has a way out
/// of the session's directory then, in whatever spelling, is no name.
pub(crate) fn parse(uri: &str) -> Option<(SessionId, FileName)> {
    let (id, name) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    if name.contains(['?', '#']) {
        return None;
    }
    let name = percent_decode_str(name).decode_utf8().ok()?;
    Some((SessionId::parse(id)?, FileName::parse_existing(&name).ok()?))
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
            assert_eq!(of_file(ID, name), uri);
            let (id, found) = parse(uri).unwrap();
            assert_eq!((id.as_str(), found.as_str()), (ID, name));
        }
        assert_eq!(parse(&format!("kernel://{ID}/sub/a.txt")).unwrap().1.as_str(), "sub/a.txt");
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
