//! Principals: who sends a request.

use crate::auth::Access;
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

    /// Makes the principal of an access token: its issuer, subject and client together.
    pub(crate) fn of_access(access: &Access) -> Self {
        let parts = [access.issuer.as_deref(), Some(&access.subject), access.client_id.as_deref()];
        // With the length of each part, so that different triples have different names.
        let name: String =
            parts.iter().map(|part| part.unwrap_or_default()).map(|p| format!("{}:{p}", p.len())).collect();
        Self { name: name.into(), subject: access.subject.as_str().into() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_holders_of_tokens_are_one_principal() {
        let access = |issuer: &str, subject: &str, client: &str| {
            let mut access = Access::new(subject).with_client(client);
            access.issuer = Some(issuer.to_owned());
            Principal::of_access(&access)
        };
        let ada = access("https://a.example", "ada", "app");
        assert_eq!((ada.subject(), Principal::subject_of(ada.name())), ("ada", Some("ada")));
        for name in ["", "ada", "3:ada", "1:a1:b1:cd", "9:a", "1:a1:b1:é"] {
            assert_eq!(Principal::subject_of(name), None, "{name}");
        }
        assert_eq!(ada, access("https://a.example", "ada", "app"));
        for other in [
            access("https://b.example", "ada", "app"),
            access("https://a.example", "ada", "other"),
            access("https://a.example", "adaapp", ""),
            access("https://a.example", "", "adaapp"),
            access("https://a.examplea", "da", "app"),
        ] {
            assert_ne!(ada, other);
        }
    }
}
