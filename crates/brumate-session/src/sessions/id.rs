//! Ids of sessions. An id grants access to its session, so it must not be guessable.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Random bytes of an id: 96 bits in 16 characters.
const BYTES: usize = 12;

/// Id of a session: 16 URL-safe characters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// Characters of an id.
    pub(crate) const LENGTH: usize = BYTES / 3 * 4;

    /// Makes an id with the operating system's secure random generator.
    ///
    /// # Errors
    ///
    /// [`getrandom::Error`] when the system has no random numbers.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Parses an id; `None` for other texts. Ids become parts of file names.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == Self::LENGTH
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        fits.then(|| Self(text.to_owned()))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Shows the beginning only: logs must not grant access.
impl fmt::Debug for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SessionId({}…)", &self.0[..4])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_sixteen_characters_and_differ() {
        let ids: HashSet<String> = (0..1000).map(|_| SessionId::random().unwrap().to_string()).collect();
        assert_eq!(ids.len(), 1000);
        for id in ids {
            assert_eq!(SessionId::parse(&id).unwrap().as_str(), id);
        }
    }

    #[test]
    fn nothing_else_is_an_id() {
        for text in [
            "",
            "0",
            "abc",
            "../../../etc/pas",
            "abcdefghijklmno.",
            "abcdefghijklmnopq",
            "äbcdefghijklmn",
            "abcdefghijklmno\n",
        ] {
            assert_eq!(SessionId::parse(text), None, "{text:?}");
        }
        assert!(SessionId::parse("abcDEF012345-_xy").is_some());
        assert_eq!(format!("{:?}", SessionId::parse("abcDEF012345-_xy").unwrap()), "SessionId(abcD…)");
    }
}
