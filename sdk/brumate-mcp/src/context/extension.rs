//! Values that request layers have put into a request.

use super::Context;

impl Context {
    /// Returns the value of type `T` that a request layer has put into the request
    /// ([`McpRequest::insert`](crate::McpRequest::insert)).
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.request().extensions.get()
    }
}
