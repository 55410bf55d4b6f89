//! The `netrc` file: machine, login and password.

/// Largest file, in bytes.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

#[derive(Default)]
pub(crate) struct Netrc {
    entries: Vec<NetrcEntry>,
}

#[derive(Default)]
pub(crate) struct NetrcEntry {
    /// Host; `None` for the entry `default`.
    machine: Option<String>,
    pub(crate) login: String,
    pub(crate) password: String,
}

impl Netrc {
    /// Parses known entries and skips the rest, macros included.
    pub(crate) fn parse(text: &str) -> Self {
        let mut entries: Vec<NetrcEntry> = Vec::new();
        let mut in_macro = false;
        for line in text.lines() {
            if in_macro {
                in_macro = !line.trim().is_empty();
                continue;
            }
            let mut words = words(line).into_iter();
            while let Some(word) = words.next() {
                match word.as_str() {
                    "machine" => entries.extend(
                        words.next().map(|machine| NetrcEntry { machine: Some(machine), ..NetrcEntry::default() }),
                    ),
                    "default" => entries.push(NetrcEntry::default()),
                    "login" | "user" => set(&mut entries, words.next(), |entry| &mut entry.login),
                    "password" => set(&mut entries, words.next(), |entry| &mut entry.password),
                    "account" => drop(words.next()),
                    "macdef" => {
                        in_macro = true;
                        break;
                    }
                    _ if word.starts_with('#') => break,
                    _ => {}
                }
            }
        }
        Self { entries }
    }

    /// Returns the entry of `host`, or the default entry.
    pub(crate) fn find(&self, host: &str) -> Option<&NetrcEntry> {
        let named = self.entries.iter().find(|entry| entry.machine.as_deref() == Some(host));
        named.or_else(|| self.entries.iter().find(|entry| entry.machine.is_none()))
    }
}

fn set(entries: &mut [NetrcEntry], value: Option<String>, field: impl Fn(&mut NetrcEntry) -> &mut String) {
    if let (Some(entry), Some(value)) = (entries.last_mut(), value) {
        *field(entry) = value;
    }
}

/// Splits a line into words; `"…"` keeps spaces, a backslash keeps the next character.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut characters = line.chars().peekable();
    while let Some(first) = characters.next() {
        if first.is_whitespace() {
            continue;
        }
        let quoted = first == '"';
        let mut word = if quoted { String::new() } else { String::from(first) };
        while let Some(character) = characters.next() {
            match character {
                '"' if quoted => break,
                '\\' => word.extend(characters.next()),
                character if !quoted && character.is_whitespace() => break,
                character => word.push(character),
            }
        }
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_one_line_and_several_lines() {
        let netrc = Netrc::parse(
            "# a comment\nmachine a.example login me password \"with space\"\nmacdef init\ncd /tmp\n\n\
             machine b.example\n  login you\n  account x\n  password se#cret\ndefault login anonymous password mail",
        );
        let found = |host| netrc.find(host).map(|entry| (entry.login.as_str(), entry.password.as_str()));
        assert_eq!(found("a.example"), Some(("me", "with space")));
        assert_eq!(found("b.example"), Some(("you", "se#cret")));
        assert_eq!(found("c.example"), Some(("anonymous", "mail")));
        assert!(Netrc::parse("login x machine").find("y").is_none());
    }
}
