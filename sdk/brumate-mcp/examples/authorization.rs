//! A server with an authorization server of its own: clients register, a person agrees in the browser, and tools see
//! who calls.
//!
//! ```sh
//! cargo run --example authorization --features auth-server,sqlite -- 127.0.0.1:8000 ./authorization
//! ```

use brumate_mcp::auth::{Access, Protect};
use brumate_mcp::auth_server::{AuthServer, SqliteAuth};
use brumate_mcp::{App, HttpOptions, ServeError, Server, tool};
use tokio::net::TcpListener;

/// Says who calls.
#[tool]
async fn who(access: Access) -> String {
    format!("{} with the scopes {}", access.subject, access.scopes.join(" "))
}

/// Publishes a note. The client asks the person again for this scope.
#[tool(scopes = "notes:publish")]
async fn publish(note: String, access: Access) -> String {
    format!("{} published: {note}", access.subject)
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let mut arguments = std::env::args().skip(1);
    let listener = TcpListener::bind(arguments.next().as_deref().unwrap_or("127.0.0.1:8000")).await?;
    let directory = arguments.next().unwrap_or_else(|| "authorization".to_owned());
    let url = format!("http://{}", listener.local_addr()?);

    // Whoever is at this machine's browser may agree. `SqliteAuth::password_sign_in` asks who it is.
    let provider = SqliteAuth::open(directory)?.name("Notes").single_user("the owner");
    let auth = AuthServer::new(&url, provider)
        .resource(format!("{url}/mcp"))
        .scopes(["notes", "notes:publish"])
        .default_scopes(["notes"])
        .registration()
        .client_metadata_documents();
    let protect = Protect::new(format!("{url}/mcp")).verifier(auth.verifier()).scopes(["notes"]).name("Notes");
    let server = Server::new("Notes").tool(who).tool(publish);

    eprintln!("{url}");
    let app = App::new().mount("", server, HttpOptions::new().protect(protect)?).authorization_server(auth);
    app.run_on(listener).await
}
