//! Texts of the command line: help and errors, compared with the snapshots in `snapshots/cli_texts`.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the binary in `directory` without environment variables. Returns its exit status, standard output and standard error.
fn brumate(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brumate"));
    let output = command.env_clear().current_dir(directory).args(arguments).stdin(Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// Compares a text with the snapshot `name`.
fn compare(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots/cli_texts");
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Returns the names in the section "Commands" of a help text, without `help`.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split(' ').next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Compares the help of a command and of its subcommands.
fn compare_help(directory: &Path, command: &[&str]) {
    let (status, help, errors) = brumate(directory, &[command, &["--help"]].concat());
    assert_eq!((status, errors.as_str()), (Some(0), ""), "{command:?}");
    compare(&[&["help"], command].concat().join("-"), &help);
    for name in subcommands(&help) {
        compare_help(directory, &[command, &[name.as_str()]].concat());
    }
}

#[test]
fn help_of_each_command() {
    let directory = tempfile::tempdir().unwrap();
    compare_help(directory.path(), &[]);
    compare("short-help", &brumate(directory.path(), &["-h"]).1);
    compare("short-help-streamable-http", &brumate(directory.path(), &["streamable-http", "-h"]).1);
}

/// Runs command lines that are wrong, and compares the errors of all of them with one snapshot.
fn compare_errors(name: &str, directory: &Path, command_lines: &[&[&str]]) {
    let mut text = String::new();
    for arguments in command_lines {
        let (status, output, errors) = brumate(directory, arguments);
        assert!(status.is_some_and(|status| status != 0) && output.is_empty(), "{arguments:?}: {output}");
        text.push_str(&format!("$ brumate {}\n{errors}[{}]\n\n", arguments.join(" "), status.unwrap_or_default()));
    }
    compare(name, &text);
}

#[test]
fn errors_of_wrong_flags() {
    let directory = tempfile::tempdir().unwrap();
    let command_lines: [&[&str]; 19] = [
        &["serve"],
        &["stdio", "--port", "3001"],
        &["stdio", "--timeout", "soon", "--cache-dir", "c"],
        &["stdio", "--timeout", "0", "--cache-dir", "c"],
        &["stdio", "--memory", "8GiB", "--cache-dir", "c"],
        &["stdio", "--tools", "everything"],
        &["stdio", "--tools", "all", "--cache-dir", "c"],
        &["stdio", "--input-dir", "../a=/b", "--cache-dir", "c", "--data-dir", "d"],
        &["stdio"],
        &["streamable-http", "--path", "mcp", "--cache-dir", "c"],
        &["streamable-http", "--tls-cert", "a", "--cache-dir", "c"],
        &["streamable-http", "--audience", "https://a.example", "--cache-dir", "c"],
        &["streamable-http", "--auth-tokens", "a", "--allow-unauthenticated", "--cache-dir", "c"],
        &["streamable-http-stateless", "--event-store", "a", "--cache-dir", "c"],
        &["exec", "--cache-dir", "c", "no/such/file.py"],
        &["exec", "--cache-dir", "c", "--mount", "/tmp:/lib", "-"],
        &["exec", "--cache-dir", "c", "--mount", "nothing", "-"],
        &["lock", "--cache-dir", "c"],
        &["client", "call", "tool", "no-value", "--url", "http://127.0.0.1:9/mcp"],
    ];
    compare_errors("wrong-flags", directory.path(), &command_lines);
}

#[test]
fn errors_of_wrong_settings_files() {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("tokens.toml", "[principal.ada]\ntokens = [\"ada\"]\n"),
        ("unknown.toml", "[principal.ada]\ntoken = \"sha256:00\"\n"),
        ("limits.toml", "[defaults]\nruns = 0\n"),
        ("policy.toml", "permit = ['rich']\n"),
        ("constraints.txt", "rich\n-r more.txt\n"),
        ("pylock.toml", "lock-version = '9'\n"),
        ("secret", "two words\n"),
    ] {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let command_lines: [&[&str]; 8] = [
        &["streamable-http", "--port", "0", "--cache-dir", "c", "--auth-tokens", "tokens.toml"],
        &["streamable-http", "--port", "0", "--cache-dir", "c", "--auth-tokens", "unknown.toml"],
        &["streamable-http", "--port", "0", "--cache-dir", "c", "--auth-tokens", "limits.toml"],
        &["streamable-http", "--port", "0", "--cache-dir", "c", "--auth-tokens", "missing.toml"],
        &["lock", "--cache-dir", "c", "--package-policy", "policy.toml", "rich"],
        &["lock", "--cache-dir", "c", "--constraint", "constraints.txt", "rich"],
        &["exec", "--cache-dir", "c", "--locked", "pylock.toml", "-"],
        &[
            "streamable-http",
            "--cache-dir",
            "c",
            "--auth-issuer",
            "https://a.example",
            "--audience",
            "https://b.example/mcp",
            "--introspect",
            "https://a.example/introspect",
            "--introspect-client",
            "id",
            "--introspect-secret-file",
            "secret",
        ],
    ];
    compare_errors("wrong-settings-files", directory.path(), &command_lines);
}
