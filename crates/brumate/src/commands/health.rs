//! `brumate health`: checks that a server on this machine answers. For supervisors in container images without other programs.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::{print, print_error};
use crate::cli::HealthArgs;
use crate::environment::Environment;
use crate::{exit_status, http_settings};

/// Time limit of the server's answer.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Longest status line, in bytes.
const MAX_ANSWER: u64 = 4096;

pub(crate) async fn run(arguments: &HealthArgs) -> anyhow::Result<u8> {
    let named = Environment::of_this_process().port.and_then(|port| port.trim().parse().ok());
    let port = arguments.port.or(named).unwrap_or(http_settings::DEFAULT_PORT);
    let path = if arguments.warm { "/readyz" } else { "/healthz" };
    let reason = match tokio::time::timeout(TIMEOUT, ask(port, path)).await {
        Ok(Ok(status)) if status.starts_with("200") => {
            print(&format!("the server at port {port} answers {path}"))?;
            return Ok(exit_status::SUCCESS);
        }
        Ok(Ok(status)) => format!("answers {path} with {status}"),
        Ok(Err(error)) => format!("does not answer: {error}"),
        Err(_) => format!("does not answer {path} within {} s", TIMEOUT.as_secs()),
    };
    print_error(&format!("brumate: the server at port {port} of this machine {reason}"));
    Ok(exit_status::FAILURE)
}

/// Returns the status of the answer, such as `200 OK`.
async fn ask(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut line = String::new();
    // A status line is not longer.
    BufReader::new(stream.take(MAX_ANSWER)).read_line(&mut line).await?;
    let status = line.trim_end().strip_prefix("HTTP/1.1 ").map(str::to_owned);
    status.ok_or_else(|| std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not an HTTP server"))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Returns the exit status for a server's answer.
    async fn status_of(answer: &'static [u8]) -> u8 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = Some(listener.local_addr().unwrap().port());
        let serving = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(answer).await.unwrap();
        };
        let arguments = HealthArgs { port, warm: false };
        tokio::join!(serving, run(&arguments)).1.unwrap()
    }

    #[tokio::test]
    async fn only_a_server_that_says_so_lives() {
        assert_eq!(status_of(b"HTTP/1.1 200 OK\r\n\r\n").await, exit_status::SUCCESS);
        assert_eq!(status_of(b"HTTP/1.1 503 Service Unavailable\r\n\r\n").await, exit_status::FAILURE);
        assert_eq!(status_of(b"SSH-2.0\r\n").await, exit_status::FAILURE);
        let free = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port();
        assert_eq!(run(&HealthArgs { port: Some(free), warm: true }).await.unwrap(), exit_status::FAILURE);
    }
}
