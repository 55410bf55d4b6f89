//! Files of variables, `.env`.

/// Largest file of variables, in bytes.
pub const MAX_ENV_FILE_BYTES: usize = 1 << 20;

/// A file of variables is not valid: the line and the reason. It contains no value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct EnvFileError {
    /// The line, from 1.
    pub line: usize,
    /// Reason, and what to write instead.
    pub reason: &'static str,
}

/// Reads a file of variables, and returns them in their order. A name that is there twice has its last value.
///
/// | line | value |
/// |---|---|
/// | `NAME=a b # note` | `a b`: white space around it and a comment after white space are not part of it |
/// | `NAME=#fff` | `#fff` |
/// | `NAME=` | the empty text |
/// | `NAME='a\n$b'` | the text between the quotes, as it is |
/// | `NAME="a\n$b"` | the text between the quotes; `\n`, `\r`, `\t`, `\\`, `\"` and `\$` are escapes, other backslashes stay |
///
/// `export` may precede a name. Text in quotes may go on for several lines, which end with `\n` in the value. Nothing is replaced in
/// values: `${NAME}` stays.
///
/// ```
/// let variables = brumate_mcp_clients::parse_env_file("# of the tracker\nexport TOKEN='s3cret'\nLIMIT=5 # at most\n")?;
/// assert_eq!(variables, [("TOKEN".to_owned(), "s3cret".to_owned()), ("LIMIT".to_owned(), "5".to_owned())]);
/// # Ok::<(), brumate_mcp_clients::EnvFileError>(())
/// ```
///
/// # Errors
/// A line is neither empty, nor a comment, nor a variable; a quote is not closed; a value has a NUL; or the text is larger than
/// [`MAX_ENV_FILE_BYTES`].
pub fn parse_env_file(text: &str) -> Result<Vec<(String, String)>, EnvFileError> {
    let mut reader = Reader { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 };
    if text.len() > MAX_ENV_FILE_BYTES {
        return Err(reader.error("the file is larger than 1 MiB"));
    }
    let mut variables: Vec<(String, String)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    while !reader.rest.is_empty() {
        if let Some((name, value)) = reader.statement()? {
            match places.get(&name) {
                Some(&place) => variables[place] = (name, value),
                None => {
                    places.insert(name.clone(), variables.len());
                    variables.push((name, value));
                }
            }
        }
    }
    Ok(variables)
}

struct Reader<'a> {
    rest: &'a str,
    /// The line at which `rest` begins.
    line: usize,
}

impl<'a> Reader<'a> {
    fn error(&self, reason: &'static str) -> EnvFileError {
        EnvFileError { line: self.line, reason }
    }

    /// Reads a line, and all lines of a value in quotes.
    fn statement(&mut self) -> Result<Option<(String, String)>, EnvFileError> {
        self.skip_blanks();
        if self.rest.is_empty() || self.rest.starts_with(['\n', '\r', '#']) {
            self.end_line()?;
            return Ok(None);
        }
        let mut name = self.name()?;
        if name == "export" && self.rest.starts_with([' ', '\t']) {
            self.skip_blanks();
            if !self.rest.starts_with('=') {
                name = self.name()?;
            }
        }
        self.skip_blanks();
        self.rest = self
            .rest
            .strip_prefix('=')
            .ok_or_else(|| self.error("there is no `=` after the name: write NAME=VALUE"))?;
        let after_equals = self.rest;
        self.skip_blanks();
        let spaced = after_equals.len() > self.rest.len();
        let start = self.line;
        let value = match self.rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let value = self.quoted(quote)?;
                self.skip_blanks();
                self.end_line()?;
                value
            }
            _ => {
                let value = self.plain(spaced);
                self.end_line()?;
                value
            }
        };
        if value.contains('\0') {
            return Err(EnvFileError { line: start, reason: "a value cannot have a NUL" });
        }
        Ok(Some((name.to_owned(), value)))
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn name(&mut self) -> Result<&'a str, EnvFileError> {
        let accepted = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-');
        let end = self.rest.find(|char| !accepted(char)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if !name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_') {
            return Err(self.error("this is no name: write NAME=VALUE, and put a value of several lines in quotes"));
        }
        self.rest = rest;
        Ok(name)
    }

    /// Reads a value without quotes. It ends with the line, or with a comment after white space.
    fn plain(&mut self, spaced: bool) -> String {
        let end = self.rest.find(['\n', '\r']).unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(end);
        let mut before = if spaced { ' ' } else { '=' };
        let is_comment = |char: char| {
            let starts = char == '#' && matches!(before, ' ' | '\t');
            before = char;
            starts
        };
        let comment = line.find(is_comment).unwrap_or(line.len());
        self.rest = rest;
        line[..comment].trim_matches([' ', '\t']).to_owned()
    }

    /// Reads a value in quotes.
    fn quoted(&mut self, quote: char) -> Result<String, EnvFileError> {
        let start = self.line;
        let mut value = String::new();
        let mut chars = self.rest.char_indices().skip(1).peekable();
        while let Some((at, char)) = chars.next() {
            match char {
                _ if char == quote => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(value);
                }
                '\r' if chars.peek().is_some_and(|(_, next)| *next == '\n') => {}
                '\n' => {
                    self.line += 1;
                    value.push('\n');
                }
                '\\' if quote == '"' => {
                    let escaped = chars.peek().and_then(|(_, next)| match next {
                        'n' => Some('\n'),
                        'r' => Some('\r'),
                        't' => Some('\t'),
                        '\\' | '"' | '$' => Some(*next),
                        _ => None,
                    });
                    if escaped.is_some() {
                        chars.next();
                    }
                    value.push(escaped.unwrap_or('\\'));
                }
                _ => value.push(char),
            }
        }
        Err(EnvFileError { line: start, reason: "the quote is not closed" })
    }

    /// Skips a comment and the end of the line.
    fn end_line(&mut self) -> Result<(), EnvFileError> {
        if self.rest.starts_with('#') {
            self.rest = &self.rest[self.rest.find(['\n', '\r']).unwrap_or(self.rest.len())..];
        }
        let next = self.rest.strip_prefix("\r\n").or_else(|| self.rest.strip_prefix(['\n', '\r']));
        match next {
            Some(next) => self.rest = next,
            None if self.rest.is_empty() => {}
            None => return Err(self.error("something follows the closing quote: escape quotes in a value as `\\\"`")),
        }
        self.line += 1;
        Ok(())
    }
}
