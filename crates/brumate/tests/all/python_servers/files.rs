//! The files and variables that a server sees.

use std::path::Path;

use serde_json::{Value, json};

use super::server::{HOST_VARIABLE, Server, abuse};

/// Writes files below a directory.
fn write(directory: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// Returns the program with the misbehaving tools, with other lines before it.
fn program(lines: &str) -> String {
    format!("{lines}\n{}", std::fs::read_to_string(abuse()).unwrap())
}

#[test]
fn the_host_is_out_of_reach() {
    let mut server = Server::start(&[]);
    let (file, host) = (abuse(), env!("CARGO_MANIFEST_DIR"));
    let beside = file.with_file_name("raw_lines.py");
    let paths = ["/etc/passwd", "/etc/hostname", "/proc/self/environ", "/proc/1/environ"];
    for path in paths.into_iter().chain([file.to_str().unwrap(), beside.to_str().unwrap(), "../../etc/passwd"]) {
        let text = server.failure("read", &json!({"path": path}));
        assert!(text.contains("No such file") || text.contains("ermission"), "{path}: {text}");
    }
    for path in [host, "/root", "/usr/bin", "/sys"] {
        server.failure("entries", &json!({"path": path}));
    }
    let variables = server.value("environment", &json!({}));
    let variables = variables.as_object().unwrap();
    assert_eq!(variables["HOME"], "/home/user");
    assert!(!variables.contains_key(HOST_VARIABLE.0) && !variables.contains_key("BRUMATE_CACHE_DIR"), "{variables:?}");
    server.failure("write", &json!({"path": "/lib/python3.14/json/__init__.py", "text": ""}));
    server.check();
}

#[test]
fn modules_beside_the_file_are_found_and_other_files_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let code = program("import helper, package.part\nassert (helper.NAME, package.part.NAME) == ('h', 'p')");
    write(
        directory.path(),
        &[
            ("server.py", &code),
            ("helper.py", "NAME = 'h'\n"),
            ("package/__init__.py", ""),
            ("package/part.py", "import indirect\n\nNAME = 'p'\n"),
            ("package/data.txt", "data"),
            ("indirect.py", ""),
            ("other.py", "a module that is not imported"),
            (".env", "SECRET=1\n"),
            ("notes.txt", "notes"),
            (".git/config", "[core]"),
        ],
    );
    let file = directory.path().join("server.py");
    let mut server = Server::of(&[], file.to_str().unwrap(), &[]);
    server.check();
    assert_eq!(server.value("entries", &json!({"path": "/server"})), json!(["helper.py", "indirect.py", "package"]));
    assert_eq!(server.value("entries", &json!({"path": "/server/package"})), json!(["__init__.py", "part.py"]));
    assert_eq!(server.value("entries", &json!({"path": "."})), json!(["server.py"]));
    server.failure("write", &json!({"path": "/server/helper.py", "text": "NAME = 'other'"}));
    for path in [".env", "/server/.env", "notes.txt", directory.path().join(".env").to_str().unwrap()] {
        server.failure("read", &json!({"path": path}));
    }
    assert!(!server.value("environment", &json!({})).to_string().contains("SECRET"));
    assert_eq!(std::fs::read_to_string(directory.path().join("helper.py")).unwrap(), "NAME = 'h'\n");
}

/// A module beside the file that leads elsewhere is not read.
#[test]
fn links_out_of_the_directory_are_refused() {
    let (directory, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(elsewhere.path(), &[("secret.py", "SECRET = 1\n")]);
    write(directory.path(), &[("server.py", &program("import helper"))]);
    std::os::unix::fs::symlink(elsewhere.path().join("secret.py"), directory.path().join("helper.py")).unwrap();
    let mut command = super::server::binary();
    let output = command.args(["run", "--offline"]).arg(directory.path().join("server.py")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("a link out of the server's directory"), "{errors}");
}

#[test]
fn mounted_directories_are_seen() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &[("read/a.txt", "a"), ("write/b.txt", "b")]);
    let mount = |name: &str, mode: &str| format!("{}:/{name}{mode}", directory.path().join(name).display());
    let mut server = Server::start(&["--mount", &mount("read", ":ro"), "--mount", &mount("write", "")]);
    assert_eq!(server.value("read", &json!({"path": "/read/a.txt"})), "a");
    server.failure("write", &json!({"path": "/read/a.txt", "text": "other"}));
    assert_eq!(server.value("write", &json!({"path": "/write/b.txt", "text": "new"})), 3);
    assert_eq!(server.value("entries", &json!({"path": "/write"})), Value::from(vec!["b.txt"]));
    assert_eq!(server.end().status, Some(0));
    assert_eq!(std::fs::read_to_string(directory.path().join("write/b.txt")).unwrap(), "new");
    assert_eq!(std::fs::read_to_string(directory.path().join("read/a.txt")).unwrap(), "a");
}
