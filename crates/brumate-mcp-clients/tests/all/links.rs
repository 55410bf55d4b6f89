//! Symbolic links, and other things than files.

use std::os::unix::fs::symlink;
use std::path::Path;

use brumate_mcp_clients::{ConfigFile, InstallError};

use crate::home::{Home, entry};

/// Installs and removes through the links, which stay.
fn through(home: &Home, target: &Path, links: &[&str]) {
    let before = std::fs::read(target).ok();
    let change = home.install("n", &entry("f.py", &[])).expect("installed");
    assert_eq!(change.file(), target.canonicalize().expect("there"));
    let text = std::fs::read_to_string(target).expect("there");
    assert!(text.contains("\"n\": {"), "{text}");
    home.remove("n").expect("removed");
    assert_eq!(std::fs::read(target).ok(), before);
    for link in links {
        assert!(home.path(link).is_symlink(), "{link}");
    }
}

#[test]
fn links_stay_and_their_targets_are_written() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("dotfiles/deep")).expect("made");
    let target = home.path("dotfiles/claude.json");
    std::fs::write(&target, "{\n  \"a\": 1\n}\n").expect("written");
    symlink(&target, home.config()).expect("linked");
    through(&home, &target, &["config.json"]);
}

#[test]
fn chains_of_relative_links_are_followed() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("one/two")).expect("made");
    let target = home.path("one/file.json");
    std::fs::write(&target, "{}").expect("written");
    symlink("../file.json", home.path("one/two/link")).expect("linked");
    symlink("one/two/link", home.config()).expect("linked");
    through(&home, &target, &["config.json", "one/two/link"]);
    // A directory may be a link too.
    symlink("one/two", home.path("side")).expect("linked");
    std::fs::remove_file(home.config()).expect("removed");
    symlink("side/../file.json", home.config()).expect("linked");
    through(&home, &target, &["config.json", "side"]);
}

#[test]
fn a_link_to_nothing_makes_its_target() {
    let home = Home::new();
    let target = home.path("file.json");
    symlink("file.json", home.config()).expect("linked");
    through(&home, &target, &["config.json"]);
    std::fs::remove_file(home.config()).expect("removed");
    symlink("nowhere/file.json", home.config()).expect("linked");
    let error = home.install("n", &entry("f.py", &[])).expect_err("no directory");
    assert!(matches!(error, InstallError::NoDirectory { .. }), "{error}");
}

#[test]
fn loops_end() {
    let home = Home::new();
    symlink("other", home.config()).expect("linked");
    symlink("config.json", home.path("other")).expect("linked");
    let error = home.install("n", &entry("f.py", &[])).expect_err("a loop");
    assert!(matches!(error, InstallError::LinkLoop { .. }), "{error}");
    assert_eq!(home.names(), ["config.json", "other"]);
}

#[test]
fn one_file_has_one_record_under_all_its_names() {
    let home = Home::with("{}");
    symlink("config.json", home.path("other.json")).expect("linked");
    home.install("n", &entry("f.py", &[])).expect("installed");
    let other =
        ConfigFile::new(brumate_mcp_clients::Client::ClaudeDesktop, home.path("other.json"), home.path("state"));
    other.remove("n", brumate_mcp_clients::Mode::Write).expect("removed");
    assert_eq!(home.text(), "{}");
}

#[test]
fn other_things_than_files_are_named_and_not_opened() {
    let home = Home::new();
    let install = || home.install("n", &entry("f.py", &[])).expect_err("no file").to_string();
    std::fs::create_dir(home.config()).expect("made");
    assert!(install().contains("config.json is a directory and not a file"), "{}", install());
    std::fs::remove_dir(home.config()).expect("removed");
    rustix::fs::mkfifoat(rustix::fs::CWD, home.config(), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
        .expect("made");
    assert!(install().contains("config.json is a FIFO and not a file"), "{}", install());
    std::fs::remove_file(home.config()).expect("removed");
    symlink("/dev/null", home.config()).expect("linked");
    assert!(install().contains("is a device and not a file"), "{}", install());
}

#[test]
fn a_directory_that_does_not_exist_is_not_made() {
    let home = Home::new();
    let file = ConfigFile::new(brumate_mcp_clients::Client::Cursor, home.path("no/mcp.json"), home.path("state"));
    let error = file.install("n", &entry("f.py", &[]), brumate_mcp_clients::Mode::Write).expect_err("no directory");
    assert!(error.to_string().contains("no/mcp.json: its directory does not exist"), "{error}");
    assert_eq!(home.names(), Vec::<String>::new());
}
