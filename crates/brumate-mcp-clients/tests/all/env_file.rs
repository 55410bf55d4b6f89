//! Files of variables.

use brumate_mcp_clients::{MAX_ENV_FILE_BYTES, parse_env_file};
use brumate_test_support::{Random, count, seed};

fn read(text: &str) -> Vec<(String, String)> {
    parse_env_file(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

#[test]
fn lines_have_the_values_of_the_table() {
    let cases = [
        ("A=1", "1"),
        ("A=", ""),
        ("A= ", ""),
        ("A", "!line 1: there is no `=` after the name: write NAME=VALUE"),
        ("  export\tA = a b  # note", "a b"),
        ("A=a#b", "a#b"),
        ("A=#fff", "#fff"),
        ("A= # note", ""),
        ("A=\"\"", ""),
        ("A='' # note", ""),
        ("A='a\\n$B \"q\"'", "a\\n$B \"q\""),
        (r#"A="a\n\t\r\\\"\$B\q ${C} 'q'""#, "a\n\t\r\\\"$B\\q ${C} 'q'"),
        ("A=${B}-$C", "${B}-$C"),
        ("A=\"one\ntwo\"", "one\ntwo"),
        ("A=\"one\r\ntwo\"\r\n", "one\ntwo"),
        ("A='one\ntwo' # note", "one\ntwo"),
        ("A=it's", "it's"),
        ("A=a\"b\"", "a\"b\""),
        ("\u{feff}A=ü", "ü"),
        ("A=1\nA=2", "2"),
        ("A=x=y", "x=y"),
        ("A=\"x", "!line 1: the quote is not closed"),
        ("\n\nA='x\n\n", "!line 3: the quote is not closed"),
        ("A='x' y", "!line 1: something follows the closing quote: escape quotes in a value as `\\\"`"),
        ("A=1\n1A=2", "!line 2: this is no name: write NAME=VALUE, and put a value of several lines in quotes"),
        ("B=\"1\n2\"\n=3", "!line 3: this is no name: write NAME=VALUE, and put a value of several lines in quotes"),
        ("A=\0", "!line 1: a value cannot have a NUL"),
    ];
    for (text, expected) in cases {
        match parse_env_file(text) {
            Ok(variables) => assert_eq!(variables, [("A".to_owned(), expected.to_owned())], "{text:?}"),
            Err(error) => assert_eq!(format!("!{error}"), expected, "{text:?}"),
        }
    }
}

#[test]
fn order_comments_and_line_ends_are_read() {
    let text = "# first\r\n\r\nB=1\r\n \t\r\nexport A.b-c=2 # x\r\nexport=3\rC=4\n#last";
    let names: Vec<(String, String)> = read(text);
    let names: Vec<(&str, &str)> = names.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(names, [("B", "1"), ("A.b-c", "2"), ("export", "3"), ("C", "4")]);
    for text in ["", "\u{feff}", "#", "\n\r\n\r", " "] {
        assert_eq!(read(text), [], "{text:?}");
    }
}

#[test]
fn errors_show_no_value() {
    for text in ["A=\"hunter2", "A='hunter2' hunter2", "A=hunter2\nhunter2", "A=hunter2\0", "hunter2 = "] {
        if let Err(error) = parse_env_file(text) {
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }
}

#[test]
fn a_file_has_a_largest_size() {
    let line = "A=1\n";
    let text = line.repeat(MAX_ENV_FILE_BYTES / line.len());
    assert_eq!(read(&text).len(), 1);
    assert!(parse_env_file(&(text + "\n")).expect_err("too large").to_string().contains("larger than 1 MiB"));
}

#[test]
fn any_text_is_read_or_refused() {
    let pieces =
        ["A", "=", "\"", "'", "\\", "\n", "\r", "#", " ", "export ", "ü", "\0", "$", "{", "\t", "1", "\u{feff}", "\\n"];
    for case in 0..count(20_000, 200_000) {
        let mut random = Random::part(seed_once(), case);
        let text: String = (0..random.below(24)).map(|_| *random.pick(&pieces)).collect();
        match parse_env_file(&text) {
            Ok(variables) => assert!(variables.len() <= text.matches('=').count(), "{text:?}"),
            Err(error) => {
                assert!((1..=1 + text.matches(['\n', '\r']).count()).contains(&error.line), "{text:?}: {error}")
            }
        }
    }
}

#[test]
fn a_value_that_was_quoted_is_read_back() {
    let pieces = ["a", "\"", "\\", "\n", "$", "#", " ", "ü", "\t", "'", "${A}"];
    for case in 0..count(5_000, 50_000) {
        let mut random = Random::part(seed_once(), case);
        let value: String = (0..random.below(12)).map(|_| *random.pick(&pieces)).collect();
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$");
        let text = format!("export A=\"{escaped}\" # end\nB=2\n");
        assert_eq!(read(&text), [("A".to_owned(), value), ("B".to_owned(), "2".to_owned())], "{text:?}");
    }
}

/// Returns the seed, and prints it once.
fn seed_once() -> u64 {
    static SEED: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *SEED.get_or_init(seed)
}
