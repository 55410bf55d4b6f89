//! The check that an authorization server can issue the tokens that a server needs.

use super::AuthServerInner;
use crate::auth::{Protection, same_resource};
use crate::server::Server;

impl AuthServerInner {
    /// Checks that there are tokens for a protected server and its tools. A server that trusts other issuers is not checked.
    ///
    /// # Errors
    ///
    /// Returns a text that names the setting that [`AuthServer`](super::AuthServer) lacks.
    pub(crate) fn check_grants(&self, protection: &Protection, server: Option<&Server>) -> Result<(), String> {
        if !protection.trusts(&self.issuer) {
            return Ok(());
        }
        let resource = protection.resource();
        if !self.resources.iter().any(|each| same_resource(each, resource)) {
            return Err(format!("AuthServer::resource lacks `{resource}`, which Protect::new names"));
        }
        let lacks = |scope: &&String| !self.scopes.contains(scope);
        if let Some(scope) = protection.scopes.iter().find(lacks) {
            return Err(format!("AuthServer::scopes lacks `{scope}`, which Protect::scopes names"));
        }
        let missing = server.and_then(|server| {
            server.shared.tools.find(|served| {
                let scope = served.tool.scopes.iter().find(lacks)?;
                Some(format!("AuthServer::scopes lacks `{scope}`, which the tool `{}` needs", served.tool.name))
            })
        });
        missing.map_or(Ok(()), Err)
    }
}
