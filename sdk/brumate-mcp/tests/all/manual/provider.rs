//! Resources that are not known beforehand.

use brumate_mcp::prelude::*;

/// The notes of the principal that sends the request.
struct Notes;

impl ResourceProvider for Notes {
    async fn list(&self, _cursor: Option<&str>, context: Context) -> Result<ResourcePage, Error> {
        let Some(principal) = context.principal() else { return Ok(ResourcePage::default()) };
        Ok(ResourcePage::new([Resource::new(format!("notes://{}/today", principal.subject()))]))
    }

    async fn read(&self, uri: &str, context: Context) -> Result<Option<ProvidedContents>, Error> {
        let Some(owner) = uri.strip_prefix("notes://").and_then(|path| path.strip_suffix("/today")) else {
            return Ok(None); // Not one of these.
        };
        match context.principal() {
            Some(principal) if principal.subject() == owner => {
                Ok(Some(ResourceContents::text(uri, "Buy milk.").into()))
            }
            _ => Err(Error::not_found("there is no such note")),
        }
    }
}

fn server() -> Server {
    Server::new("Notes").resource_provider(Notes)
}
