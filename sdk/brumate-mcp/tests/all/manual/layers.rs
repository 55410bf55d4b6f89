//! A layer around requests.

use brumate_mcp::prelude::*;

/// Counts requests, and refuses those of a principal that has left.
async fn count(mut request: McpRequest, next: NextRequest) -> Result<McpAnswer, Error> {
    if request.principal().is_some_and(|principal| principal.name() == "mallory") {
        return Err(Error::protocol(-32001, "you have left", None));
    }
    request.insert(std::time::Instant::now()); // Handlers read it: context.extension::<Instant>()
    let method = request.method().to_owned();
    let answer = next.run(request).await;
    eprintln!("{method}: {}", if answer.is_ok() { "answered" } else { "failed" });
    answer
}

fn server() -> Server {
    Server::new("Counted").request_layer(count)
}
