//! `brumate dev`: how it starts the Inspector. Scripts take the place of `node` and `npx`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;

use super::server::{abuse, binary};

/// Status with which the script of `npx` ends.
const STATUS: i32 = 7;

/// Makes a directory with a `node` of this version, and an `npx` that prints its arguments, one per line.
fn programs(version: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    script(directory.path(), "node", &format!("echo {version}"));
    script(directory.path(), "npx", &format!("printf '%s\\n' \"$@\"\nexit {STATUS}"));
    directory
}

fn script(directory: &Path, name: &str, lines: &str) {
    let file = directory.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{lines}\n")).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs `brumate dev`. Returns its status, output and errors.
fn dev(path: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = binary();
    command.env("PATH", path).arg("dev").args(arguments).stdin(Stdio::null()).current_dir(path);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_inspector_starts_the_server_that_is_watched() {
    let path = programs("v22.19.0");
    std::fs::create_dir(path.path().join("data")).unwrap();
    let server = format!("{}:mcp", abuse().display());
    let arguments = ["--offline", "--with", "rich<15", "-v", "A=1", "--mount", "data:/data:ro", &server, "--", "--x"];
    let (status, output, errors) = dev(path.path(), &arguments);
    assert_eq!(status, Some(STATUS), "{errors}");
    let here = path.path().canonicalize().unwrap();
    let mount = format!("{}:/data:ro", here.join("data").display());
    let mut lines: Vec<_> = output.lines().collect();
    let file = lines.iter().position(|line| *line == "--env-file").map(|at| lines.remove(at + 1)).unwrap();
    assert!(!Path::new(file).exists(), "{file} is removed at the end");
    let expected = [
        &["-y", "@modelcontextprotocol/inspector@2", "--web", "--cwd", here.to_str().unwrap()][..],
        &[env!("CARGO_BIN_EXE_brumate"), "--", "run", "--watch", "--mount", &mount, "--offline"],
        &["--with", "rich<15", "--env-file", &server, "--", "--x"],
    ];
    assert_eq!(lines, expected.concat());
}

#[test]
fn another_server_and_another_inspector_are_started() {
    let path = programs("v24.1.0");
    let (status, output, errors) = dev(path.path(), &["--inspector", "1.2.3", "--", "uvx", "some-server", "--y"]);
    assert_eq!(status, Some(STATUS), "{errors}");
    let lines: Vec<_> = output.lines().collect();
    assert_eq!(lines[1], "@modelcontextprotocol/inspector@1.2.3");
    assert_eq!(lines[5..], ["uvx", "--", "some-server", "--y"]);
}

/// Starts the server as the Inspector would, for which the script of `npx` stands: its target and the arguments after `--`.
#[test]
fn values_of_variables_are_in_no_command_line_and_reach_the_server() {
    let path = programs("v24.1.0");
    let secret = "s3cret \"quoted\" $HOME\nline";
    let npx =
        "echo \"$@\" > seen; while [ \"$1\" != --cwd ]; do shift; done; shift 2; p=$1; shift 2; exec \"$p\" \"$@\"";
    script(path.path(), "npx", npx);
    let variable = format!("KEY={secret}");
    let show = "printf '%s|%s' \"$KEY\" \"$1\"";
    let (status, output, errors) = dev(path.path(), &["-v", &variable, "--", "/bin/sh", "-c", show, "sh", "x y"]);
    assert_eq!((status, output), (Some(0), format!("{secret}|x y")), "{errors}");
    let server = path.path().join("server.py");
    std::fs::write(&server, "import os, sys\nsys.exit(repr(os.environ['KEY']))\n").unwrap();
    let (status, _, errors) = dev(path.path(), &["--offline", "-v", &variable, server.to_str().unwrap()]);
    assert_eq!(status, Some(1), "{errors}");
    assert!(errors.contains(r#"'s3cret "quoted" $HOME\nline'"#), "{errors}");
    for line in std::fs::read_to_string(path.path().join("seen")).unwrap().lines() {
        assert!(!line.contains("s3cret") && line.contains("--env-file"), "{line}");
    }
}

#[test]
fn a_missing_or_old_node_is_told() {
    let server = abuse();
    let server = server.to_str().unwrap();
    let needs = "needs Node.js 22.19 or newer with npm";
    for (version, part) in [("v18.20.0", "v18.20.0"), ("nonsense", "nonsense")] {
        let (status, output, errors) = dev(programs(version).path(), &[server]);
        assert_eq!((status, output.as_str()), (Some(1), ""), "{errors}");
        assert!(errors.contains(part) && errors.contains(needs), "{errors}");
    }
    let empty = tempfile::tempdir().unwrap();
    let (status, _, errors) = dev(empty.path(), &[server]);
    assert!(status == Some(1) && errors.contains("cannot start `node`") && errors.contains(needs), "{errors}");
    script(empty.path(), "node", "echo v22.19.0");
    let (status, _, errors) = dev(empty.path(), &[server]);
    assert!(status == Some(1) && errors.contains("cannot start `npx`"), "{errors}");
}

#[test]
fn the_inspector_has_one_transport() {
    let path = programs("v22.19.0");
    let (status, _, errors) = dev(path.path(), &["-t", "sse", abuse().to_str().unwrap()]);
    assert_eq!(status, Some(1), "{errors}");
    assert!(errors.contains("use `brumate run` for HTTP"), "{errors}");
}

#[test]
fn a_file_that_is_not_there_is_told() {
    let path = programs("v22.19.0");
    let (status, output, errors) = dev(path.path(), &["/nonexistent/server.py"]);
    assert_eq!((status, output.as_str()), (Some(1), ""));
    assert!(errors.contains("cannot read /nonexistent/server.py"), "{errors}");
    assert_eq!(dev(path.path(), &[]).0, Some(2));
}
