//! Entries put into files of all kinds.

use brumate_mcp_clients::{Action, Client, Entry, InstallError, Mode};

use crate::home::{Home, entry};

/// Installs `n` with one argument and returns the file.
fn installed(text: &str) -> String {
    let home = Home::with(text);
    home.install("n", &entry("f.py", &[])).expect(text);
    home.text()
}

#[test]
fn each_client_gets_its_own_form() {
    let typed = "{\n  \"KEY\": {\n    \"n\": {\n      \"type\": \"stdio\",\n      \"command\": \"/usr/bin/brumate\",\n      \"args\": [\n        \
                 \"run\",\n        \"f.py\"\n      ],\n      \"env\": {\n        \"A\": \"\\\"1\\\"\"\n      }\n    }\n  }\n}\n";
    let plain = typed.replace("      \"type\": \"stdio\",\n", "");
    for client in Client::ALL {
        let home = Home::of(client);
        let change = home.install("n", &entry("f.py", &[("A", "\"1\"")])).expect("installed");
        assert_eq!((change.action(), change.text()), (Action::Added, Some(home.text().as_str())));
        let (form, key) = match client {
            Client::ClaudeDesktop | Client::Cursor => (plain.as_str(), "mcpServers"),
            Client::ClaudeCode => (typed, "mcpServers"),
            Client::VsCode => (typed, "servers"),
        };
        assert_eq!(home.text(), form.replace("KEY", key), "{client}");
    }
}

#[test]
fn files_without_a_value_get_one() {
    let fresh = installed("");
    assert!(fresh.starts_with("{\n  \"mcpServers\": {\n    \"n\": {\n"), "{fresh}");
    for text in [" \n\t\n", "\r\n"] {
        assert_eq!(installed(text).replace("\r\n", "\n"), fresh, "{text:?}");
    }
    assert_eq!(installed("\u{feff}"), format!("\u{feff}{fresh}"));
    assert_eq!(installed("// mine"), format!("// mine\n{fresh}"));
    assert_eq!(installed("/* mine */\n"), format!("/* mine */\n{fresh}"));
    assert_eq!(installed("{}\n"), fresh);
    assert_eq!(installed("\u{feff}{ }\n"), format!("\u{feff}{fresh}"));
}

