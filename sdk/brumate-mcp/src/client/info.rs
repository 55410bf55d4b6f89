//! Descriptions of servers, and of their tools, resources and prompts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The name and version of a server (`Implementation`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ServerInfo {
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
    /// The name that people see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The URL of a web page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
}

/// A tool, as a server lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolInfo {
    /// The name.
    pub name: String,
    /// The name that people see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments, as the server wrote it.
    pub input_schema: Map<String, Value>,
    /// The JSON Schema of its structured results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Map<String, Value>>,
    /// Hints, such as `readOnlyHint`. They are no promises: a server may say anything.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub annotations: Map<String, Value>,
    /// The `_meta`.
    #[serde(default, rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

impl ToolInfo {
    /// Returns the name to show people: the title, else the one among the annotations, else the name.
    pub fn display_name(&self) -> &str {
        let annotated = || self.annotations.get("title").and_then(Value::as_str);
        self.title.as_deref().or_else(annotated).unwrap_or(&self.name)
    }
}

/// A resource, as a server lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceInfo {
    /// The URI.
    pub uri: String,
    /// The name.
    pub name: String,
    /// The name that people see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type of its contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The `_meta`.
    #[serde(default, rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// A template of resources, as a server lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TemplateInfo {
    /// The URI template (RFC 6570).
    pub uri_template: String,
    /// The name.
    pub name: String,
    /// The name that people see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type of its resources' contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The `_meta`.
    #[serde(default, rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// A prompt, as a server lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptInfo {
    /// The name.
    pub name: String,
    /// The name that people see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments.
    #[serde(default)]
    pub arguments: Vec<PromptArgumentInfo>,
    /// The `_meta`.
    #[serde(default, rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptArgumentInfo {
    /// The name.
    pub name: String,
    /// The name that people see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether a value must be given.
    #[serde(default)]
    pub required: bool,
}

macro_rules! display_names {
    ($($type:ident)*) => {$(
        impl $type {
            /// Returns the name to show people: the title, else the name.
            pub fn display_name(&self) -> &str {
                self.title.as_deref().unwrap_or(&self.name)
            }
        }
    )*};
}

display_names!(ServerInfo ResourceInfo TemplateInfo PromptInfo PromptArgumentInfo);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn people_see_the_best_name() {
        let tool = |extra: Value| {
            let mut tool = json!({"name": "t", "inputSchema": {"type": "object"}});
            tool.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            serde_json::from_value::<ToolInfo>(tool).unwrap().display_name().to_owned()
        };
        assert_eq!(tool(json!({})), "t");
        assert_eq!(tool(json!({"annotations": {"title": "annotated"}})), "annotated");
        assert_eq!(tool(json!({"title": "titled", "annotations": {"title": "annotated"}})), "titled");
    }
}
