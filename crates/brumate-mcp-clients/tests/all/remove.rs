//! Entries taken out again.

use brumate_mcp_clients::{Action, Entry, InstallError, Mode};

use crate::home::{Home, entry};

#[test]
fn the_bytes_from_before_come_back() {
    let texts = [
        "",
        " ",
        "\n",
        "\r\n\r\n",
        "\u{feff}",
        "\u{feff} ",
        "// c",
        "/* c */\n",
        "{}",
        "{ }",
        "{\n}\n",
        "\u{feff}{}\r\n",
        "{ /* c */ }",
        "{ // c\n}",
        "{\"a\":1}",
        "{\"a\": 1,}",
        "{\n\t\"a\": 1\n}",
        "{\"mcpServers\":{}}",
        "{\"mcpServers\": { }, }",
        "{\n  \"mcpServers\": {\n  }\n}",
        "{\"mcpServers\": {\"x\": {}}}",
        "{\n  \"mcpServers\": {\n    // \"x\": {}\n  },\n}",
        "{\"mcpServers\": {\"n\": {}}}",
        "// c\n{}//d",
    ];
    for text in texts {
        let home = Home::with(text);
        for round in ["first", "second"] {
            home.install("n", &entry("f.py", &[("A", "1")])).expect(text);
            assert_ne!(home.text(), text);
            home.remove("n").expect(text);
            assert_eq!(home.text(), text, "{round}");
            assert_eq!(home.names(), ["config.json", "state"], "nothing is left beside it: {text:?}");
        }
    }
}

#[test]
fn a_file_that_did_not_exist_is_gone() {
    let home = Home::new();
    home.install("n", &entry("f.py", &[])).expect("installed");
    let change = home.remove("n").expect("removed");
    assert_eq!((change.action(), change.text(), home.bytes()), (Action::Removed, None, None));
    assert_eq!(home.names(), ["state"]);
    assert!(matches!(home.remove("n"), Err(InstallError::NoEntry { .. })));
}

#[test]
fn the_order_does_not_matter() {
    for text in [
        None,
        Some(""),
        Some("{}"),
        Some("{ \"mcpServers\": { } }"),
        Some("{\n  \"mcpServers\": {\n    \"z\": 1\n  }\n}"),
    ] {
        for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"], ["b", "c", "a"]] {
            let home = Home::new();
            if let Some(text) = text {
                home.write(text);
            }
            for name in ["a", "b", "c"] {
                home.install(name, &entry(name, &[])).expect(name);
            }
            for name in order {
                home.remove(name).expect(name);
            }
            assert_eq!(home.bytes(), text.map(|text| text.as_bytes().to_vec()), "{order:?}");
        }
    }
}

#[test]
fn what_others_have_changed_meanwhile_stays() {
    let home = Home::new();
    home.install("n", &entry("f.py", &[])).expect("installed");
    let text = home.text();
    home.write(text.replacen("{\n", "{\n  \"theirs\": 0.10, // note\n", 1));
    home.remove("n").expect("removed");
    assert_eq!(home.text(), "{\n  \"theirs\": 0.10 // note\n}\n");

    let home = Home::with("{}");
    home.install("n", &entry("f.py", &[])).expect("installed");
    home.write(home.text().replace("    \"n\"", "    \"theirs\": {},\n    \"n\""));
    home.remove("n").expect("removed");
    assert_eq!(home.text(), "{\n  \"mcpServers\": {\n    \"theirs\": {}\n  }\n}");
}

