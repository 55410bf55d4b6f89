//! Cursor over the text of a requirement.

/// Unread part of a requirement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    /// Returns the byte offset of the next character.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn skip_whitespace(&mut self) {
        self.take_while(|character| matches!(character, ' ' | '\t' | '\n' | '\r'));
    }

    /// Consumes `token` if it comes next.
    pub(crate) fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.position += token.len();
        }
        found
    }

    /// Consumes `word` if it comes next and no identifier character follows.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let follows = self.rest().strip_prefix(word).map(|rest| rest.chars().next());
        let found = match follows {
            None => false,
            Some(None) => true,
            Some(Some(next)) => !(next.is_ascii_alphanumeric() || next == '_'),
        };
        if found {
            self.position += word.len();
        }
        found
    }

    /// Consumes the longest run of characters for which `accept` is true.
    pub(crate) fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|character| !accept(character)).unwrap_or(rest.len());
        self.position += length;
        &rest[..length]
    }
}
