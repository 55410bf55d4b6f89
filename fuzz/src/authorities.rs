//! `Host`, `Origin` and the settings they are compared with.
//!
//! An authority that is read is written as one that means the same, and browsers' own parser (the crate `url`) finds the same host and
//! port in it. An origin is let in only where that parser sees this machine.

use brumate_mcp::fuzzing;
use url::Url;

/// Holds the property for one line of text: an authority, and an origin. Returns whether either was accepted.
///
/// # Panics
///
/// When it does not hold.
pub fn run(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let read = fuzzing::authority(text);
    if let Some((host, port, written)) = &read {
        let again = fuzzing::authority(written).expect("what is written is read");
        assert_eq!((&again.0, &again.1, &again.2), (host, port, written));
        // Names that look like numbers are addresses to browsers, or none at all; they are nobody's host then.
        if let Ok(url) = Url::parse(&format!("http://{text}/"))
            && url
                .host_str()
                .is_some_and(|seen| seen.starts_with(|first: char| !first.is_ascii_digit() && first != '['))
        {
            assert_eq!(url.host_str(), Some(host.as_str()), "{text:?}");
            assert_eq!(url.port_or_known_default(), Some(port.unwrap_or(80)), "{text:?}");
            assert_eq!((url.username(), url.password()), ("", None), "{text:?}");
        }
    }
    let admitted = fuzzing::admits_origin("http://localhost:*", text);
    if admitted {
        let url = Url::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!((url.scheme(), url.host_str(), url.username()), ("http", Some("localhost"), ""), "{text:?}");
    }
    read.is_some() || admitted
}
