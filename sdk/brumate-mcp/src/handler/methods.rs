//! The methods that a server has by its capabilities, and the errors for others.

use super::Handler;
use rmcp::ErrorData;
use rmcp::model::{ConstString, ErrorCode, ServerCapabilities};

/// Longest name from a request that an error repeats, in characters.
const MAX_NAME: usize = 64;

/// Methods that only the protocols before 2026-07-28 have.
const WITH_SESSIONS: &[&str] =
    &["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Methods that only the protocols since 2026-07-28 have.
const WITHOUT_SESSIONS: &[&str] =
    &["server/discover", "subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel"];

/// Returns a name from a request, short enough for an error to repeat.
pub(super) fn short_name(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}

impl Handler {
    /// Refuses a method whose capability [`Server::capabilities`](crate::Server::capabilities) has left out.
    pub(super) fn require<M: ConstString>(&self) -> Result<(), ErrorData> {
        match self.server.with_declared_capabilities(|declared| has_method(declared, M::VALUE)) {
            Some(false) => Err(ErrorData::method_not_found::<M>()),
            Some(true) | None => Ok(()),
        }
    }

    /// Returns the error for a request that no method takes. A known method has other parameters.
    pub(super) fn unknown_request(&self, method: &str, stateless: bool) -> ErrorData {
        let shown = short_name(method);
        let other_protocols = if stateless { WITH_SESSIONS } else { WITHOUT_SESSIONS };
        if has_method(&self.capabilities(), method) && !other_protocols.contains(&method) {
            return ErrorData::invalid_params(format!("Invalid parameters for {shown}"), None);
        }
        ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("Method not found: {shown}"), None)
    }
}

/// Returns whether a server with these capabilities has a method.
fn has_method(capabilities: &ServerCapabilities, method: &str) -> bool {
    let resources = capabilities.resources.as_ref();
    match method {
        "initialize" | "ping" | "server/discover" | "subscriptions/listen" => true,
        "tools/list" | "tools/call" => capabilities.tools.is_some(),
        "resources/list" | "resources/templates/list" | "resources/read" => resources.is_some(),
        "resources/subscribe" | "resources/unsubscribe" => {
            resources.is_some_and(|resources| resources.subscribe == Some(true))
        }
        "prompts/list" | "prompts/get" => capabilities.prompts.is_some(),
        "completion/complete" => capabilities.completions.is_some(),
        "logging/setLevel" => capabilities.logging.is_some(),
        "tasks/get" | "tasks/update" | "tasks/cancel" => capabilities.supports_tasks(),
        "skills/list" | "skills/get" => capabilities.supports_skills(),
        "resources/directory/read" => capabilities.supports_directory_read(),
        _ => false,
    }
}
