//! `--jupyter`: kernels over HTTP, in the hands of Jupyter's own clients and of hostile ones.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use brumate_test_support::cache_directory;
use tempfile::TempDir;

use crate::support::{brumate, run_jupyter_module};

/// A server, most often with two principals. It is killed when it is dropped.
struct Server {
    process: Child,
    address: String,
    tokens: [String; 2],
    directory: TempDir,
}

impl Server {
    /// Starts a server for two principals, without an index of packages.
    fn start(options: &[&str]) -> Self {
        Self::start_with(&[&["--offline"], options].concat(), true)
    }

    fn start_with(options: &[&str], has_principals: bool) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let token = |name: &str| {
            let (_, token, entry) = brumate(&["token", name]);
            (token.trim().to_owned(), entry)
        };
        let ((ada, ada_entry), (bob, bob_entry)) = (token("ada"), token("bob"));
        let file = directory.path().join("tokens.toml");
        std::fs::write(&file, format!("{ada_entry}{bob_entry}sessions = 3\n")).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_brumate"));
        command.env_clear().env("BRUMATE_CACHE_DIR", cache_directory());
        command.args(["streamable-http", "--jupyter", "--port", "0"]);
        if has_principals {
            command.arg("--auth-tokens").arg(&file);
        }
        command.arg("--data-dir").arg(directory.path().join("data")).args(options);
        let mut process = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("brumate starts");
        let mut lines = BufReader::new(process.stderr.take().expect("a pipe"));
        let mut address = String::new();
        while !address.starts_with("brumate: serving Jupyter kernels at ") {
            address.clear();
            assert!(lines.read_line(&mut address).expect("text") > 0, "the server says its address");
        }
        let address = address.rsplit(' ').next().unwrap_or_default().trim_end().trim_end_matches('/').to_owned();
        // Without a reader the server would wait for one.
        let mut log = File::create(directory.path().join("log")).expect("a file");
        std::thread::spawn(move || std::io::copy(&mut lines, &mut log));
        Self { process, address, tokens: [ada, bob], directory }
    }

    /// Runs a class of `gateway.py`. Then no token is in the log.
    fn run(&self, class: &str) {
        let mut python =
            Command::new(std::env::var("BRUMATE_TEST_PYTHON_JUPYTER_HTTP").expect("`cargo xtask test` sets it"));
        python.env("BRUMATE_TEST_GATEWAY", &self.address).env("BRUMATE_TEST_TOKENS", self.tokens.join(","));
        python.env("BRUMATE_TEST_TOKENS_FILE", self.directory.path().join("tokens.toml"));
        python.env("BRUMATE_TEST_SERVER", self.process.id().to_string());
        run_jupyter_module(python, &["gateway.py", class]);
        let log = std::fs::read_to_string(self.directory.path().join("log")).expect("text");
        assert!(self.tokens.iter().all(|token| !log.contains(token)), "{log}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn kernels_and_their_clients() {
    Server::start(&[]).run("Kernels");
}

#[test]
fn clients_of_other_people() {
    Server::start(&[]).run("Clients");
}

#[test]
fn hostile_clients() {
    Server::start(&["-v"]).run("Hostile");
}

#[test]
fn active_output() {
    Server::start(&["--jupyter-active-output"]).run("Active");
}

#[test]
fn web_pages_without_tokens() {
    Server::start_with(&["--offline"], false).run("Open");
}

#[test]
fn kernels_that_are_not_used_end() {
    Server::start(&["--session-timeout", "1s"]).run("Expiry");
}

#[test]
fn websockets_of_a_revoked_token_end() {
    Server::start(&[]).run("Revocation");
}

#[test]
fn a_server_that_stops_ends_its_kernels_and_keeps_no_session() {
    let mut server = Server::start(&[]);
    server.run("Left");
    rustix::process::kill_process(rustix::process::Pid::from_child(&server.process), rustix::process::Signal::TERM)
        .expect("a signal");
    assert!(server.process.wait().expect("it ends").success());
    let data = server.directory.path().join("data").display().to_string();
    let (_, sessions, _) = brumate(&["sessions", "list", "--data-dir", &data]);
    assert!(!sessions.contains("ada"), "{sessions}");
}

mod long_tier {
    use super::*;
    use crate::support::{environments, run_node_module};

    /// The client of JupyterLab and of VS Code's extension.
    const SERVICES: &[&str] = &["@jupyterlab/services@7.6.6"];

    /// The kernel installs the package `comm` from an index.
    #[test]
    #[ignore = "long tier"]
    fn jupyterlabs_own_client() {
        let server = Server::start_with(&["--jupyter-active-output"], true);
        let modules = environments::node_modules("jupyterlab-services", SERVICES);
        run_node_module("jupyter_services.mjs", |node| {
            node.arg("--modules").arg(modules).args(["--url", &server.address, "--token", &server.tokens[0]]);
        });
    }
}
