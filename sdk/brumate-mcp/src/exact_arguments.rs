//! Arguments of tool calls that `serde_json::Value` cannot hold as they are.

#[cfg(feature = "client")]
use rmcp::model::{ClientJsonRpcMessage, GetExtensions as _};
use serde_json::Value;
#[cfg(feature = "server")]
use std::collections::HashMap;
use std::sync::Arc;

/// The JSON text of a call's arguments that a [`Value`] cannot hold as they are. They have an integer of more than 64
/// bits, a number that is too large for a double, or a lone surrogate. It is in the extensions of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExactArguments(Arc<str>);

impl ExactArguments {
    /// Makes the extension of a request. `json` is an object.
    pub(crate) fn new(json: &str) -> Self {
        Self(json.into())
    }

    /// Returns the arguments as JSON.
    pub(crate) fn as_json(&self) -> &str {
        &self.0
    }

    /// Returns the JSON of the arguments that `values` does not hold as they are. Arguments that a layer has changed
    /// are left out.
    #[cfg(feature = "server")]
    pub(crate) fn inexact(&self, values: &serde_json::Map<String, Value>) -> HashMap<String, Box<str>> {
        let members = brumate_json::members(&self.0).unwrap_or_default();
        let inexact = members.into_iter().filter(|(name, exact)| {
            let mended = brumate_json::mend(exact.get());
            mended.is_changed && values.get(name).is_some_and(|value| is_json_of(&mended.text, value))
        });
        inexact.map(|(name, exact)| (name, exact.get().into())).collect()
    }

    /// Returns arguments as JSON. Arguments that no layer has changed are exact; the others have their new values.
    #[cfg(feature = "server")]
    pub(crate) fn merged(&self, arguments: &Value) -> String {
        let Value::Object(arguments) = arguments else { return arguments.to_string() };
        let exact: HashMap<String, &serde_json::value::RawValue> =
            brumate_json::members(&self.0).unwrap_or_default().into_iter().collect();
        let members = arguments.iter().map(|(name, value)| {
            let same = |exact: &str| is_json_of(&brumate_json::mend(exact).text, value);
            let exact = exact.get(name).map(|exact| exact.get()).filter(|exact| same(exact));
            (name, exact.map_or_else(|| value.to_string(), str::to_owned))
        });
        brumate_json::object(members)
    }
}

/// Returns whether a text is the JSON of a value.
#[cfg(feature = "server")]
fn is_json_of(text: &str, value: &Value) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|read| read == *value)
}

/// Writes a client's message as JSON, with the exact arguments of its call.
///
/// # Errors
///
/// Returns an error if the message cannot be written.
#[cfg(feature = "client")]
pub(crate) fn to_json(message: &ClientJsonRpcMessage) -> serde_json::Result<Vec<u8>> {
    if let ClientJsonRpcMessage::Request(request) = message
        && let Some(exact) = request.request.extensions().get::<ExactArguments>()
    {
        let text = serde_json::to_string(message)?;
        return Ok(brumate_json::replace_in_object(&text, &["params", "arguments"], exact.as_json())
            .into_owned()
            .into_bytes());
    }
    serde_json::to_vec(message)
}

#[cfg(all(test, feature = "client", feature = "server"))]
mod tests {
    use super::*;
    use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, RequestId};
    use serde_json::json;

    #[test]
    fn arguments_that_a_layer_has_changed_are_as_they_are_now() {
        let exact = ExactArguments::new(r#"{"a": 18446744073709551619, "b": [1e999], "c": 1, "a\ud800": 0}"#);
        let mut arguments: Value = serde_json::from_str(&brumate_json::mend(exact.as_json()).text).unwrap();
        arguments["c"] = json!("new");
        let merged = exact.merged(&arguments);
        assert_eq!(merged, r#"{"a":18446744073709551619,"b":[1e999],"c":"new","a�":0}"#);
        arguments["a"] = json!(2);
        assert_eq!(brumate_json::member(&exact.merged(&arguments), &["a"]), Some("2"));
    }

    #[test]
    fn a_call_is_written_with_its_exact_arguments() {
        let mut params = CallToolRequestParams::new("t");
        params.arguments = json!({"n": 1}).as_object().cloned();
        let mut call = CallToolRequest::new(params);
        call.extensions.insert(ExactArguments::new(r#"{"n":18446744073709551619}"#));
        let message = ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(call), RequestId::Number(1));
        let text = String::from_utf8(to_json(&message).unwrap()).unwrap();
        assert_eq!(brumate_json::member(&text, &["params", "arguments", "n"]), Some("18446744073709551619"), "{text}");
        assert_eq!(brumate_json::member(&text, &["params", "name"]), Some("\"t\""));
    }
}
