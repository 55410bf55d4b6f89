//! Serves over the transport that the command line names.

use crate::error::ServeError;
use crate::http::{App, HttpOptions, listen};
use crate::server::Server;

const USAGE: &str = "\
options:
  --transport stdio|http|sse   how to serve: over standard input and output, streamable HTTP at /mcp, or that and HTTP+SSE at /sse
                               [MCP_TRANSPORT; default: stdio]
  --host HOST                  the address to listen at [MCP_HOST; default: 127.0.0.1]
  --port PORT                  the port, 0 for any [MCP_PORT; default: 8000]";

/// The arguments of the command line.
#[derive(Debug, PartialEq, Eq)]
struct ServeArguments {
    transport: Transport,
    host: String,
    port: u16,
}

#[derive(Debug, PartialEq, Eq)]
enum Transport {
    Stdio,
    Http,
    Sse,
}

impl ServeArguments {
    /// Reads the arguments. Variables take the place of missing ones.
    fn read(
        arguments: impl IntoIterator<Item = String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let mut values: [Option<String>; 3] = ["MCP_TRANSPORT", "MCP_HOST", "MCP_PORT"].map(&variable);
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (argument, None),
            };
            let index = match name.as_str() {
                "--transport" | "-t" => 0,
                "--host" => 1,
                "--port" | "-p" => 2,
                "--help" | "-h" => return Err(USAGE.to_owned()),
                _ => return Err(format!("unknown argument `{name}`\n{USAGE}")),
            };
            let value = value.or_else(|| arguments.next()).ok_or_else(|| format!("`{name}` has no value\n{USAGE}"))?;
            values[index] = Some(value);
        }
        let [transport, host, port] = values;
        let transport = match transport.as_deref() {
            None | Some("stdio") => Transport::Stdio,
            Some("http" | "streamable-http") => Transport::Http,
            Some("sse") => Transport::Sse,
            Some(other) => return Err(format!("unknown transport `{other}`\n{USAGE}")),
        };
        let port = port.map_or(Ok(8000), |port| port.parse().map_err(|_| format!("`{port}` is no port\n{USAGE}")))?;
        Ok(Self { transport, host: host.unwrap_or_else(|| "127.0.0.1".to_owned()), port })
    }
}

impl Server {
    /// Serves as the command line says, until the client is gone or the process is interrupted. The options are
    /// `--transport stdio` (the default), `http` or `sse`, `--host` and `--port`; without them the variables
    /// `MCP_TRANSPORT`, `MCP_HOST` and `MCP_PORT`. The address is printed to standard error.
    ///
    /// # Errors
    ///
    /// Returns [`ServeError::Setup`] with the usage if the command line is wrong; also the errors of
    /// [`Server::run_stdio`] and [`Server::run_http`].
    pub async fn run_from_args(self) -> Result<(), ServeError> {
        let arguments = ServeArguments::read(std::env::args().skip(1), |name| std::env::var(name).ok());
        let ServeArguments { transport, host, port } = arguments.map_err(ServeError::Setup)?;
        let (options, path) = match transport {
            Transport::Stdio => return self.run_stdio().await,
            Transport::Http => (HttpOptions::new(), "/mcp"),
            Transport::Sse => (HttpOptions::new().legacy_sse(), "/sse"),
        };
        let listener = listen((host.as_str(), port)).await?;
        eprintln!("http://{}{path}", listener.local_addr()?);
        App::new().mount("", self, options).run_on(listener).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str], transport: Option<&str>) -> Result<ServeArguments, String> {
        let variable = |name: &str| (name == "MCP_TRANSPORT").then_some(transport?.to_owned());
        ServeArguments::read(arguments.iter().map(|argument| (*argument).to_owned()), variable)
    }

    #[test]
    fn arguments_go_before_variables() {
        let expected = |transport, host: &str, port| Ok(ServeArguments { transport, host: host.to_owned(), port });
        assert_eq!(read(&[], None), expected(Transport::Stdio, "127.0.0.1", 8000));
        assert_eq!(read(&[], Some("sse")), expected(Transport::Sse, "127.0.0.1", 8000));
        let http = ["--transport", "http", "--host=::1", "--port", "0"];
        assert_eq!(read(&http, Some("sse")), expected(Transport::Http, "::1", 0));
    }

    #[test]
    fn a_wrong_command_line_says_what_is_right() {
        for arguments in [&["--port"][..], &["--port", "high"], &["--transport", "pigeon"], &["serve"], &["-h"]] {
            let error = read(arguments, None).unwrap_err();
            assert!(error.contains("--transport stdio|http|sse"), "{error}");
        }
    }
}
