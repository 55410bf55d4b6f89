//! Reads the header `WWW-Authenticate`, in which a server asks for credentials (RFC 9110, section 11.6.1).

/// The largest header that is read, in bytes.
const MAX_HEADER: usize = 8 << 10;

/// A challenge: its scheme, and its parameters by lower-case names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    scheme: String,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    /// Finds the challenge for bearer tokens among those of all headers; an empty one if there is none.
    pub(super) fn bearer<'a>(headers: impl IntoIterator<Item = &'a str>) -> Challenge {
        let found =
            headers.into_iter().flat_map(parse).find(|challenge| challenge.scheme.eq_ignore_ascii_case("bearer"));
        found.unwrap_or_default()
    }

    /// Returns a parameter.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns all parameters, in their order.
    pub(super) fn into_parameters(self) -> Vec<(String, String)> {
        self.parameters
    }

    /// Returns the scopes that it names.
    pub(super) fn scopes(&self) -> Option<Vec<String>> {
        let scopes: Vec<String> = self.get("scope")?.split_ascii_whitespace().map(str::to_owned).collect();
        (!scopes.is_empty()).then_some(scopes)
    }
}

/// Reads the challenges of a header, up to the first text that is no challenge.
fn parse(header: &str) -> Vec<Challenge> {
    let mut rest = header.get(..header.len().min(MAX_HEADER)).unwrap_or_default();
    let mut challenges: Vec<Challenge> = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let Some((word, after)) = token(rest) else { return challenges };
        let after = after.trim_start_matches([' ', '\t']);
        match (after.strip_prefix('='), challenges.last_mut()) {
            // A parameter, unless it is the end of a token68 such as `Negotiate abc==` or `Negotiate ab=`.
            (Some(value), Some(challenge)) if !is_end(value) => {
                let Some((value, after)) = value_of(value.trim_start_matches([' ', '\t'])) else { return challenges };
                challenge.parameters.push((word.to_ascii_lowercase(), value));
                rest = after;
            }
            (Some(_), _) => rest = after.trim_start_matches('='),
            (None, _) => {
                challenges.push(Challenge { scheme: word.to_owned(), parameters: Vec::new() });
                rest = after;
            }
        }
    }
}

/// Returns whether the text after a `=` shows that it does not belong to a parameter.
fn is_end(text: &str) -> bool {
    let text = text.trim_start_matches([' ', '\t']);
    text.is_empty() || text.starts_with(['=', ','])
}

/// Splits a token (RFC 9110) off, with the signs that a token68 has besides.
fn token(text: &str) -> Option<(&str, &str)> {
    let is = |sign: char| sign.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(sign);
    let end = text.find(|sign| !is(sign)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Splits a token or a quoted string off.
fn value_of(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        return token(text).map(|(value, rest)| (value.to_owned(), rest));
    };
    let mut value = String::new();
    let mut signs = quoted.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(signs.next()?.1),
            sign => value.push(sign),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bearer_challenge_is_found_among_others() {
        let header = r#"Basic realm="a, b", Negotiate abc==, Bearer realm="x", error="invalid_token", resource_metadata="https://a/\"b", scope="a b""#;
        let challenge = Challenge::bearer(["Digest qop=auth", header]);
        assert_eq!(challenge.get("resource_metadata"), Some("https://a/\"b"));
        assert_eq!(challenge.scopes(), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(challenge.get("error"), Some("invalid_token"));
        assert_eq!(Challenge::bearer(["bearer SCOPE=one"]).get("scope"), Some("one"));
        assert_eq!(Challenge::bearer(["Negotiate ab=, Bearer scope = \"one\""]).get("scope"), Some("one"));
    }

    /// Texts of pieces that headers are made of, and of others, in any order: what is read is in the text, and reading
    /// ends.
    #[test]
    fn any_text_is_read() {
        const PIECES: [&str; 16] = [
            "Bearer", "Basic", " ", ",", "=", "==", "\"", "\\", "scope", "realm", "a b", "é", "\t", "x=\"y\"", "%",
            "\0",
        ];
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).unwrap()
        };
        let mut with_parameters = 0;
        for _ in 0..20_000 {
            let begin = if next() % 2 == 0 { "Bearer scope=" } else { "" };
            let header: String =
                std::iter::once(begin).chain((0..next() % 24).map(|_| PIECES[next() % PIECES.len()])).collect();
            for (name, value) in Challenge::bearer([header.as_str()]).into_parameters() {
                with_parameters += 1;
                assert!(header.to_ascii_lowercase().contains(&name), "{header}");
                assert!(header.replace('\\', "").contains(&value.replace('\\', "")), "{header}: {value}");
            }
        }
        assert!(with_parameters > 1000, "{with_parameters}");
    }

    #[test]
    fn nonsense_is_no_challenge_and_ends() {
        for header in
            ["", ",,, ,", "=", "\"", "Bearer scope=\"open", "Bearer =", "é", "Bearer scope=\"a\\", "Bearer scope=,"]
        {
            assert_eq!(Challenge::bearer([header]).scopes(), None, "{header}");
        }
    }
}
