//! `brumate install`: what it writes into the configuration files of clients, and takes out again.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::server::{abuse, binary};

const SECRET: &str = "a secret of the server";

/// A home directory in which all clients have made their directories.
struct Home(TempDir);

impl Home {
    fn new() -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        for directory in [".config/Claude", ".claude", ".cursor", ".config/Code/User"] {
            std::fs::create_dir_all(home.0.path().join(directory)).unwrap();
        }
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn desktop(&self) -> PathBuf {
        self.path(".config/Claude/claude_desktop_config.json")
    }

    /// Runs `brumate install`. Returns its status, and all it has printed. No secret is printed.
    fn install(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = binary();
        command.env("HOME", self.0.path()).arg("install").args(arguments).stdin(Stdio::null());
        let output = command.current_dir(self.0.path()).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!text.contains(SECRET), "{text}");
        (output.status.code(), text)
    }

    fn installs(&self, arguments: &[&str]) -> String {
        let (status, text) = self.install(arguments);
        assert_eq!(status, Some(0), "{text}");
        text
    }
}

fn json_of(file: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn each_client_gets_the_entry_in_its_own_file() {
    let home = Home::new();
    let server = abuse();
    let server = server.to_str().unwrap();
    for (client, file, key, has_type) in [
        ("claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers", false),
        ("claude-code", ".claude.json", "mcpServers", true),
        ("cursor", ".cursor/mcp.json", "mcpServers", false),
        ("vscode", ".config/Code/User/mcp.json", "servers", true),
    ] {
        let text = home.installs(&["--client", client, "--name", "demo", "--with", "rich", server, "--", "--x"]);
        assert!(text.contains("added `demo`") && text.contains(file), "{text}");
        let entry = &json_of(&home.path(file))[key]["demo"];
        assert_eq!(entry["command"], env!("CARGO_BIN_EXE_brumate"), "{client}");
        assert_eq!(entry["args"], json!(["run", "--with", "rich", server, "--", "--x"]), "{client}");
        assert_eq!(entry.get("type").is_some(), has_type, "{client}");
        home.installs(&["--client", client, "--name", "demo", "--remove"]);
        assert!(!home.path(file).exists(), "{client}: the file was not there before");
    }
}

#[test]
fn removing_brings_the_old_bytes_back() {
    let home = Home::new();
    let before = "{ \"theme\":\"dark\",\n\t\"mcpServers\": {\"old\": {\"command\": \"x\", \"args\": []} } }\n\n";
    std::fs::write(home.desktop(), before).unwrap();
    // The server tells its name in the sandbox.
    let server = abuse();
    let server = server.to_str().unwrap();
    let text = home.installs(&["--offline", server]);
    assert!(text.contains("added `Abuse` to Claude Desktop"), "{text}");
    let after = json_of(&home.desktop());
    assert_eq!(after["mcpServers"]["Abuse"]["args"], json!(["run", "--offline", server]));
    assert_eq!(after["mcpServers"]["old"]["command"], "x");
    assert_eq!(after["theme"], "dark");
    home.installs(&["--remove", server]);
    assert_eq!(std::fs::read_to_string(home.desktop()).unwrap(), before);
    let (status, text) = home.install(&["--remove", "--name", "Abuse"]);
    assert!(status == Some(1) && text.contains("has no server `Abuse`"), "{text}");
}

/// The server chooses the name under which somebody trusts another one.
#[test]
fn a_server_takes_no_other_ones_place() {
    let home = Home::new();
    let before = format!(
        "{{\"mcpServers\": {{\"Abuse\": {{\"command\": \"npx\", \"env\": {{\"TOKEN\": \"{SECRET}\"}}, \"autoApprove\": [\"*\"]}}}}}}\n"
    );
    std::fs::write(home.desktop(), &before).unwrap();
    let server = abuse();
    let server = server.to_str().unwrap();
    let (status, text) = home.install(&["--offline", server]);
    assert!(status == Some(1) && text.contains("a server `Abuse` already") && text.contains("--name Abuse"), "{text}");
    let (status, text) = home.install(&["--offline", "--remove", server]);
    assert!(status == Some(1) && text.contains("no entry that Brumate has made for this server"), "{text}");
    assert_eq!(std::fs::read_to_string(home.desktop()).unwrap(), before);
    // Whoever names it means it.
    let text = home.installs(&["--offline", "--name", "Abuse", server]);
    assert!(text.contains("replaced `Abuse` in Claude Desktop, with its variables and approvals"), "{text}");
    let entry = &json_of(&home.desktop())["mcpServers"]["Abuse"];
    assert_eq!(*entry, json!({"command": env!("CARGO_BIN_EXE_brumate"), "args": ["run", "--offline", server]}));
    let text = home.installs(&["--name", "Abuse", server]);
    assert!(text.contains("updated `Abuse`"), "{text}");
    let text = home.installs(&["--name", "Abuse", server]);
    assert!(text.contains("`Abuse` is in Claude Desktop already"), "{text}");
    home.installs(&["--remove", server]);
    assert_eq!(std::fs::read_to_string(home.desktop()).unwrap(), before);
}

#[test]
fn a_server_without_a_name_has_that_of_its_file() {
    let home = Home::new();
    let file = home.path("my tools (2).py");
    std::fs::write(&file, "raise SystemExit('it does not start')\n").unwrap();
    let text = home.installs(&["--offline", file.to_str().unwrap()]);
    assert!(text.contains("added `my-tools-2`") && text.contains("does not tell its name"), "{text}");
}

#[test]
fn secrets_are_written_and_not_shown() {
    let home = Home::new();
    std::fs::write(home.desktop(), "{}\n").unwrap();
    let server = abuse();
    let (server, variable) = (server.to_str().unwrap(), format!("TOKEN={SECRET}"));
    let file = home.path("secrets.env");
    std::fs::write(&file, format!("OTHER='{SECRET}'\n")).unwrap();
    let arguments = ["--name", "demo", "-v", &variable, "-f", file.to_str().unwrap(), server];
    let text = home.installs(&[&["--dry-run"][..], &arguments[..]].concat());
    assert!(text.contains("would change") && text.contains("TOKEN"), "{text}");
    assert_eq!(std::fs::read_to_string(home.desktop()).unwrap(), "{}\n");
    home.installs(&arguments);
    let entry = &json_of(&home.desktop())["mcpServers"]["demo"];
    assert_eq!(entry["env"], json!({"TOKEN": SECRET, "OTHER": SECRET}));
    // Other users see arguments of a process.
    assert!(!entry["args"].to_string().contains(SECRET), "{entry}");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(home.desktop()).unwrap().permissions());
    assert_eq!(mode & 0o077, 0, "only the owner reads it");
}