#[test]
fn the_layout_of_the_file_is_kept() {
    let cases = [
        (r#"{"a":1}"#, r#"{"a":1,"mcpServers":{"n":{"command":"/usr/bin/brumate","args":["run","f.py"]}}}"#),
        (
            r#"{ "mcpServers": {} }"#,
            r#"{ "mcpServers": {"n": {"command": "/usr/bin/brumate", "args": ["run", "f.py"]}} }"#,
        ),
        (
            "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {}\r\n\t}\r\n}",
            "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {},\r\n\t\t\"n\": {\r\n\t\t\t\"command\": \"/usr/bin/brumate\",\r\n\t\t\t\"args\": \
             [\r\n\t\t\t\t\"run\",\r\n\t\t\t\t\"f.py\"\r\n\t\t\t]\r\n\t\t}\r\n\t}\r\n}",
        ),
        (
            "{\n    \"mcpServers\": {}, // none yet\n}\n",
            "{\n    \"mcpServers\": {\n        \"n\": {\n            \"command\": \"/usr/bin/brumate\",\n            \"args\": [\n                \
             \"run\",\n                \"f.py\"\n            ]\n        }\n    }, // none yet\n}\n",
        ),
        (
            "{\n  \"mcpServers\": {\n    \"a\": {}, // first\n    // \"b\": {}\n  },\n}\n",
            "{\n  \"mcpServers\": {\n    \"a\": {}, // first\n    \"n\": {\n      \"command\": \"/usr/bin/brumate\",\n      \"args\": [\n        \
             \"run\",\n        \"f.py\"\n      ]\n    },\n    // \"b\": {}\n  },\n}\n",
        ),
    ];
    for (before, after) in cases {
        assert_eq!(installed(before), after, "{before}");
    }
}

#[test]
fn everything_else_keeps_its_bytes() {
    let odd = r#"{
  "big": 123456789012345678901234567890.10e+400, "zero": -0.0E-0,
      "esc\u0061pes": "\/\u00e9\ud83d\ude00\ud83d \u0000", "twice": 1, "twice": 2,
  "deep": [[[{"a" : [ 1,2 ,3]}]]],
  "mcpServers" : { "other":{"command":"x" , "timeout":1e2} },
  "tail": "ü"   }   
"#;
    let text = installed(odd);
    let start = odd.find("} },\n").expect("there") + 1;
    assert_eq!(text[..start], odd[..start]);
    assert!(text.ends_with(&odd[start..]), "{text}");
    assert!(text.contains(r#""other":{"command":"x" , "timeout":1e2}, "n": {"command": "#), "{text}");
}

#[test]
fn an_entry_of_the_same_server_keeps_its_other_keys_and_variables() {
    let before = r#"{
  "mcpServers": {
    "n": {
      "disabled": true, // for now
      "command": "/usr/bin/brumate",
      "env": {
        "KEPT": "1",
        "SET": "old" // to be set
      },
      "url": "https://example.com",
      "args": ["run", "f.py"]
    }
  }
}"#;
    let home = Home::with(before);
    let change = home.install("n", &entry("f.py", &[("SET", "new"), ("ADDED", "3")])).expect("installed");
    assert_eq!(change.action(), Action::Updated);
    let expected = before
        .replace("\"old\" //", "\"new\", //")
        .replace("set\n", "set\n        \"ADDED\": \"3\"\n")
        .replace("\n      \"url\": \"https://example.com\",", "");
    assert_eq!(home.text(), expected);
    home.remove("n").expect("removed");
    assert_eq!(home.text(), before);
}

#[test]
fn variables_that_stay_are_named_in_the_arguments_as_well() {
    let home = Home::new();
    let install = |variables: &[&str], rest: &[&str]| {
        let names = variables.iter().flat_map(|name| ["--env-var", name]);
        let args = ["run"].into_iter().chain(names).chain(rest.iter().copied()).map(str::to_owned).collect();
        let env = variables.iter().map(|name| ((*name).to_owned(), "1".to_owned())).collect();
        let new = Entry { command: "/usr/bin/brumate".to_owned(), args, env };
        let file = home.file().of_server("f.py").naming_variables("--env-var");
        let change = file.install("My Analytics Server", &new, Mode::Write).expect("installed");
        let entry =
            serde_json::from_str::<serde_json::Value>(&home.text()).expect("JSON")["mcpServers"]["My Analytics Server"]
                .take();
        let names: Vec<String> = entry["env"].as_object().map(|env| env.keys().cloned().collect()).unwrap_or_default();
        (change.action(), entry["args"].clone(), names)
    };
    let args = |words: &[&str]| serde_json::json!(words);
    install(&["A"], &["f.py"]);
    let both = args(&["run", "--env-var", "A", "--env-var", "B", "f.py"]);
    assert_eq!(install(&["B"], &["f.py"]), (Action::Updated, both, vec!["A".to_owned(), "B".to_owned()]));
    assert_eq!(install(&["B"], &["f.py"]).0, Action::Unchanged);
    let none = args(&["run", "--env-var", "A", "--env-var", "B", "--offline", "f.py"]);
    assert_eq!(install(&[], &["--offline", "f.py"]).1, none);
    // A variable that the user has added by hand is for the program, and not for the server in the sandbox.
    home.write(home.text().replace("\"A\": \"1\"", "\"RUST_LOG\": \"debug\""));
    assert_eq!(install(&[], &["f.py"]).1, args(&["run", "--env-var", "B", "f.py"]));
}

/// A server chooses its own name. An entry that somebody trusts must not become this server's.
#[test]
fn a_name_that_is_taken_is_nobody_elses() {
    let before = r#"{"mcpServers": {"github": {"command": "npx", "args": ["-y", "server-github"],
        "env": {"GITHUB_TOKEN": "hunter2"}, "autoApprove": ["*"], "alwaysAllow": ["*"], "disabled": false}}}"#;
    let home = Home::with(before);
    let file = home.file().of_server("/evil.py");
    let evil = entry("/evil.py", &[]);
    for mode in [Mode::DryRun, Mode::Write] {
        let error = file.install_beside("github", &evil, mode).expect_err("another's").to_string();
        assert!(error.contains("a server `github` already") && error.contains("--name"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    // Nor is one that Brumate has put there for another file, or that somebody has written for this one.
    home.file().of_server("/good.py").install("good", &entry("/good.py", &[]), Mode::Write).expect("installed");
    file.install_beside("good", &evil, Mode::Write).expect_err("of another file");
    home.write(home.text().replace(
        "\"github\"",
        "\"h\": {\"command\": \"/usr/bin/brumate\", \"args\": [\"run\", \"/evil.py\"]}, \"github\"",
    ));
    file.install_beside("h", &evil, Mode::Write).expect_err("written by somebody");
    // Its own entry it may change, as long as that one starts it.
    assert_eq!(file.install_beside("mine", &evil, Mode::Write).expect("free").action(), Action::Added);
    let more = entry("/evil.py", &[("A", "1")]);
    assert_eq!(file.install_beside("mine", &more, Mode::Write).expect("its own").action(), Action::Updated);
    home.write(
        home.text()
            .replace("\"run\",\"/evil.py\"],\"env\"", "\"run\",\"/other.py\"],\"env\"")
            .replace("\"run\", \"/evil.py\"], \"env\"", "\"run\", \"/other.py\"], \"env\""),
    );
    assert!(home.text().contains("/other.py"), "{}", home.text());
    file.install_beside("mine", &evil, Mode::Write).expect_err("it starts another file now");
    assert!(matches!(file.remove_server(Mode::Write), Err(InstallError::NotOurs { .. })));
}

#[test]
fn what_was_approved_for_another_server_goes_with_it() {
    let old = r#"{"command": "npx", "args": ["x"], "env": {"TOKEN": "hunter2"}, "autoApprove": ["*"], "alwaysAllow": ["*"], "timeout": 9}"#;
    let before = format!("{{\"mcpServers\": {{\"github\": {old}}}}}");
    let home = Home::with(&before);
    let change = home.install("github", &entry("f.py", &[("A", "1")])).expect("it was named");
    assert_eq!(change.action(), Action::Replaced);
    let value: serde_json::Value = serde_json::from_str(&home.text()).expect("JSON");
    let expected = serde_json::json!({"command": "/usr/bin/brumate", "args": ["run", "f.py"], "env": {"A": "1"}});
    assert_eq!(value["mcpServers"]["github"], expected);
    // Approvals of this server go when the entry becomes another server's.
    home.write(home.text().replace("\"env\"", "\"autoApprove\": [\"*\"], \"env\""));
    assert_eq!(home.install("github", &entry("g.py", &[])).expect("it was named").action(), Action::Replaced);
    assert!(!home.text().contains("autoApprove") && !home.text().contains("\"A\""), "{}", home.text());
    assert_eq!(home.remove("github").expect("removed").action(), Action::Restored);
    assert_eq!(home.text(), before);
}

#[test]
fn an_entry_shows_what_it_starts() {
    let home = Home::with("{}");
    home.install("n", &entry("/tmp/\u{202e}yp.liave\u{200b}\u{9b}2J", &[])).expect("installed");
    let text = home.text();
    assert!(text.contains("\\u202eyp.liave\\u200b\\u009b2J"), "{text}");
    let change = home.file().install("m", &entry("a\u{202e}", &[]), Mode::DryRun).expect("possible");
    assert!(!change.diff().contains('\u{202e}'), "{}", change.diff());
    for name in ["__proto__", "a\u{202e}b", "a\u{1b}[2J"] {
        assert!(matches!(home.install(name, &entry("f.py", &[])), Err(InstallError::Name { .. })), "{name:?}");
    }
}

#[test]
fn entries_of_other_forms_are_replaced() {
    for old in
        ["null", "[1]", "\"x\"", "{}", r#"{"type": "http", "url": "https://x"}"#, r#"{"env": null, "args": "x"}"#]
    {
        let before = format!("{{\"mcpServers\": {{\"n\": {old}}}}}");
        let home = Home::with(&before);
        home.install("n", &entry("f.py", &[("A", "1")])).expect(old);
        let value: serde_json::Value = serde_json::from_str(&home.text()).expect(old);
        let found = &value["mcpServers"]["n"];
        assert_eq!(found["command"], "/usr/bin/brumate", "{old}");
        assert_eq!(found["args"], serde_json::json!(["run", "f.py"]), "{old}");
        assert_eq!(found["env"], serde_json::json!({"A": "1"}), "{old}");
        assert!(found.get("url").is_none(), "{old}");
        assert!(found.get("type").is_none_or(|transport| transport == "stdio"), "{old}");
        assert_eq!(home.remove("n").expect(old).action(), Action::Restored);
        assert_eq!(home.text(), before);
    }
}

#[test]
fn twice_is_once() {
    let home = Home::with("{\n  \"a\": 1\n}\n");
    home.install("n", &entry("f.py", &[("A", "1")])).expect("installed");
    let once = home.text();
    let modified = std::fs::metadata(home.config()).expect("there").modified().expect("a time");
    let change = home.install("n", &entry("f.py", &[("A", "1")])).expect("installed");
    assert_eq!((change.action(), home.text()), (Action::Unchanged, once));
    assert_eq!(std::fs::metadata(home.config()).expect("there").modified().expect("a time"), modified, "not written");
    let change = home.install("n", &entry("f.py", &[("B", "2")])).expect("installed");
    assert_eq!(change.action(), Action::Updated);
    assert!(home.text().contains("\"B\"") && home.text().contains("\"A\""), "{}", home.text());
    let change = home.install("n", &entry("g.py", &[])).expect("installed");
    assert_eq!(change.action(), Action::Replaced);
    assert!(home.text().contains("g.py") && !home.text().contains("\"A\""), "{}", home.text());
    home.remove("n").expect("removed");
    assert_eq!(home.text(), "{\n  \"a\": 1\n}\n");
}

#[test]
fn a_dry_run_says_what_would_be_and_writes_nothing() {
    let before = "{\n  \"a\": 1\n}\n";
    let home = Home::with(before);
    let file = home.file();
    let change = file.install("n", &entry("f.py", &[("TOKEN", "hunter2")]), Mode::DryRun).expect("possible");
    assert_eq!((home.text().as_str(), home.names()), (before, vec!["config.json".to_owned()]));
    assert!(change.text().is_some_and(|text| text.contains("hunter2")), "the text is what would be written");
    let diff = change.diff();
    assert!(diff.starts_with("-  \"a\": 1\n+  \"a\": 1,\n+  \"mcpServers\": {\n"), "{diff}");
    assert!(diff.contains("+        \"TOKEN\": \"…\"\n"), "{diff}");
    assert!(!diff.contains("hunter2") && !format!("{change:?}").contains("hunter2"), "{diff}");
    home.install("n", &entry("f.py", &[("TOKEN", "hunter2")])).expect("installed");
    let (text, names) = (home.text(), home.names());
    let change = home.file().remove("n", Mode::DryRun).expect("possible");
    assert_eq!((change.action(), change.text()), (Action::Removed, Some(before)));
    assert!(!change.diff().contains("hunter2"), "{}", change.diff());
    assert_eq!((home.text(), home.names()), (text, names));
}

#[test]
fn the_diff_of_a_long_line_is_short() {
    let home = Home::with(format!("{{\"history\":[\"{}\"]}}", "x".repeat(10_000)));
    let change = home.file().install("n", &entry("f.py", &[]), Mode::DryRun).expect("possible");
    assert!(change.diff().len() < 400, "{}", change.diff());
    assert!(change.diff().contains("\"n\":{\"command\""), "{}", change.diff());
}

#[test]
fn comments_are_reported_for_clients_that_read_json_alone() {
    for (client, text, reported) in [
        (Client::ClaudeCode, "{} // c", true),
        (Client::ClaudeCode, "{}", false),
        (Client::ClaudeCode, "", false),
        (Client::Cursor, "{\"a\": 1,}", true),
        (Client::VsCode, "{} // c", false),
    ] {
        let home = Home::of(client);
        home.write(text);
        let change = home.install("n", &entry("f.py", &[])).expect("installed");
        assert_eq!(change.has_comments_for_a_strict_client(), reported, "{client} {text}");
    }
}
