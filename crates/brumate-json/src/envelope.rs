//! Ids and kinds of JSON-RPC messages, read from bytes that need not be JSON.

/// Longest id as JSON, in bytes. A message with a longer one has none.
const MAX_ID_BYTES: usize = 4096;
/// Most messages of a batch whose envelopes are kept.
const MAX_ENVELOPES: usize = 256;
/// Longest name of a member that is compared, in bytes with its quotes.
const MAX_NAME_BYTES: usize = 16;

/// The known parts of a JSON-RPC message that cannot be parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Envelope {
    /// The id as JSON: a string or a number. `None` if there is no id, or if it is neither a string nor a number, or too long.
    pub id: Option<String>,
    /// Whether the message has an id at all, `null` included.
    pub has_id: bool,
    /// Whether the message names a method: it is a request or a notification.
    pub has_method: bool,
    /// Whether the message has a result or an error: it is an answer.
    pub is_answer: bool,
}

impl Envelope {
    /// Returns whether the message is a request: it has an id, and it has a method or is no answer.
    pub fn is_request(&self) -> bool {
        self.has_id && (self.has_method || !self.is_answer)
    }

    /// Returns whether the message is a notification, which must not be answered.
    pub fn is_notification(&self) -> bool {
        self.has_method && !self.has_id
    }
}

/// Reads the envelopes of a message, or of the messages of a batch, part by part. It needs as much memory for a long message as for a
/// short one.
///
/// ```
/// let broken = br#"{"id": 7, "method": "ping", "params": {"a": }}"#;
/// let found = brumate_json::Envelopes::read(broken);
/// assert_eq!(found[0].id.as_deref(), Some("7"));
/// assert!(found[0].is_request());
/// ```
#[derive(Debug, Default)]
pub struct Envelopes {
    found: Vec<Envelope>,
    current: Envelope,
    /// Open arrays and objects.
    depth: u64,
    /// The depth of a message's members: 1, or 2 in a batch. 0 before the first bracket.
    level: u64,
    in_string: bool,
    escaped: bool,
    expects_name: bool,
    name: Name,
    /// The string or the number that is being read at `level`.
    token: Vec<u8>,
    too_long: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Name {
    Id,
    Method,
    Answer,
    #[default]
    Other,
}

impl Envelopes {
    /// Reads the envelopes of a whole text.
    pub fn read(text: &[u8]) -> Vec<Envelope> {
        let mut envelopes = Self::default();
        envelopes.feed(text);
        envelopes.finish()
    }

    /// Reads the next part.
    pub fn feed(&mut self, part: &[u8]) {
        for byte in part {
            self.byte(*byte);
        }
    }

    /// Returns what was found. A message that has no end counts as well.
    pub fn finish(mut self) -> Vec<Envelope> {
        // A number at the very end may go on: the id has no value that is known.
        if self.level > 0 && self.depth >= self.level {
            self.current.has_id |= self.name == Name::Id && !self.expects_name;
            self.end_message();
        }
        self.found
    }

