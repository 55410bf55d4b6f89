//! Principals: who sends a request.

use std::fmt;
use std::sync::Arc;

/// The sender of a request, as its token names it. Sessions, tasks and stored messages belong to the principal that
/// began them; other principals do not see them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    name: Arc<str>,
    subject: Arc<str>,
}

impl Principal {
    /// Makes a principal with a name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        let name = name.into();
        Self { subject: name.clone(), name }
    }

    /// Makes the principal of an access token. Its name is made of more than the subject.
    pub(crate) fn with_subject(name: impl Into<Arc<str>>, subject: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), subject: subject.into() }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the subject of the principal's access token. Without an access token it is the name. Principals of two
    /// clients can have one subject.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Returns the subject in the name of an access token's principal; `None` for other names.
    pub fn subject_of(name: &str) -> Option<&str> {
        let (_issuer, rest) = counted(name)?;
        let (subject, rest) = counted(rest)?;
        let (_client, rest) = counted(rest)?;
        rest.is_empty().then_some(subject)
    }
}

/// Splits `LENGTH:TEXT` off.
fn counted(text: &str) -> Option<(&str, &str)> {
    let (length, rest) = text.split_once(':')?;
    rest.split_at_checked(length.parse().ok()?)
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
