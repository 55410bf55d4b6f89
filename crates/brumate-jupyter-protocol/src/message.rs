//! Messages: header, parent, metadata, content and buffers, and their parts on the wire.

use bytes::Bytes;
use ring::hmac;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, Value};
use thiserror::Error;

/// Stands between the identities of a message and its signature.
const DELIMITER: &[u8] = b"<IDS|MSG>";
/// Version of the messaging protocol.
pub const PROTOCOL_VERSION: &str = "5.4";

/// Header of a message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Id of the message.
    pub msg_id: String,
    /// Kind of the message.
    pub msg_type: String,
    /// Id of the sender's session, in Jupyter's sense.
    #[serde(default)]
    pub session: String,
    /// Name of the user.
    #[serde(default)]
    pub username: String,
    /// Time, ISO 8601.
    #[serde(default)]
    pub date: String,
    /// Version of the protocol.
    #[serde(default)]
    pub version: String,
    /// Other fields, which replies repeat.
    #[serde(flatten)]
    pub other: serde_json::Map<String, Value>,
}

/// A message of a frontend or of a kernel.
#[derive(Debug, Clone)]
pub struct Message {
    /// The header.
    pub header: Header,
    /// Header of the request that this message belongs to, as text: `{}` for none.
    pub parent_header: Box<RawValue>,
    /// Metadata, as text.
    pub metadata: Box<RawValue>,
    /// Content, as text: a JSON object.
    pub content: Box<RawValue>,
    /// Binary parts.
    pub buffers: Vec<Bytes>,
}

/// Parts of a message that are no message.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum MessageError {
    /// A part is missing.
    #[error("it has no delimiter, or fewer than five parts behind it")]
    Parts,
    /// It is signed with another key, or not at all.
    #[error("its signature is wrong")]
    Signature,
    /// A part is no JSON object of the right form.
    #[error("its {0} cannot be read")]
    Part(&'static str),
}

/// Signs messages with HMAC-SHA256, and checks signatures. An empty key signs nothing.
#[derive(Debug, Clone)]
pub struct Signer {
    key: Option<hmac::Key>,
}

impl Signer {
    /// Makes a signer.
    pub fn new(key: &str) -> Self {
        Self { key: (!key.is_empty()).then(|| hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes())) }
    }

    fn sign(&self, parts: [&[u8]; 4]) -> String {
        let Some(key) = &self.key else { return String::new() };
        let mut context = hmac::Context::with_key(key);
        parts.iter().for_each(|part| context.update(part));
        hex(context.sign().as_ref())
    }

    fn is_signed(&self, signature: &[u8], parts: [&[u8]; 4]) -> bool {
        let Some(key) = &self.key else { return true };
        let Some(tag) = from_hex(signature) else { return false };
        hmac::verify(key, &parts.concat(), &tag).is_ok()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect())?
}

impl Message {
    /// Makes a message of this kind, which belongs to the request with the header `parent`.
    pub fn new(msg_type: &str, session: &str, parent: &Header, content: &impl Serialize) -> Self {
        let header = Header {
            msg_id: new_id(),
            msg_type: msg_type.to_owned(),
            session: session.to_owned(),
            username: "brumate".to_owned(),
            date: now(),
            version: PROTOCOL_VERSION.to_owned(),
            other: serde_json::Map::new(),
        };
        let parent_header = if parent.msg_id.is_empty() { empty() } else { raw(parent) };
        Self { header, parent_header, metadata: empty(), content: raw(content), buffers: Vec::new() }
    }

    /// Reads a message from its parts. Returns the identities in front of it too.
    ///
    /// # Errors
    ///
    /// [`MessageError`].
    pub fn from_parts(mut parts: Vec<Bytes>, signer: &Signer) -> Result<(Vec<Bytes>, Self), MessageError> {
        let delimiter = parts.iter().position(|part| part == DELIMITER).ok_or(MessageError::Parts)?;
        let message = parts.split_off(delimiter + 1);
        parts.pop();
        let [signature, header, parent_header, metadata, content, buffers @ ..] = &message[..] else {
            return Err(MessageError::Parts);
        };
        if !signer.is_signed(signature, [header, parent_header, metadata, content]) {
            return Err(MessageError::Signature);
        }
        let message = Self::from_texts([header, parent_header, metadata, content], buffers.to_vec())?;
        Ok((parts, message))
    }