    fn byte(&mut self, byte: u8) {
        let here = self.depth == self.level;
        if self.in_string {
            if here {
                self.push(byte);
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_string = false;
                    if here {
                        self.end_string();
                    }
                }
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if here {
                    self.begin(byte);
                }
            }
            b'{' | b'[' => {
                if self.level == 0 {
                    self.level = if byte == b'[' { 2 } else { 1 };
                }
                if here {
                    self.end_value();
                    self.other_value();
                }
                self.depth += 1;
                if self.depth == self.level {
                    self.current = Envelope::default();
                    self.expects_name = true;
                    self.name = Name::Other;
                }
            }
            b'}' | b']' => {
                if here && self.level > 0 {
                    self.end_value();
                    self.end_message();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if here => {
                self.end_value();
                self.expects_name = true;
                self.name = Name::Other;
            }
            b':' if here => self.expects_name = false,
            b' ' | b'\t' | b'\r' | b'\n' if here => self.end_value(),
            _ if here => {
                if self.token.is_empty() {
                    self.begin(byte);
                } else {
                    self.push(byte);
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, byte: u8) {
        self.token.clear();
        self.too_long = false;
        self.push(byte);
    }

    fn push(&mut self, byte: u8) {
        let most = if self.expects_name { MAX_NAME_BYTES } else { MAX_ID_BYTES };
        if self.token.len() < most {
            self.token.push(byte);
        } else {
            self.too_long = true;
        }
    }

    fn end_string(&mut self) {
        if !self.expects_name {
            self.end_value();
            return;
        }
        self.name = match self.token.as_slice() {
            _ if self.too_long => Name::Other,
            b"\"id\"" => Name::Id,
            b"\"method\"" => Name::Method,
            b"\"result\"" | b"\"error\"" => Name::Answer,
            _ => Name::Other,
        };
        self.expects_name = false;
        self.token.clear();
    }

    /// Takes the string or the number that has ended.
    fn end_value(&mut self) {
        if self.token.is_empty() {
            return;
        }
        let token = String::from_utf8_lossy(&self.token).into_owned();
        self.token.clear();
        let is_id = matches!(token.as_bytes(), [b'"' | b'-' | b'0'..=b'9', ..]) && !self.too_long;
        self.other_value();
        if self.name == Name::Id && is_id && serde_json::from_str::<serde::de::IgnoredAny>(&token).is_ok() {
            self.current.id = Some(token);
        }
    }

    /// Takes note of a member with any value.
    fn other_value(&mut self) {
        match self.name {
            Name::Id => {
                self.current.has_id = true;
                self.current.id = None;
            }
            Name::Method => self.current.has_method = true,
            Name::Answer => self.current.is_answer = true,
            Name::Other => {}
        }
    }

    fn end_message(&mut self) {
        if self.found.len() < MAX_ENVELOPES {
            self.found.push(std::mem::take(&mut self.current));
        }
        self.token.clear();
        self.name = Name::Other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &[u8]) -> Envelope {
        let mut found = Envelopes::read(text);
        assert_eq!(found.len(), 1, "{}", String::from_utf8_lossy(text));
        found.remove(0)
    }

    #[test]
    fn ids_of_broken_messages_are_found() {
        let deep = format!(r#"{{"method":"m","params":{}1{},"id":7}}"#, "[".repeat(500), "]".repeat(500));
        for (text, id) in [
            (&br#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"\ud800"}}"#[..], Some("7")),
            (
                br#"{"method":"m", "params":{"id":1,"x":[{"id":2}]}, "jsonrpc":"2.0", "id" : "a\"b" }"#,
                Some(r#""a\"b""#),
            ),
            (b"{\"id\":-3,\"method\":\"\xff\xfe\0\",}", Some("-3")),
            (br#"{"id":1.5,"method":"m"}"#, Some("1.5")),
            (br#"{"id":18446744073709551619,"method":"m"}"#, Some("18446744073709551619")),
            (br#"{"id":7,"method":"m","params":{"a":"no end"#, Some("7")),
            (br#"{"method":"m","id":7"#, None),
            (br#"{"method":"m","id":null}"#, None),
            (br#"{"method":"m","id":{"id":1}}"#, None),
            (br#"{"method":"m","id":[1]}"#, None),
            (br#"{"method":"m","id":01}"#, None),
            (br#"{"method":"id","x":7}"#, None),
            (br#"{"id":1,"method":"m","id":2}"#, Some("2")),
            (deep.as_bytes(), Some("7")),
        ] {
            assert_eq!(one(text).id.as_deref(), id, "{}", String::from_utf8_lossy(text));
            // Byte by byte it is the same.
            let mut envelopes = Envelopes::default();
            text.chunks(1).for_each(|part| envelopes.feed(part));
            assert_eq!(envelopes.finish(), [one(text)]);
        }
    }

    #[test]
    fn kinds_are_told_apart() {
        for (text, request, notification) in [
            (r#"{"id":1,"method":"m"}"#, true, false),
            (r#"{"method":"m","params":{"id":1}}"#, false, true),
            (r#"{"id":1,"result":{"method":"m"}}"#, false, false),
            (r#"{"id":1,"error":null}"#, false, false),
            (r#"{"id":null,"method":"m"}"#, true, false),
            (r#"{"id":1}"#, true, false),
            (r#"{"method":"m","id":7"#, true, false),
            (r#"{"method":"m","id":"a"#, true, false),
            (r#"{"method":"m","id":7,"params":{"#, true, false),
            (r#"{"method":"m","params":{},"i"#, false, true),
            (r#"{}"#, false, false),
        ] {
            let found = one(text.as_bytes());
            assert_eq!((found.is_request(), found.is_notification()), (request, notification), "{text}");
        }
    }

    #[test]
    fn each_message_of_a_batch_has_an_envelope() {
        let ids = |text: &str| Envelopes::read(text.as_bytes()).into_iter().map(|found| found.id).collect::<Vec<_>>();
        let batch = r#" [ {"id":1,"method":"a"}, {"method":"b","params":[{"id":9}]}, {"id":"c","method":"#;
        assert_eq!(ids(batch), [Some("1".to_owned()), None, Some("\"c\"".to_owned())]);
        assert_eq!(ids(&format!("[{}]", r#"{"id":1},"#.repeat(1000))).len(), MAX_ENVELOPES);
        for text in ["", "3", "\"id\"", "]", "}}", "[]", "[1,2]"] {
            assert!(ids(text).iter().all(Option::is_none), "{text}");
        }
    }

    #[test]
    fn long_ids_and_names_are_none() {
        let long = "x".repeat(MAX_ID_BYTES);
        assert_eq!(one(format!(r#"{{"id":"{long}"}}"#).as_bytes()).id, None);
        assert!(one(format!(r#"{{"id":"{long}"}}"#).as_bytes()).has_id);
        assert_eq!(one(format!(r#"{{"{long}":1,"id":2}}"#).as_bytes()).id.as_deref(), Some("2"));
    }
}
