//! The server's name and capabilities, for `initialize` and `server/discover`.

use super::Handler;
use crate::server::ServerSettings;
use crate::tasks::{EXTENSION, TaskSupport};
use rmcp::model as wire;
use serde_json::json;

impl Handler {
    /// Returns the server's name, instructions and capabilities.
    pub(super) fn info(&self) -> wire::ServerConfig {
        let settings = self.server.settings();
        let capabilities = self.capabilities_in(&settings);
        let mut implementation = wire::Implementation::new(settings.name, settings.version);
        implementation.title = settings.title;
        implementation.description = settings.description;
        implementation.website_url = settings.website;
        implementation.icons = (!settings.icons.is_empty())
            .then(|| serde_json::to_value(settings.icons).ok().and_then(|icons| serde_json::from_value(icons).ok()))
            .flatten();
        let mut info = wire::ServerConfig::new(capabilities);
        info.server_info = implementation;
        info.instructions = settings.instructions;
        info
    }

    /// Returns the server's capabilities.
    pub(super) fn capabilities(&self) -> wire::ServerCapabilities {
        self.capabilities_in(&self.server.settings())
    }

    /// Returns the capabilities of a server with these settings.
    fn capabilities_in(&self, settings: &ServerSettings) -> wire::ServerCapabilities {
        settings.capabilities.clone().unwrap_or_else(|| self.derived_capabilities(settings))
    }

    /// Returns the capabilities that follow from the registered items.
    fn derived_capabilities(&self, settings: &ServerSettings) -> wire::ServerCapabilities {
        let shared = &self.server.shared;
        let mut capabilities = json!({"logging": {}});
        if !shared.tools.is_empty() {
            capabilities["tools"] = json!({"listChanged": true});
        }
        if !shared.resources.is_empty() || !self.server.resource_providers().is_empty() {
            capabilities["resources"] = json!({"listChanged": true, "subscribe": true});
        }
        if !shared.prompts.is_empty() {
            capabilities["prompts"] = json!({"listChanged": true});
        }
        if !shared.completions.is_empty() {
            capabilities["completions"] = json!({});
        }
        let mut extensions = settings.extensions.clone();
        #[cfg(feature = "skills")]
        if self.server.skill_catalog().is_some() {
            // A directory without skills has no resources yet.
            capabilities["resources"] = json!({"listChanged": true, "subscribe": true});
            extensions.entry(wire::SKILLS_EXTENSION_ID).or_insert_with(|| json!({"directoryRead": true}));
        }
        if shared.tools.find(|served| (served.tool.tasks != TaskSupport::Never).then_some(())).is_some() {
            extensions.entry(EXTENSION).or_insert_with(|| json!({}));
        }
        if !extensions.is_empty() {
            capabilities["extensions"] = extensions.into();
        }
        if !settings.experimental.is_empty() {
            capabilities["experimental"] = settings.experimental.clone().into();
        }
        serde_json::from_value(capabilities).unwrap_or_default()
    }
}
