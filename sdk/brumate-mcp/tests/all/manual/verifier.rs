//! A function that verifies tokens.

use brumate_mcp::auth::{Access, Protect};
use brumate_mcp::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Returns who calls.
#[tool]
async fn who(access: Access) -> String {
    access.subject
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let resource = "http://127.0.0.1:8000/mcp";
    let users = Arc::new(HashMap::from([("a-token".to_owned(), "ada".to_owned())]));
    let verify = async move |token: String| {
        let user = users.get(&token).cloned();
        Ok::<_, Error>(user.map(|user| Access::new(user).with_scopes(["notes"]).with_audience([resource])))
    };
    let protect = Protect::new(resource).issuer("https://auth.example.com").verifier(verify).scopes(["notes"]);
    let server = Server::new("Notes").tool(who);
    server.run_http("127.0.0.1:8000", HttpOptions::new().protect(protect)?).await
}
