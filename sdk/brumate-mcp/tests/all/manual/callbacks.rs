//! A client that answers questions.

use brumate_mcp::client::{ClientError, FormRequest, LogMessage, Progress};
use brumate_mcp::{Client, ElicitationResult};

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let client = Client::http("http://127.0.0.1:8000/mcp")
        .on_form(async |form: FormRequest| {
            println!("{}", form.message);
            ElicitationResult::Accepted(form.defaults())
        })
        .on_log(|message: LogMessage| eprintln!("{:?}: {}", message.level, message.data))
        .connect()
        .await?;
    let progress = |progress: Progress| eprintln!("{} of {:?}", progress.done, progress.total);
    println!("{}", client.call("long_task").arg("files", ["a", "b"]).on_progress(progress).await?.text());
    client.close().await;
    Ok(())
}
