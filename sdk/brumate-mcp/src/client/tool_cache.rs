//! Checks results against the output schemas of their tools.

use super::Client;
use super::call_result::CallToolResult;
use super::error::ClientError;
use super::info::ToolInfo;
use crate::schema::Validator;
use crate::sync::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The largest output schema that results are checked against, in bytes of JSON.
const MAX_SCHEMA: usize = 1 << 20;

/// The tools of a server, as they were listed last.
#[derive(Default)]
pub(super) struct ToolCache {
    tools: Mutex<Option<ToolList>>,
}

/// A list of tools, and the number of its changes before.
struct ToolList {
    changes: u64,
    tools: HashMap<String, Arc<CachedTool>>,
}

/// A tool's output schema.
pub(super) struct CachedTool {
    output: Option<Validator>,
    has_output: bool,
}

impl CachedTool {
    fn new(tool: &ToolInfo) -> Self {
        let schema = tool.output_schema.as_ref();
        let small = schema.filter(|schema| serde_json::to_string(schema).is_ok_and(|text| text.len() <= MAX_SCHEMA));
        let output = small.and_then(|schema| match Validator::new(schema) {
            Ok(validator) => Some(validator),
            Err(error) => {
                tracing::warn!(tool = tool.name, %error, "results of a tool are not checked: its output schema is none");
                None
            }
        });
        Self { output, has_output: schema.is_some() }
    }

    /// Checks a result against the tool's output schema.
    ///
    /// # Errors
    ///
    /// Returns [`ClientError::InvalidResult`] if it does not fit.
    pub(super) fn check(&self, result: &CallToolResult) -> Result<(), ClientError> {
        if result.is_error || !self.has_output {
            return Ok(());
        }
        let Some(structured) = result.rounded() else {
            let reason = "the tool has an output schema, and its result no structured content";
            return Err(ClientError::InvalidResult(reason.to_owned()));
        };
        match &self.output {
            Some(output) => output.check(&structured).map_err(|error| {
                ClientError::InvalidResult(format!("it does not fit the tool's output schema: {error}"))
            }),
            None => Ok(()),
        }
    }
}

impl Client {
    /// Returns a tool of the list. The list is read if it is not known or has changed. Results are checked against it.
    /// Over HTTP some arguments travel as headers that only the list names.
    pub(super) async fn cached_tool(&self, name: &str) -> Option<Arc<CachedTool>> {
        self.inner.capabilities.get("tools")?;
        let changes = self.inner.requests.callbacks.tools_changed();
        if let Some(listed) = lock(&self.inner.tools.tools).as_ref().filter(|listed| listed.changes == changes) {
            return listed.tools.get(name).cloned();
        }
        self.refreshed_tool(name).await
    }

    /// Returns a tool of a new list, because the list may have changed without a notification.
    pub(super) async fn refreshed_tool(&self, name: &str) -> Option<Arc<CachedTool>> {
        let changes = self.inner.requests.callbacks.tools_changed();
        // The tools of a server can be called even if they cannot be listed.
        let tools = self.tools().await.unwrap_or_default();
        let tools: HashMap<String, Arc<CachedTool>> =
            tools.iter().map(|tool| (tool.name.clone(), Arc::new(CachedTool::new(tool)))).collect();
        let found = tools.get(name).cloned();
        *lock(&self.inner.tools.tools) = Some(ToolList { changes, tools });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn results_are_checked_against_their_schema() {
        let tool = |schema: serde_json::Value| {
            let tool = json!({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema});
            CachedTool::new(&serde_json::from_value(tool).unwrap())
        };
        let number = tool(json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}));
        let result = |structured| CallToolResult { structured, ..CallToolResult::default() };
        number.check(&result(Some(json!({"n": 1})))).unwrap();
        for structured in [None, Some(json!({"n": "one"}))] {
            let error = number.check(&result(structured)).unwrap_err();
            assert!(matches!(error, ClientError::InvalidResult(_)), "{error}");
        }
        number.check(&CallToolResult { is_error: true, ..CallToolResult::default() }).unwrap();
        // References to other documents are not followed.
        tool(json!({"$ref": "http://127.0.0.1:9/schema"})).check(&result(Some(json!(1)))).unwrap();
    }
}
