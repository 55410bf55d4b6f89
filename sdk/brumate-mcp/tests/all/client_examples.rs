//! The examples of clients, run with the examples of servers.

use crate::authorization::{agree, browser};
use crate::clients::examples;
use crate::conformance::Running;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Command, Stdio};

/// Runs an example; returns what it prints.
fn run(client: &str, arguments: &[&str]) -> String {
    let output = Command::new(examples().join(client)).args(arguments).output().expect("the example starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{client}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// Runs an example whose arguments are servers that it starts.
fn run_with(client: &str, servers: &[&str]) -> String {
    let paths: Vec<String> = servers.iter().map(|name| examples().join(name).display().to_string()).collect();
    run(client, &paths.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Starts an example that serves over HTTP; returns its address.
fn serve(server: &str, arguments: &[&str]) -> (Running, String) {
    let mut command = Command::new(examples().join(server));
    let mut child = command.arg("127.0.0.1:0").args(arguments).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut address = String::new();
    lines(&mut child).read_line(&mut address).expect("a line");
    (Running(child), address.trim().to_owned())
}

fn lines(child: &mut Child) -> BufReader<ChildStderr> {
    BufReader::new(child.stderr.take().expect("standard error"))
}

#[test]
fn client_stdio() {
    let printed = run_with("client_stdio", &["echo"]);
    assert!(printed.starts_with("Echo speaks 2026-07-28\n"), "{printed}");
    for line in ["prompt echo\n  Please process this message: value", "template echo://{message}", "tool echo: Gives"] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    let printed = run_with("client_stdio", &["resources"]);
    assert!(printed.contains("resource config://app: App configuration here\n"), "{printed}");
}

#[test]
fn client_http() {
    let (_server, address) = serve("streamable_http", &[]);
    assert_eq!(run("client_http", &[&format!("{address}/mcp")]), "Echo: hello\n");
}

#[test]
fn client_completions() {
    let printed = run_with("client_completions", &["prompts"]);
    assert!(printed.contains("language of review_code: Perl, Prolog, Python\n"), "{printed}");
    assert!(printed.contains("code of review_code: \n"), "{printed}");
}

#[test]
fn client_display_names() {
    let printed = run_with("client_display_names", &["echo"]);
    assert_eq!(printed, "Tool: Echo\nTemplate: echo (echo://{message})\n");
    // All pages.
    let printed = run_with("client_display_names", &["pagination"]);
    assert_eq!(printed.lines().count(), 100, "{printed}");
    assert!(printed.ends_with("Resource: Item 100 (resource://items/100)\n"), "{printed}");
}

#[test]
fn client_results() {
    let printed = run_with("client_results", &["images", "structured"]);
    let expected = "22.5 degrees, sunny\nLondon and Paris\ntext: 2 rows\nfile: file:///squares.csv (8 bytes)\n\
                    link: squares://all\nimage: image/x-portable-pixmap, 203 bytes\nfailed: true\n";
    assert_eq!(printed, expected);
}

/// With the person who agrees in the browser.
#[tokio::test(flavor = "multi_thread")]
async fn client_oauth() {
    let directory = tempfile::tempdir().expect("a directory");
    let kept = directory.path().join("auth").display().to_string();
    let (_server, address) = serve("authorization", &[&kept]);
    let mut command = Command::new(examples().join("client_oauth"));
    let client = command.arg(format!("{address}/mcp")).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut client = Running(client);
    let mut printed = BufReader::new(client.0.stdout.take().expect("standard output"));
    let mut page = String::new();
    printed.read_line(&mut page).expect("a line");
    let page = page.trim().strip_prefix("Visit: ").unwrap_or_else(|| panic!("{page}")).to_owned();
    let url = url::Url::parse(&page).expect("an address");
    let back = url.query_pairs().find_map(|(name, value)| (name == "redirect_uri").then(|| value.into_owned()));
    let answer = agree(page, &back.expect("an address for the answer")).await.expect("an answer");
    let shown = browser().get(&answer).send().await.expect("the client's page");
    assert!(shown.status().is_success(), "{answer}");
    let mut rest = String::new();
    printed.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "tool who\ntool publish\nthe owner with the scopes notes\n");
    assert!(client.0.wait().expect("an end").success());
}