#[test]
fn a_second_install_gives_the_server_the_variables_of_both() {
    let home = Home::new();
    let server = abuse();
    let server = server.to_str().unwrap();
    home.installs(&["--name", "My Analytics Server", "-v", "API_KEY=abc123", server]);
    let text = home.installs(&["--name", "My Analytics Server", "-v", "DB_URL=postgres://h/db", server]);
    assert!(text.contains("updated `My Analytics Server`"), "{text}");
    let entry = &json_of(&home.desktop())["mcpServers"]["My Analytics Server"];
    assert_eq!(entry["env"], json!({"API_KEY": "abc123", "DB_URL": "postgres://h/db"}));
    assert_eq!(entry["args"], json!(["run", "--env-var", "API_KEY", "--env-var", "DB_URL", server]));
    home.installs(&["--remove", server]);
    assert!(!home.desktop().exists());
}

#[test]
fn a_dry_run_changes_nothing() {
    let home = Home::new();
    let server = abuse();
    let text = home.installs(&["--dry-run", "--name", "demo", server.to_str().unwrap()]);
    assert!(text.contains("would change") && text.contains("+"), "{text}");
    assert!(!home.desktop().exists() && !home.path(".local").exists());
}

#[test]
fn a_broken_file_stays_as_it_is() {
    let home = Home::new();
    let server = abuse();
    let arguments = ["--name", "demo", server.to_str().unwrap()];
    for (broken, part) in [("{\"mcpServers\": {", "line 1"), ("[]", ""), ("{\"mcpServers\": 5}", "")] {
        std::fs::write(home.desktop(), broken).unwrap();
        let (status, text) = home.install(&arguments);
        assert!(status == Some(1) && text.contains("claude_desktop_config.json") && text.contains(part), "{text}");
        assert_eq!(std::fs::read_to_string(home.desktop()).unwrap(), broken);
    }
}

#[test]
fn links_stay_links() {
    let home = Home::new();
    let real = home.path("settings.json");
    std::fs::write(&real, "{\"a\": 1}").unwrap();
    std::os::unix::fs::symlink(&real, home.desktop()).unwrap();
    home.installs(&["--name", "demo", abuse().to_str().unwrap()]);
    assert!(home.desktop().is_symlink());
    assert_eq!(json_of(&real)["mcpServers"]["demo"]["args"][0], "run");
    home.installs(&["--name", "demo", "--remove"]);
    assert!(home.desktop().is_symlink());
    assert_eq!(std::fs::read_to_string(&real).unwrap(), "{\"a\": 1}");
}

#[test]
fn a_command_is_installed_as_it_is() {
    let home = Home::new();
    let text = home.installs(&["--client", "cursor", "-v", &format!("TOKEN={SECRET}"), "--", "/opt/my server", "-y"]);
    assert!(text.contains("added `my-server`"), "{text}");
    let entry = json_of(&home.path(".cursor/mcp.json"))["mcpServers"]["my-server"].take();
    assert_eq!(entry, json!({"command": "/opt/my server", "args": ["-y"], "env": {"TOKEN": SECRET}}));
}

#[test]
fn what_cannot_be_installed_says_why() {
    let home = Home::new();
    let server = abuse();
    let server = server.to_str().unwrap();
    for (arguments, status, part) in [
        (&["--client", "emacs", server][..], 2, "use claude-desktop, claude-code, cursor, vscode"),
        (&["--name", "two\nlines", server][..], 1, "`two\\nlines` is no name for a server"),
        (&["/nonexistent/server.py"][..], 1, "cannot read /nonexistent/server.py"),
        (&["--name", "demo", "-v", "NO_SUCH_VARIABLE_HERE", server][..], 1, "has no value here"),
        (&[][..], 2, "FILE"),
    ] {
        let (found, text) = home.install(arguments);
        assert!(found == Some(status) && text.contains(part), "{arguments:?}: {found:?} {text}");
    }
    std::fs::remove_dir_all(home.path(".config/Claude")).unwrap();
    let (status, text) = home.install(&["--name", "demo", server]);
    assert!(status == Some(1) && text.contains("Claude Desktop seems not to be installed"), "{text}");
}
