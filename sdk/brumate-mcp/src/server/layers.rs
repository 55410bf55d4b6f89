//! Layers around the calls of a server's tools, and around all of its requests.

use super::Server;
use crate::context::Context;
use crate::error::Error;
use crate::layer::{Layer, ToolHandler};
use crate::request_layer::{RequestLayer, RequestLayers};
use crate::result::ToolResult;
use crate::tool::Tool;
use serde_json::{Map, Value};
use std::sync::PoisonError;

impl Server {
    /// Adds a layer around the calls of all tools, also of tools that are added later. The first layer is the outermost
    /// one. Layers of a tool ([`Tool::layer`]) run within.
    ///
    /// A call whose arguments do not fit the schema is answered before the layers run, unless the tool's handler checks them
    /// itself ([`Tool::unchecked_handler`]). Since 2026-07-28 a call that
    /// asks its client for input runs again from its beginning when the answer comes, with its layers. In a task and in
    /// a call that [suspends](crate::Tool::suspends), layers run once.
    #[must_use]
    pub fn layer(self, layer: impl Layer) -> Self {
        self.shared.layers.write().unwrap_or_else(PoisonError::into_inner).push(layer);
        self
    }

    /// Adds a layer around every request of every client. The first layer is the outermost one.
    #[must_use]
    pub fn request_layer(self, layer: impl RequestLayer) -> Self {
        self.shared.request_layers.write().unwrap_or_else(PoisonError::into_inner).push(layer);
        self
    }

    pub(crate) fn request_layers(&self) -> RequestLayers {
        self.shared.request_layers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Calls a tool's handler with the layers of the server and of the tool around it.
    pub(crate) async fn call(
        &self,
        tool: &Tool,
        handler: ToolHandler,
        arguments: Map<String, Value>,
        context: Context,
    ) -> Result<ToolResult, Error> {
        let mut layers = self.shared.layers.read().unwrap_or_else(PoisonError::into_inner).clone();
        layers.extend(&tool.layers);
        layers.call(&tool.name, handler, arguments, context).await
    }
}
