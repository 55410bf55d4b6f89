//! Lists of tools, resources, templates, prompts and skills, page by page.

use super::error::ClientError;
use super::info::{PromptInfo, ResourceInfo, TemplateInfo, ToolInfo};
use super::skills::SkillInfo;
use super::{Client, unexpected, with_timeout};
use rmcp::model as wire;
use rmcp::model::{ClientRequest, PaginatedRequestParams, ServerResult};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The most items of one list.
pub const MAX_LIST_ITEMS: usize = 10_000;

/// The most pages of one list.
pub const MAX_LIST_PAGES: usize = 1000;

macro_rules! lists {
    ($($(#[$doc:meta])* $method:ident: $info:ident = $name:literal $request:ident, $result:ident . $field:ident;)*) => {
        impl Client {$(
            $(#[$doc])*
            ///
            /// # Errors
            ///
            /// Returns an error if the request fails, or if the list has more than [`MAX_LIST_ITEMS`] items or
            /// [`MAX_LIST_PAGES`] pages.
            pub async fn $method(&self) -> Result<Vec<$info>, ClientError> {
                let make = |params| ClientRequest::$request(match params {
                    Some(params) => wire::$request::with_param(params),
                    None => wire::$request::default(),
                });
                let take = |result| match result {
                    ServerResult::$result(page) => Ok((read(page.$field)?, page.next_cursor)),
                    other => Err(unexpected($name, &other)),
                };
                with_timeout(self.inner.timeout, self.pages($name, make, take)).await
            }
        )*}
    };
}

lists! {
    /// Returns the server's tools.
    tools: ToolInfo = "tools/list" ListToolsRequest, ListToolsResult.tools;
    /// Returns the server's resources.
    resources: ResourceInfo = "resources/list" ListResourcesRequest, ListResourcesResult.resources;
    /// Returns the server's resource templates.
    templates: TemplateInfo =
        "resources/templates/list" ListResourceTemplatesRequest, ListResourceTemplatesResult.resource_templates;
    /// Returns the server's prompts.
    prompts: PromptInfo = "prompts/list" ListPromptsRequest, ListPromptsResult.prompts;
    /// Returns the server's skills (the extension *Skills*, SEP-2640).
    skills: SkillInfo = "skills/list" ListSkillsRequest, ListSkillsResult.skills;
}

impl Client {
    /// Reads pages until there are no more, or until a cursor comes again.
    pub(super) async fn pages<T>(
        &self,
        name: &str,
        make: impl Fn(Option<PaginatedRequestParams>) -> ClientRequest,
        take: impl Fn(ServerResult) -> Result<(Vec<T>, Option<String>), ClientError>,
    ) -> Result<Vec<T>, ClientError> {
        let mut items = Vec::new();
        let mut cursors: Vec<String> = Vec::new();
        for _ in 0..MAX_LIST_PAGES {
            let params =
                cursors.last().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor.clone())));
            let answer = self.inner.requests.send(make(params), &self.options()).await?;
            let (page, cursor) = take(answer)?;
            items.extend(page);
            if items.len() > MAX_LIST_ITEMS {
                return Err(ClientError::InvalidResult(format!("`{name}` has more than {MAX_LIST_ITEMS} items")));
            }
            match cursor {
                Some(cursor) if !cursors.contains(&cursor) => cursors.push(cursor),
                _ => return Ok(items),
            }
        }
        Err(ClientError::InvalidResult(format!("`{name}` has more than {MAX_LIST_PAGES} pages")))
    }
}

pub(super) fn read<T: DeserializeOwned>(items: Vec<impl Serialize>) -> Result<Vec<T>, ClientError> {
    items.into_iter().map(read_item).collect()
}

pub(super) fn read_item<T: DeserializeOwned>(item: impl Serialize) -> Result<T, ClientError> {
    serde_json::to_value(item)
        .and_then(serde_json::from_value)
        .map_err(|error| ClientError::InvalidResult(error.to_string()))
}
