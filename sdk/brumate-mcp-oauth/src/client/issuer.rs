//! The authorization server that a client's own credentials are for.
//!
//! A server names its authorization servers, and may name others tomorrow. Credentials of a client belong to the server that issued them,
//! by its issuer identifier, and no other server gets them.

use super::AuthError;

/// The most issuers that an error names.
const MAX_NAMED: usize = 3;

/// The authorization server that gets credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum IssuerPin {
    /// None was set: what is secret is sent to nobody.
    #[default]
    Unset,
    /// The first one that the MCP server names; later no other.
    FirstNamed,
    /// This one.
    Issuer(String),
}

impl IssuerPin {
    /// Returns whether credentials that were used at `issuer` are for it.
    pub(super) fn admits(&self, issuer: &str) -> bool {
        match self {
            Self::Issuer(pinned) => pinned == issuer,
            Self::Unset | Self::FirstNamed => true,
        }
    }

    /// Chooses one of the `named` issuers for the credentials of the client `id`. `before` is the issuer that they were used at.
    ///
    /// # Errors
    ///
    /// The credentials are for another issuer, or they have a secret and it is not known whom it is for.
    pub(super) fn choose<'a>(
        &self,
        id: &str,
        has_secret: bool,
        before: Option<&str>,
        named: &'a [String],
    ) -> Result<&'a String, AuthError> {
        let find = |wanted: &str| named.iter().find(|issuer| *issuer == wanted);
        let shown = || {
            let shown: Vec<String> = named.iter().take(MAX_NAMED).map(|issuer| format!("`{issuer}`")).collect();
            shown.join(", ")
        };
        match (self, before) {
            (Self::Issuer(pinned), _) => find(pinned).ok_or_else(|| {
                AuthError(format!(
                    "the client `{id}` is registered with the authorization server `{pinned}`, and the server names {}: nothing \
                     was sent there",
                    shown()
                ))
            }),
            (_, Some(before)) => find(before).ok_or_else(|| {
                AuthError(format!(
                    "the client `{id}` was used with the authorization server `{before}`, and the server names {} now: nothing \
                     was sent there. If the server has moved, delete what is stored for it, and give the client that the new \
                     authorization server knows",
                    shown()
                ))
            }),
            (Self::Unset, None) if has_secret => Err(AuthError(format!(
                "it is not said which authorization server the secret of the client `{id}` is for; the server names {}: nothing was \
                 sent there. If that is the right one, set it as the issuer of the client",
                shown()
            ))),
            _ => named.first().ok_or_else(|| AuthError::new("the server names no authorization server")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_go_to_the_issuer_they_are_for() {
        let issuer = |text: &str| IssuerPin::Issuer(text.to_owned());
        let named = ["https://a".to_owned(), "https://b".to_owned()];
        let choose = |pin: &IssuerPin, secret, before| pin.choose("id", secret, before, &named).map(String::as_str);
        for (pin, secret, before, chosen) in [
            (issuer("https://b"), true, None, "https://b"),
            (issuer("https://b"), true, Some("https://a"), "https://b"),
            (IssuerPin::Unset, true, Some("https://b"), "https://b"),
            (IssuerPin::Unset, false, None, "https://a"),
            (IssuerPin::FirstNamed, true, None, "https://a"),
            (IssuerPin::FirstNamed, true, Some("https://b"), "https://b"),
        ] {
            assert_eq!(choose(&pin, secret, before).unwrap(), chosen, "{pin:?}");
        }
        for (pin, secret, before, words) in [
            (issuer("https://c"), false, None, "is registered with the authorization server `https://c`"),
            // Byte for byte.
            (issuer("https://a/"), true, None, "the server names `https://a`, `https://b`"),
            (IssuerPin::Unset, true, None, "which authorization server the secret of the client `id` is for"),
            (IssuerPin::Unset, false, Some("https://c"), "was used with the authorization server `https://c`"),
            (IssuerPin::FirstNamed, true, Some("https://c"), "was used with the authorization server `https://c`"),
        ] {
            let error = choose(&pin, secret, before).unwrap_err().to_string();
            assert!(error.contains(words), "{pin:?}: {error}");
        }
        assert!(IssuerPin::Unset.choose("id", false, None, &[]).is_err());
        assert!(issuer("https://a").admits("https://a") && !issuer("https://a").admits("https://b"));
        assert!(IssuerPin::Unset.admits("https://b") && IssuerPin::FirstNamed.admits("https://b"));
    }
}
