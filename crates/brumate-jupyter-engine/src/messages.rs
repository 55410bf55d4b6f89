//! Messages of kernels, read with suspicion: each is what the code in the jail wants it to be.

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use brumate_engine_api::{
    FrontendKind, FrontendMessage, FrontendRequest, MAX_BUFFERS, MAX_MIME_TYPES, MimeBundle, StreamName,
};
use brumate_jupyter_protocol::Message;
use serde::Deserialize;
use serde_json::Value;

/// Longest `ename`, in bytes.
const MAX_NAME: usize = 1 << 10;
/// Longest `evalue` and longest traceback, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// Returns the id of the request that a message belongs to.
pub(crate) fn parent_of(message: &Message) -> Option<String> {
    #[derive(Deserialize)]
    struct Parent {
        msg_id: String,
    }
    serde_json::from_str::<Parent>(message.parent_header.get()).ok().map(|parent| parent.msg_id)
}

/// Reads the name and the text of a `stream`.
pub(crate) fn stream_of(content: &Value) -> Option<(StreamName, String)> {
    let name = match content["name"].as_str()? {
        "stdout" => StreamName::Stdout,
        "stderr" => StreamName::Stderr,
        _ => return None,
    };
    Some((name, content["text"].as_str()?.to_owned()))
}

/// Reads the mime bundle of a displayed object. Values that are no texts become JSON texts.
pub(crate) fn bundle_of(content: &Value) -> Option<MimeBundle> {
    let data = content["data"].as_object()?;
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) if !lines.is_empty() && lines.iter().all(Value::is_string) => {
            lines.iter().filter_map(Value::as_str).collect()
        }
        other => other.to_string(),
    };
    let bundle: BTreeMap<String, String> =
        data.iter().take(MAX_MIME_TYPES).map(|(name, value)| (name.clone(), text(value))).collect();
    (!bundle.is_empty()).then_some(bundle)
}

/// An exception, as a kernel reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exception {
    pub(crate) ename: String,
    pub(crate) evalue: String,
    pub(crate) traceback: String,
}

/// Reads an exception from an `error` or a reply. Control sequences are left out of the traceback.
pub(crate) fn exception_of(content: &Value) -> Exception {
    let text = |value: &Value, limit: usize| {
        let text = value.as_str().unwrap_or_default();
        text[..text.floor_char_boundary(limit)].to_owned()
    };
    let lines = content["traceback"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut traceback = String::new();
    for line in lines.iter().filter_map(Value::as_str) {
        if traceback.len() + line.len() > MAX_TEXT {
            break;
        }
        traceback.push_str(&anstream::adapter::strip_str(line).to_string());
        traceback.push('\n');
    }
    let (ename, evalue) = (text(&content["ename"], MAX_NAME), text(&content["evalue"], MAX_TEXT));
    if traceback.is_empty() {
        traceback = format!("{ename}: {evalue}\n");
    }
    Exception { ename, evalue, traceback }
}

/// Returns a message of a kernel as one for frontends, if it is of a kind that code may send.
pub(crate) fn frontend_message(message: &Message) -> Option<FrontendMessage> {
    let kind = FrontendKind::parse(&message.header.msg_type)?;
    Some(FrontendMessage {
        kind,
        content: message.content.get().to_owned(),
        metadata: message.metadata.get().to_owned(),
        buffers: message.buffers.iter().take(MAX_BUFFERS).map(|buffer| buffer.to_vec()).collect(),
    })
}

/// Decodes the binary parts of a frontend's request. One that is no base64 is left out.
pub(crate) fn buffers_of(request: &FrontendRequest) -> Vec<bytes::Bytes> {
    request.buffers.iter().filter_map(|text| BASE64_STANDARD.decode(text).ok()).map(Into::into).collect()
}
