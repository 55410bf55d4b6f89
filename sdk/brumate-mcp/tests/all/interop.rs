//! The SDKs' own clients, over each transport, in both protocol eras, against the example `interop`: tools, resources,
//! prompts, log messages, progress, cancelling and questions all work, except where `EXCEPTIONS` says what happens
//! instead and why. An exception that no longer is one fails as well.
//!
//! What the clients do is in `tests/python/interop.py` and `tests/node/interop.mjs`.

mod sizes;

use crate::clients::examples;
use crate::conformance::Running;
use crate::support::{LEGACY, MODERN};
use serde_json::{Map, Value};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is tried.
const AREAS: [&str; 7] = ["tools", "resources", "prompts", "logging", "progress", "cancel", "elicitation"];

/// A client: its name, the variable that says where it is, its version's first number.
struct Client(&'static str, &'static str, u32);

const PY1: Client = Client("mcp 1.x (Python)", "BRUMATE_TEST_PYTHON_MCP1", 1);
const PY2: Client = Client("mcp 2.x (Python)", "BRUMATE_TEST_PYTHON_MCP2", 2);
const TS1: Client = Client("@modelcontextprotocol/sdk 1.x", "BRUMATE_TEST_CLIENTS", 1);
const TS2: Client = Client("@modelcontextprotocol/client 2.x", "BRUMATE_TEST_CLIENTS", 2);

/// Something that does not work: client, transport, era (`*` for all), area, a part of what is seen instead, and why.
struct Exception(&'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

/// The protocol that is agreed upon is an area of its own.
const PROTOCOL: &str = "connected";

const EXCEPTIONS: &[Exception] = &[
    Exception(
        PY1.0,
        "*",
        "modern",
        PROTOCOL,
        LEGACY,
        "the client knows protocols up to 2025-11-25, and is served by that",
    ),
    Exception(
        TS1.0,
        "*",
        "modern",
        PROTOCOL,
        LEGACY,
        "the client knows protocols up to 2025-11-25, and is served by that",
    ),
    Exception(
        "*",
        "stateless",
        "legacy",
        "logging",
        "keeps no sessions",
        "without a session no level is kept: `logging/setLevel` is an error, and all are sent",
    ),
    Exception(
        "*",
        "stateless",
        "legacy",
        "cancel",
        "the call runs on",
        "without a session nobody knows which call a message cancels; closing its connection does",
    ),
    Exception(
        "*",
        "stateless",
        "legacy",
        "elicitation",
        "takes a session",
        "without a session answers find no way back",
    ),
];

impl Exception {
    fn is_about(&self, client: &Client, transport: &str, era: &str) -> bool {
        // Who knows no newer protocol is served as ever.
        let era = if client.2 == 1 && self.3 != PROTOCOL { "legacy" } else { era };
        let fits = |wanted: &str, word: &str| wanted == "*" || wanted == word;
        fits(self.0, client.0) && fits(self.1, transport) && fits(self.2, era)
    }
}

/// The example, and where a client finds it: a command, or an address.
fn serve(transport: &str) -> (Option<Running>, Vec<String>) {
    let example = examples().join("interop");
    let program = example.to_str().expect("a path in UTF-8").to_owned();
    if transport == "stdio" {
        return (None, vec![program, "stdio".to_owned()]);
    }
    let mut server = Command::new(program);
    let child = server.args([transport, "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().expect("the example starts");
    let mut running = Running(child);
    let mut address = String::new();
    BufReader::new(running.0.stderr.take().expect("standard error")).read_line(&mut address).expect("a line");
    (Some(running), vec![address.trim().to_owned()])
}

/// Returns the command that runs a client's script: `tests/python/NAME.py` or `tests/node/NAME.mjs`.
fn client_command(client: &Client, script: &str) -> Command {
    let Client(name, variable, major) = client;
    let Some(place) = std::env::var_os(variable).map(PathBuf::from) else {
        panic!("{variable} is not set: it names where {name} is; `cargo xtask test` sets it")
    };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    if name.contains("Python") {
        let mut python = Command::new(place);
        python.arg(scripts.join(format!("python/{script}.py"))).env("PYTHONDONTWRITEBYTECODE", "1");
        python
    } else {
        let mut node = Command::new(place.join("node/bin/node"));
        node.arg(scripts.join(format!("node/{script}.mjs"))).args(["--major", &major.to_string()]);
        node
    }
}

/// Runs a client. Returns its result for each area.
fn found(client: &Client, transport: &str, era: &str, failing: &[&str]) -> Map<String, Value> {
    let name = client.0;
    let (_server, target) = serve(transport);
    let kind = if ["stdio", "sse"].contains(&transport) { transport } else { "http" };
    let mut command = client_command(client, "interop");
    if name.contains("Python") {
        command.arg("--failing").args(failing);
    } else {
        command.args(["--failing", &failing.join(",")]);
    }
    let output = command.args(["--transport", kind, "--era", era, "--target"]).args(target).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(Ok(Value::Object(found))) = text.lines().last().map(serde_json::from_str) else {
        panic!("{name} printed {text}{}", String::from_utf8_lossy(&output.stderr))
    };
    found
}

fn check(client: &Client, transport: &str, era: &str) {
    let exceptions: Vec<_> = EXCEPTIONS.iter().filter(|exception| exception.is_about(client, transport, era)).collect();
    let failing: Vec<_> = exceptions.iter().map(|exception| exception.3).collect();
    let found = found(client, transport, era, &failing);
    let said = |area: &str| found.get(area).and_then(Value::as_str).unwrap_or_default();
    for Exception(.., area, instead, reason) in &exceptions {
        assert!(said(area).contains(instead), "{area}: expected {instead:?} ({reason}): {found:?}");
    }
    assert_eq!((said("connecting"), said("closing")), ("", ""), "{found:?}");
    let wanted = if era == "modern" { MODERN } else { LEGACY };
    assert!(said(PROTOCOL) == wanted || failing.contains(&PROTOCOL), "{found:?}");
    for area in AREAS.iter().filter(|area| !failing.contains(area)) {
        assert_eq!(said(area), "ok", "{area}: {found:?}");
    }
}

macro_rules! matrix {
    ($($name:ident $client:ident),+ : $transports:tt) => {
        $(mod $name { matrix!(@ $client $transports); })+
    };
    (@ $client:ident { $($transport:ident),+ }) => {
        $(mod $transport {
            #[test]
            fn legacy() {
                super::super::check(&super::super::$client, stringify!($transport), "legacy");
            }

            #[test]
            fn modern() {
                super::super::check(&super::super::$client, stringify!($transport), "modern");
            }
        })+
    };
}

matrix! { mcp1 PY1, mcp2 PY2, sdk1 TS1, client2 TS2: { stdio, http, stateless, json, sse } }

/// The exceptions as they are in the manual.
#[test]
fn the_manual_names_the_exceptions() {
    let rows = EXCEPTIONS.iter().map(|Exception(client, transport, era, area, _, reason)| {
        let word = |word: &str| if word == "*" { "all".to_owned() } else { format!("`{word}`") };
        let client = if *client == "*" { "all" } else { client };
        let area = if *area == PROTOCOL { "protocol" } else { area };
        format!("| {client} | {} | {} | {area} | {reason} |\n", word(transport), word(era))
    });
    let rows: String = rows.collect();
    let table = format!("| client | transport | era | what | why |\n|---|---|---|---|---|\n{rows}");
    writeln!(std::io::stdout(), "{table}").expect("it is printed");
    assert!(include_str!("../../../../docs/sdk.md").contains(&table), "docs/sdk.md lacks this table:\n{table}");
}
