//! Files that are not edited.

use brumate_mcp_clients::InstallError;

use crate::home::{Home, entry};

/// Tries to install and to remove, and returns the message of both. The file must be as it was.
fn refused(text: impl AsRef<[u8]>) -> String {
    let home = Home::with(&text);
    let error = home.install("n", &entry("f.py", &[("TOKEN", "hunter2")])).expect_err("refused");
    assert_eq!(home.bytes().as_deref(), Some(text.as_ref()));
    assert_eq!(home.names(), ["config.json", "state"], "no backup, no temporary file");
    let removed = home.remove("n").expect_err("refused");
    assert_eq!(home.bytes().as_deref(), Some(text.as_ref()));
    let (message, debug) = (error.to_string(), format!("{error:?}"));
    assert_eq!(removed.to_string(), message);
    assert!(!message.contains("hunter2") && !debug.contains("hunter2"), "{debug}");
    let directory = home.path("");
    message.replace(directory.to_str().expect("text"), "")
}

#[test]
fn what_is_no_json_is_named_with_its_place() {
    let cases = [
        (
            "{\n  \"a\": 1\n  \"b\": 2\n}",
            "config.json: line 2, column 9: expected comma. Correct the file, then try again",
        ),
        ("{\n  \"ä\": x\n}", "config.json: line 2, column 8: unexpected word. Correct the file, then try again"),
        ("{", "config.json: line 1, column 1: unterminated object. Correct the file, then try again"),
        (
            "\u{feff}{} x",
            "config.json: line 1, column 4: text cannot contain more than one JSON value. Correct the file, then try again",
        ),
        (
            "{'a': 1}",
            "config.json: line 1, column 2: single-quoted strings are not allowed. Correct the file, then try again",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(refused(text), message, "{text}");
    }
    assert_eq!(
        refused(b"{\n\"\xff\"}"),
        "config.json: line 2, column 2: not UTF-8. Save the file as UTF-8, then try again"
    );
    assert_eq!(refused("{\0}".replace('{', "\u{feff}{")).split(". ").count(), 2);
}

#[test]
fn other_values_than_objects_are_named() {
    let root = "config.json: line 1, column 1: the file's value is not an object. Put `{}` there, then try again";
    for text in ["[]", "null", "1", "\"{}\""] {
        assert_eq!(refused(text), root, "{text}");
    }
    let key = "config.json: line 2, column 15: `mcpServers` is not an object. Put `{}` there, then try again";
    for value in ["null", "[]", "\"\"", "1"] {
        assert_eq!(refused(format!("{{\n\"mcpServers\": {value}}}")), key, "{value}");
    }
}

#[test]
fn keys_that_are_there_twice_are_named() {
    let twice = |first: usize, line, column, key| {
        format!(
            "config.json: line {line}, column {column}: `{key}` is there a second time, after line {first}. \
             Remove one of the two, then try again"
        )
    };
    assert_eq!(refused("{\"mcpServers\": {},\n \"mcpServers\": {}}"), twice(1, 2, 2, "mcpServers"));
    assert_eq!(refused("{\"mcpServers\": {\n\"n\": {},\n\"\\u006e\": {}}}"), twice(2, 3, 1, "n"));
    let home = Home::with("{\"mcpServers\": {\"n\": {\"args\": [], \"args\": []}}}");
    let error = home.install("n", &entry("f.py", &[])).expect_err("ambiguous");
    assert!(error.to_string().contains("`args` is there a second time"), "{error}");
}

#[test]
fn a_file_has_a_largest_size_and_depth() {
    let home = Home::with(format!("{{\"a\": \"{}\"}}", "x".repeat(32 << 20)));
    let error = home.install("n", &entry("f.py", &[])).expect_err("too large");
    assert!(error.to_string().ends_with("config.json is larger than 32 MiB, and is not edited"), "{error}");
    let message = refused(format!("{{\"a\": {}{}}}", "[".repeat(5000), "]".repeat(5000)));
    assert!(message.contains("nesting depth"), "{message}");
}

#[test]
fn names_are_texts_that_people_see() {
    let home = Home::new();
    for name in ["", " ", "a\u{202e}b", "a\nb", "__proto__"] {
        let error = home.install(name, &entry("f.py", &[])).expect_err("no name");
        assert!(matches!(error, InstallError::Name { .. }), "{error}");
        assert!(error.to_string().contains("--name") && !error.to_string().contains('\u{202e}'), "{error}");
    }
    assert_eq!(home.names(), Vec::<String>::new());
}
