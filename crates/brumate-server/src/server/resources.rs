//! Resources: the files of sessions, listed and read.

use std::panic::AssertUnwindSafe;

use brumate_mcp::lowlevel::{self, is_stateless_protocol};
use brumate_mcp::{Error, Resource};
use brumate_session::sessions::ReadAdmission;
use futures::FutureExt;
use rmcp::RoleServer;
use rmcp::model::{
    CacheScope, ErrorData, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    ReadResourceRequestMethod, ReadResourceResult,
};
use rmcp::service::RequestContext;

use super::PythonServer;
use crate::interpreter::Interpreter;

/// Returns the size of an answer that contains a file of `bytes`, as base64 or as JSON text.
fn answer_bytes(bytes: u64) -> usize {
    /// Size of the message around the content.
    const ENVELOPE: u64 = 4096;
    usize::try_from(bytes.saturating_add(bytes / 3 + ENVELOPE)).unwrap_or(usize::MAX)
}

/// Refuses every cursor: the list has one page, so no answer has given one out.
pub(super) fn only_page(request: Option<&PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor.as_ref()) {
        Some(_) => Err(ErrorData::invalid_params("unknown cursor: list from the beginning, without one", None)),
        None => Ok(()),
    }
}

impl PythonServer {
    /// Answers `resources/list`.
    pub(super) async fn resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let Some(interpreter) = self.interpreter_for(is_stateless_protocol(context)) else {
            only_page(request.as_ref())?;
            return Ok(ListResourcesResult::default());
        };
        let cursor = request.and_then(|request| request.cursor);
        let (page, next_cursor) = interpreter.resources(cursor.as_deref()).await.map_err(Error::into_rmcp)?;
        let resources = page.iter().map(Resource::to_rmcp).collect::<Result<_, _>>().map_err(Error::into_rmcp)?;
        let mut list = ListResourcesResult::with_all_items(resources);
        list.next_cursor = next_cursor;
        Ok(list)
    }

    /// Answers `resources/templates/list`.
    pub(super) fn resource_templates(&self) -> Result<ListResourceTemplatesResult, ErrorData> {
        if self.interpreter.is_none() {
            return Ok(ListResourceTemplatesResult::default());
        }
        let template = Interpreter::template().to_rmcp_template().map_err(Error::into_rmcp)?;
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    /// Answers `resources/read`.
    pub(super) async fn read(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResult, ErrorData> {
        let interpreter =
            self.interpreter.as_ref().ok_or_else(ErrorData::method_not_found::<ReadResourceRequestMethod>)?;
        let cancel = self.stop.child_token();
        let request_context = context.clone();
        let admit = ReadAdmission::new(move |bytes| {
            Box::pin(async move { lowlevel::reserve_response(&request_context, answer_bytes(bytes)).await })
        });
        let read = interpreter.read(uri, is_stateless_protocol(context), admit, &cancel);
        let contents = tokio::select! {
            read = AssertUnwindSafe(read).catch_unwind() => match read {
                Ok(read) => read.map_err(Error::into_rmcp)?,
                Err(_) => {
                    tracing::error!("reading a resource panicked; this is a defect");
                    return Err(ErrorData::internal_error("Brumate failed; this is a defect", None));
                }
            },
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("the call was cancelled", None)),
            () = lowlevel::wait_for_session_end(context) => {
                return Err(ErrorData::internal_error("the session has ended", None));
            }
        };
        // The next cell may change the file, and only this principal may read it.
        let result = ReadResourceResult::new(vec![contents.into_rmcp()]);
        Ok(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }
}
