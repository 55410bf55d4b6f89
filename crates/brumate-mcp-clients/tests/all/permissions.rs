//! Permissions and owners.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use brumate_mcp_clients::{Client, ConfigFile, InstallError, Mode};

use crate::home::{Home, entry};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("there").permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
}

#[test]
fn those_of_the_file_stay_unless_it_gets_variables() {
    for (before, env, after) in [
        (0o644, &[][..], 0o644),
        (0o600, &[][..], 0o600),
        (0o664, &[][..], 0o664),
        (0o644, &[("A", "1")][..], 0o600),
        (0o750, &[("A", "1")][..], 0o700),
        (0o600, &[("A", "1")][..], 0o600),
    ] {
        let home = Home::with("{}");
        set_mode(&home.config(), before);
        let change = home.install("n", &entry("f.py", env)).expect("installed");
        assert_eq!(mode(&home.config()), after, "{before:o}");
        assert_eq!(change.tightened(), before != after, "{before:o}");
        assert_eq!(mode(&home.path("config.json.brumate.bak")), 0o600);
        home.remove("n").expect("removed");
        assert_eq!(mode(&home.config()), after, "never wider again: {before:o}");
    }
}

#[test]
fn a_new_file_is_its_owners_alone() {
    for env in [&[][..], &[("A", "1")][..]] {
        let home = Home::new();
        let change = home.install("n", &entry("f.py", env)).expect("installed");
        assert_eq!((mode(&home.config()), change.tightened()), (0o600, false));
        assert_eq!(mode(&home.path("state")), 0o700);
    }
}

#[test]
fn owner_and_group_stay() {
    let home = Home::with("{}");
    // Only the superuser can give files away.
    if std::os::unix::fs::chown(home.config(), Some(12), Some(34)).is_err() {
        return;
    }
    set_mode(&home.config(), 0o640);
    home.install("n", &entry("f.py", &[])).expect("installed");
    let metadata = std::fs::metadata(home.config()).expect("there");
    assert_eq!((metadata.uid(), metadata.gid(), metadata.permissions().mode() & 0o777), (12, 34, 0o640));
}

#[test]
fn a_read_only_file_is_not_replaced() {
    let home = Home::with("{}");
    set_mode(&home.config(), 0o444);
    for mode in [Mode::Write, Mode::DryRun] {
        let error = home.file().install("n", &entry("f.py", &[]), mode).expect_err("read-only");
        assert!(matches!(error, InstallError::ReadOnly { .. }), "{error}");
        assert!(error.to_string().contains("is read-only. Make it writable"), "{error}");
    }
    assert_eq!((home.text().as_str(), home.names()), ("{}", vec!["config.json".to_owned(), "state".to_owned()]));
}

#[test]
fn a_read_only_directory_is_named() {
    let home = Home::new();
    std::fs::create_dir(home.path("locked")).expect("made");
    let mut directory = home.path("locked");
    std::fs::write(directory.join("c.json"), "{}").expect("written");
    set_mode(&directory, 0o555);
    let superuser = std::fs::write(directory.join("probe"), "").is_ok();
    if superuser {
        // Permissions do not bind the superuser. Nobody can make files here:
        directory = "/proc".into();
    }
    let file = ConfigFile::new(Client::Cursor, directory.join("c.json"), home.path("state"));
    let error = file.install("n", &entry("f.py", &[("A", "hunter2")]), Mode::Write).expect_err("not writable");
    let message = error.to_string();
    assert!(message.starts_with(&format!("cannot write to {}", directory.display())), "{message}");
    assert!(!format!("{error:?}").contains("hunter2"), "{message}");
    if !superuser {
        assert_eq!(std::fs::read_to_string(directory.join("c.json")).expect("there"), "{}");
    }
    // The record of an entry that is not there is gone too.
    let records = std::fs::read_dir(home.path("state")).expect("made");
    let json = records.filter(|file| file.as_ref().expect("read").path().extension().is_some_and(|end| end == "json"));
    assert_eq!(json.count(), 0);
    set_mode(&home.path("locked"), 0o755);
}

#[test]
fn a_state_directory_that_cannot_be_made_leaves_the_file_alone() {
    let home = Home::with("{}");
    std::fs::write(home.path("state"), "a file").expect("written");
    let error = home.install("n", &entry("f.py", &[])).expect_err("no state");
    assert!(error.to_string().starts_with("cannot make the directory"), "{error}");
    assert_eq!(home.text(), "{}");
}
