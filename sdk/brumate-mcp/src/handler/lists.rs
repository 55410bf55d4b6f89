//! Pages of the lists of tools, resources and prompts, with hints for caches.

use super::{Handler, internal};
use crate::cache::CacheScope;
use crate::context::is_stateless_protocol;
use crate::registry::{Registry, UNKNOWN_CURSOR};
use rmcp::model as wire;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::time::Duration;

impl Handler {
    /// Returns a page of a list. Items for which `describe` returns `None` are left out.
    pub(super) fn list<T: DeserializeOwned, I>(
        &self,
        field: &str,
        registry: &Registry<I>,
        request: Option<wire::PaginatedRequestParams>,
        context: &RequestContext<RoleServer>,
        describe: impl Fn(&I) -> Option<Value>,
    ) -> Result<T, ErrorData> {
        let settings = self.server.settings();
        let cursor = request.and_then(|request| request.cursor);
        // A list of one page has given out no cursor.
        if settings.page_size == usize::MAX && cursor.is_some() {
            return Err(ErrorData::invalid_params(UNKNOWN_CURSOR, None));
        }
        let listed = registry.page(cursor.as_deref(), settings.page_size, describe);
        let (items, cursor) = listed.map_err(|error| ErrorData::invalid_params(error, None))?;
        page(field, items, cursor, (is_stateless_protocol(context), settings.cache))
    }
}

/// Makes a page of a list, with hints for caches where the protocol has them.
pub(super) fn page<T: DeserializeOwned>(
    field: &str,
    items: Vec<Value>,
    next_cursor: Option<String>,
    (stateless, cache): (bool, Option<(Duration, CacheScope)>),
) -> Result<T, ErrorData> {
    let mut list = Map::new();
    list.insert(field.into(), items.into());
    // rmcp removes it for protocols without it.
    list.insert("resultType".into(), "complete".into());
    if let Some(cursor) = next_cursor {
        list.insert("nextCursor".into(), cursor.into());
    }
    if let Some((ttl, scope)) = cache_hints(stateless, cache) {
        list.insert("ttlMs".into(), ttl.into());
        list.insert("cacheScope".into(), serde_json::to_value(scope).map_err(internal)?);
    }
    serde_json::from_value(Value::Object(list)).map_err(internal)
}

/// Returns how long (in milliseconds) and by whom an answer may be cached, for protocols with cache hints.
pub(super) fn cache_hints(stateless: bool, cache: Option<(Duration, CacheScope)>) -> Option<(u64, wire::CacheScope)> {
    let (ttl, scope) = cache.filter(|_| stateless)?;
    let scope = match scope {
        CacheScope::Public => wire::CacheScope::Public,
        CacheScope::Private => wire::CacheScope::Private,
    };
    Some((u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX), scope))
}