#[test]
fn a_client_may_write_the_file_anew() {
    let before = "{\n    \"mcpServers\": {\n        \"z\": {\"command\": \"z\"}\n    }\n}";
    let home = Home::with(before);
    home.install("n", &entry("f.py", &[])).expect("installed");
    let mut value: serde_json::Value = serde_json::from_str(&home.text()).expect("JSON");
    value["startups"] = 7.into();
    home.write(value.to_string());
    home.remove("n").expect("removed");
    assert_eq!(home.text(), r#"{"mcpServers":{"z":{"command":"z"}},"startups":7}"#);
}

#[test]
fn an_entry_that_was_replaced_comes_back_after_updates_too() {
    let before = "{\"mcpServers\": {\"n\": {\"command\": \"npx\", \"env\": {\"KEY\": \"1\"}}, \"o\": 2}}";
    let home = Home::with(before);
    assert_eq!(home.install("n", &entry("f.py", &[])).expect("installed").action(), Action::Replaced);
    assert_eq!(home.install("n", &entry("f.py", &[("A", "1")])).expect("installed").action(), Action::Updated);
    assert_eq!(home.install("n", &entry("g.py", &[])).expect("installed").action(), Action::Replaced);
    home.write(home.text().replace("\"o\": 2", "\"o\": 3"));
    assert_eq!(home.remove("n").expect("removed").action(), Action::Restored);
    assert_eq!(home.text(), before.replace("\"o\": 2", "\"o\": 3"));
}

#[test]
fn comments_come_back_with_the_entry_that_had_them() {
    let before = r#"{"mcpServers": {"n": {"url": "https://example.com" /* old */, "command": "npx"}}}"#;
    let home = Home::with(before);
    home.install("n", &entry("f.py", &[])).expect("installed");
    assert!(!home.text().contains("old"), "the comment went with its key: {}", home.text());
    home.remove("n").expect("removed");
    assert_eq!(home.text(), before);
}

#[test]
fn entries_of_others_stay() {
    let before = "{\"mcpServers\": {\"n\": {\"command\": \"npx\", \"env\": {\"K\": \"hunter2\"}}, \"m\": 1}}";
    let home = Home::with(before);
    for name in ["n", "m"] {
        let error = home.remove(name).expect_err("another's");
        assert!(matches!(error, InstallError::NotOurs { .. }), "{error}");
        assert!(error.to_string().contains("not one of Brumate's") && !format!("{error:?}").contains("hunter2"));
    }
    let error = home.remove("o").expect_err("no such server");
    assert!(error.to_string().ends_with("config.json has no server `o`"), "{error}");
    // Somebody puts another program under the name that Brumate has used.
    home.install("o", &entry("f.py", &[])).expect("installed");
    home.write(home.text().replace("/usr/bin/brumate", "npx"));
    assert!(matches!(home.remove("o"), Err(InstallError::NotOurs { .. })));
}

#[test]
fn a_server_is_found_by_what_it_starts() {
    let home = Home::with("{}");
    let file = home.file().of_server("/f.py");
    assert!(matches!(file.remove_server(Mode::Write), Err(InstallError::NoServer { .. })));
    home.file().of_server("/g.py").install("g", &entry("/g.py", &[]), Mode::Write).expect("installed");
    file.install("f", &entry("/f.py", &[]), Mode::Write).expect("installed");
    file.install("f2", &entry("/f.py", &[]), Mode::Write).expect("installed");
    let error = file.remove_server(Mode::Write).expect_err("two of them").to_string();
    assert!(error.contains("f, f2. Name one with --name"), "{error}");
    file.remove("f2", Mode::Write).expect("removed");
    let (name, change) = file.remove_server(Mode::Write).expect("one of them");
    assert_eq!((name.as_str(), change.action()), ("f", Action::Removed));
    home.remove("g").expect("removed");
    assert_eq!(home.text(), "{}");
    // A command is its own name.
    let uvx = Entry { command: "uvx".to_owned(), args: vec!["brumate".to_owned()], env: vec![] };
    home.install("n", &uvx).expect("installed");
    home.file().of_server(uvx.command_line()).remove_server(Mode::Write).expect("found");
    assert_eq!(home.text(), "{}");
}

#[test]
fn what_is_remembered_ends_with_the_last_entry() {
    let home = Home::with("{}");
    home.install("n", &entry("f.py", &[])).expect("installed");
    // Somebody empties the object, and so makes it their own.
    let theirs = "{ \"mcpServers\": { } }";
    home.write(theirs);
    home.install("m", &entry("f.py", &[])).expect("installed");
    home.remove("m").expect("removed");
    assert_eq!(home.text(), theirs);
}

#[test]
fn a_brumate_that_nobody_remembers_is_taken_out() {
    let home = Home::with("{\"mcpServers\": {\"n\": {\"command\": \"/opt/brumate\"}, \"m\": 1}}");
    assert_eq!(home.remove("n").expect("removed").action(), Action::Removed);
    assert_eq!(home.text(), "{\"mcpServers\": { \"m\": 1}}");
}

#[test]
fn a_program_under_another_name_is_remembered() {
    let home = Home::with("{}");
    let uvx = Entry { command: "uvx".to_owned(), args: vec!["brumate".to_owned()], env: vec![] };
    home.install("n", &uvx).expect("installed");
    home.remove("n").expect("removed");
    assert_eq!(home.text(), "{}");
}

#[test]
fn the_backup_has_the_first_bytes_and_goes_when_they_are_back() {
    let home = Home::with("{\"a\": 1}");
    let change = home.install("n", &entry("f.py", &[])).expect("installed");
    let backup = home.path("config.json.brumate.bak");
    assert_eq!(change.backup(), Some(backup.as_path()));
    let change = home.install("m", &entry("f.py", &[])).expect("installed");
    assert_eq!(change.backup(), None, "it is made once");
    assert_eq!(std::fs::read_to_string(&backup).expect("there"), "{\"a\": 1}");
    home.write(home.text().replace("\"a\": 1", "\"a\": 2"));
    home.remove("n").expect("removed");
    home.remove("m").expect("removed");
    assert_eq!(home.text(), "{\"a\": 2}");
    assert_eq!(std::fs::read_to_string(&backup).expect("there"), "{\"a\": 1}", "it differs from the file, and stays");
}

#[test]
fn a_backup_of_somebody_elses_stays() {
    let home = Home::with("{}");
    std::fs::write(home.path("config.json.brumate.bak"), "mine").expect("written");
    assert_eq!(home.install("n", &entry("f.py", &[])).expect("installed").backup(), None);
    home.remove("n").expect("removed");
    assert_eq!(std::fs::read_to_string(home.path("config.json.brumate.bak")).expect("there"), "mine");
}