    /// Reads a message from the texts of its header, its parent's header, its metadata and its content.
    ///
    /// # Errors
    ///
    /// [`MessageError::Part`].
    pub fn from_texts(texts: [&[u8]; 4], buffers: Vec<Bytes>) -> Result<Self, MessageError> {
        let [header, parent_header, metadata, content] = texts;
        Ok(Self {
            header: serde_json::from_slice(header).map_err(|_| MessageError::Part("header"))?,
            parent_header: object(parent_header).ok_or(MessageError::Part("parent header"))?,
            metadata: object(metadata).ok_or(MessageError::Part("metadata"))?,
            content: object(content).ok_or(MessageError::Part("content"))?,
            buffers,
        })
    }

    /// Returns the parts of the message, behind `identities`.
    pub fn into_parts(self, identities: Vec<Bytes>, signer: &Signer) -> Vec<Bytes> {
        let header = raw(&self.header);
        let texts = [&*header, &*self.parent_header, &*self.metadata, &*self.content].map(RawValue::get);
        let signature = signer.sign(texts.map(str::as_bytes));
        let mut parts = identities;
        parts.extend([Bytes::from_static(DELIMITER), Bytes::from(signature)]);
        let texts: [Box<RawValue>; 4] = [header, self.parent_header, self.metadata, self.content];
        parts.extend(texts.map(|text| Bytes::from(String::from(Box::<str>::from(text)))));
        parts.extend(self.buffers);
        parts
    }

    /// Returns the content.
    pub fn content(&self) -> Value {
        serde_json::from_str(self.content.get()).unwrap_or_default()
    }
}

/// Returns the time as ISO 8601 with microseconds, which Jupyter's clients can read.
pub fn now() -> String {
    format!("{:.6}", jiff::Timestamp::now())
}

/// Makes a random id.
pub fn new_id() -> String {
    let mut bytes = [0; 16];
    // Without random numbers ids are still different for each message.
    if getrandom::fill(&mut bytes).is_err() {
        static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        bytes[..8].copy_from_slice(&count.to_le_bytes());
    }
    hex(&bytes)
}

/// Returns `{}`.
pub fn empty() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_default()
}

/// Returns a value as JSON text. A value that is no JSON becomes `{}`.
pub fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| empty())
}

/// Returns the text of a JSON object that readers can parse: nested at most 128 deep. None for another text.
pub fn object(text: &[u8]) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(text).ok()?;
    parsed_object(text.as_bytes())?;
    RawValue::from_string(text.to_owned()).ok()
}

/// Returns the JSON object of a text, as [`object`] does.
pub fn parsed_object(text: &[u8]) -> Option<Value> {
    // `Value` refuses what is nested too deeply.
    serde_json::from_slice::<Value>(text).ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_comes_back_from_its_parts() {
        let signer = Signer::new("secret");
        let mut message = Message::new("execute_request", "s", &Header::default(), &json!({"code": "1"}));
        message.buffers.push(Bytes::from_static(b"\0\xff"));
        let parts = message.clone().into_parts(vec![Bytes::from_static(b"who")], &signer);
        let (identities, read) = Message::from_parts(parts.clone(), &signer).unwrap();
        assert_eq!(identities, [Bytes::from_static(b"who")]);
        assert_eq!((read.content(), read.header), (json!({"code": "1"}), message.header));
        assert_eq!(read.buffers, message.buffers);
        assert_eq!(Message::from_parts(parts, &Signer::new("other")).unwrap_err(), MessageError::Signature);
    }

    #[test]
    fn parts_that_are_no_message_are_errors() {
        let signer = Signer::new("");
        let with = |parts: &[&[u8]]| {
            let parts = parts.iter().map(|part| Bytes::copy_from_slice(part)).collect();
            Message::from_parts(parts, &signer).map(|_| ()).unwrap_err()
        };
        let header = br#"{"msg_id":"a","msg_type":"b"}"#;
        assert_eq!(with(&[]), MessageError::Parts);
        assert_eq!(with(&[DELIMITER, b"", header, b"{}", b"{}"]), MessageError::Parts);
        assert_eq!(with(&[DELIMITER, b"", b"{}", b"{}", b"{}", b"{}"]), MessageError::Part("header"));
        assert_eq!(with(&[DELIMITER, b"", header, b"{}", b"{}", b"[]"]), MessageError::Part("content"));
        let deep = ["{\"a\":".repeat(200), "1".to_owned(), "}".repeat(200)].concat();
        assert_eq!(with(&[DELIMITER, b"", header, b"{}", b"{}", deep.as_bytes()]), MessageError::Part("content"));
        for signature in ["zz", "0", "é"] {
            let parts = [DELIMITER, signature.as_bytes(), header, b"{}", b"{}", b"{}"];
            let parts = parts.iter().map(|part| Bytes::copy_from_slice(part)).collect();
            assert_eq!(Message::from_parts(parts, &Signer::new("k")).map(|_| ()).unwrap_err(), MessageError::Signature);
        }
    }
}
