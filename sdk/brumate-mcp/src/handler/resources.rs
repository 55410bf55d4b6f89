//! Lists resources: first the registered ones, then each resource provider's.

use super::Handler;
use super::lists::page;
use super::outcome::HandlerOutcome;
use crate::cache::CacheScope;
use crate::error::Error;
use crate::registry::UNKNOWN_CURSOR;
use crate::resource::Resource;
use crate::run::run;
use rmcp::model as wire;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

/// The place of a page among the pages of all providers: the number of the provider, and its own cursor for pages after its first.
struct ProviderCursor<'a> {
    provider: usize,
    inner: Option<&'a str>,
}

impl<'a> ProviderCursor<'a> {
    /// Reads `.N` or `.N.CURSOR`. Cursors of registered resources have no dots.
    fn parse(cursor: &'a str) -> Option<Self> {
        let place = cursor.strip_prefix('.')?;
        let (number, inner) = match place.split_once('.') {
            Some((number, inner)) => (number, Some(inner)),
            None => (place, None),
        };
        let provider: usize = number.parse().ok()?;
        // There is one way to write a number.
        (provider.to_string() == number).then_some(Self { provider, inner })
    }

    fn to_text(&self) -> String {
        match self.inner {
            Some(inner) => format!(".{}.{inner}", self.provider),
            None => format!(".{}", self.provider),
        }
    }
}

fn unknown_cursor() -> ErrorData {
    ErrorData::invalid_params(UNKNOWN_CURSOR, None)
}

impl Handler {
    /// Answers `resources/list`.
    pub(super) async fn resources(
        &self,
        request: Option<wire::PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::ListResourcesResult, ErrorData> {
        let providers = self.server.resource_providers();
        // With nothing else to list, the cursors of the provider are enough.
        let is_alone = providers.len() == 1 && self.server.shared.resources.is_empty();
        let cursor = request.as_ref().and_then(|request| request.cursor.clone());
        let place = match cursor.as_deref() {
            inner if is_alone => ProviderCursor { provider: 0, inner },
            Some(cursor) if cursor.starts_with('.') => ProviderCursor::parse(cursor).ok_or_else(unknown_cursor)?,
            _ => {
                let registered = self.list("resources", &self.server.shared.resources, request, &context, |resource| {
                    (!resource.is_template()).then(|| resource.descriptor())
                });
                let mut registered: wire::ListResourcesResult = registered?;
                let first = ProviderCursor { provider: 0, inner: None };
                if providers.is_empty() || registered.next_cursor.is_some() {
                    return Ok(registered);
                }
                if !registered.resources.is_empty() {
                    registered.next_cursor = Some(first.to_text());
                    return Ok(registered);
                }
                first
            }
        };
        let provider = providers.get(place.provider).ok_or_else(unknown_cursor)?;
        let context = self.context(context, (None, None), "").await?;
        let outcome = run(&context, provider.provider.list(place.inner, context.clone())).await;
        let listed = match self.handler_outcome(outcome, "the list of resources", "")? {
            HandlerOutcome::Returned(listed) => listed.map_err(Error::into_wire)?,
            HandlerOutcome::InputRequired(_) => {
                return Err(ErrorData::internal_error("lists cannot ask", None));
            }
        };
        let next = match &listed.next_cursor {
            Some(inner) => Some(ProviderCursor { inner: Some(inner), ..place }),
            None => Some(ProviderCursor { provider: place.provider + 1, inner: None })
                .filter(|next| next.provider < providers.len()),
        };
        let next = next.and_then(|next| if is_alone { next.inner.map(str::to_owned) } else { Some(next.to_text()) });
        let listed: Vec<Value> =
            listed.resources.iter().filter(|resource| !resource.is_template()).map(Resource::descriptor).collect();
        // Another principal may see other resources.
        let cache = self.server.settings().cache.map(|(ttl, _)| (ttl, CacheScope::Private));
        page("resources", listed, next, (context.is_stateless_protocol(), cache))
    }

    /// Answers `resources/templates/list`.
    pub(super) fn templates(
        &self,
        request: Option<wire::PaginatedRequestParams>,
        context: &RequestContext<RoleServer>,
    ) -> Result<wire::ListResourceTemplatesResult, ErrorData> {
        let registered = self.list("resourceTemplates", &self.server.shared.resources, request, context, |resource| {
            resource.is_template().then(|| resource.descriptor())
        });
        let mut registered: wire::ListResourceTemplatesResult = registered?;
        if registered.next_cursor.is_none() {
            for provider in self.server.resource_providers() {
                let templates = provider.templates.iter().map(|template| serde_json::from_value(template.descriptor()));
                let templates: Vec<_> = templates.collect::<Result<_, _>>().map_err(super::internal)?;
                registered.resource_templates.extend(templates);
            }
        }
        Ok(registered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        for (provider, inner) in [(0, None), (0, Some("")), (12, Some("a.b")), (1, Some("1000"))] {
            let text = ProviderCursor { provider, inner }.to_text();
            let place = ProviderCursor::parse(&text).unwrap();
            assert_eq!((place.provider, place.inner), (provider, inner), "{text}");
        }
        for text in ["", "0", "..", ".", ".x", ".+1", ".01", ".-1", ".99999999999999999999"] {
            assert!(ProviderCursor::parse(text).is_none(), "{text}");
        }
    }
}
