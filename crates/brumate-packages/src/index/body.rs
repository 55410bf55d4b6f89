//! Bodies of responses.

use std::sync::Arc;

use url::Url;

/// Body of a response.
#[derive(Debug, Clone)]
pub(crate) struct ResponseBody {
    /// URL after redirects.
    pub(crate) final_url: Url,
    /// Media type without parameters, lower case.
    pub(crate) content_type: String,
    pub(crate) bytes: Arc<[u8]>,
}
