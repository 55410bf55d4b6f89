//! A server's entry.

use std::fmt;

use crate::style::is_hidden;

/// The command, arguments and variables with which a client starts a server. `Debug` shows the names of its variables and not their values.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    /// The program: an absolute path, or a name on the client's `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables of its environment, in the order in which they are written.
    pub env: Vec<(String, String)>,
}

impl Entry {
    /// Returns the command line as one text, by which an entry is known as this server's ([`ConfigFile::of_server`](crate::ConfigFile::of_server)).
    pub fn command_line(&self) -> String {
        let words: Vec<&str> = std::iter::once(&self.command).chain(&self.args).map(String::as_str).collect();
        serde_json::Value::from(words).to_string()
    }

    /// Returns the entry with more names of variables in its arguments. Each follows `option`. They come before the names that are there.
    pub(crate) fn with_names(&self, option: &str, names: &[&str]) -> Entry {
        let mut entry = self.clone();
        let first = entry.args.windows(2).position(|words| words[0] == option);
        // Without earlier names, they follow the first argument: the subcommand.
        let at = first.unwrap_or(1).min(entry.args.len());
        let words = names.iter().flat_map(|name| [option.to_owned(), (*name).to_owned()]);
        entry.args.splice(at..at, words);
        entry
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Entry").field("command", &self.command).field("args", &self.args).field("env", &names).finish()
    }
}

/// The longest name of an entry, in characters.
pub(crate) const MAX_NAME: usize = 128;

/// Names that objects of JavaScript have from the beginning: a client that reads its file into one would find something else there.
const BUILT_IN: [&str; 6] = ["__proto__", "constructor", "hasOwnProperty", "prototype", "toString", "valueOf"];

/// Returns true for a name that an entry may have, such as `My Server`: a text of at most 128 characters that people see. Names that
/// objects of JavaScript have are excluded.
pub fn is_name(name: &str) -> bool {
    let is_visible = !name.trim().is_empty() && !name.contains(is_hidden);
    is_visible && name.chars().count() <= MAX_NAME && !BUILT_IN.contains(&name)
}

/// Returns true if a command is a Brumate: the last part of its path is `brumate`.
pub(crate) fn is_brumate(command: &str) -> bool {
    let program = command.rsplit(['/', '\\']).next().unwrap_or(command);
    matches!(program, "brumate" | "brumate.exe")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_value_of_a_variable() {
        let env = vec![("TOKEN".to_owned(), "hunter2".to_owned())];
        let text = format!("{:?}", Entry { command: "brumate".to_owned(), args: vec!["run".to_owned()], env });
        assert!(text.contains("TOKEN") && text.contains("run") && !text.contains("hunter2"), "{text}");
    }

    #[test]
    fn names_and_commands_are_told_apart() {
        for name in ["a", "my-server_2", "My Analytics Server", "Größe (v2): a.b/c \"d\"", &"é".repeat(128)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", " ", "a\u{202e}b", "a\n", "a\u{1b}[2J", "__proto__", "constructor", &"n".repeat(129)] {
            assert!(!is_name(name), "{name}");
        }
        for command in ["brumate", "/usr/bin/brumate", r"C:\Programs\brumate.exe"] {
            assert!(is_brumate(command), "{command}");
        }
        for command in ["", "brumate2", "/opt/brumate/python", "npx"] {
            assert!(!is_brumate(command), "{command}");
        }
    }
}
