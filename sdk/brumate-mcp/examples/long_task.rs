//! Log messages, progress and resources in a tool's handler, by the context.

use brumate_mcp::prelude::*;

/// A file of this server.
#[resource("files://{name}")]
async fn file(name: String) -> Result<String, Error> {
    match name.as_str() {
        "a.txt" | "b.txt" => Ok(format!("the contents of {name}")),
        _ => Err(Error::not_found(format!("there is no file {name}"))),
    }
}

/// Processes files, and tells of its progress.
#[tool]
async fn long_task(files: Vec<String>, context: Context) -> Result<String, Error> {
    let mut bytes = 0;
    for (done, name) in files.iter().enumerate() {
        context.info(format!("Processing {name}")).await;
        let contents = context.read_resource(&format!("files://{name}")).await?;
        bytes += contents.iter().map(|part| part.as_bytes().len()).sum::<usize>();
        context.progress((done + 1) as f64, Some(files.len() as f64)).await;
    }
    Ok(format!("Processing complete: {bytes} bytes"))
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    Server::new("My App").resource(file).tool(long_task).run_stdio().await
}
