//! Random files: installing and removing restores the bytes.

use brumate_mcp_clients::{Action, Mode};
use brumate_test_support::{Random, count, seed};

use crate::home::{Home, entry};

/// A writer of random JSON, with or without comments and trailing commas.
struct Writer {
    random: Random,
    line_end: &'static str,
    indent: &'static str,
    /// Whether there are comments, trailing commas and such.
    comments: bool,
    /// Whether objects are on several lines.
    lines: bool,
    /// Percent of gaps with something unusual.
    odd: u64,
}

const SCALARS: [&str; 14] = [
    "1",
    "-0.0E-0",
    "123456789012345678901234567890",
    "1e400",
    "true",
    "null",
    "\"\"",
    "\"\\u00e9\\/\\ud83d\\ude00\"",
    "\"half \\ud83d\"",
    "\"{ // no comment , }\"",
    "\"ü\\\\\"",
    "\"\\\"\"",
    "[]",
    "{ }",
];

impl Writer {
    fn new(mut random: Random) -> Writer {
        Writer {
            line_end: ["\n", "\r\n"][random.index(2)],
            indent: ["  ", "\t", "    ", ""][random.index(4)],
            comments: random.chance(50),
            lines: random.chance(70),
            odd: *random.pick(&[0, 10, 40]),
            random,
        }
    }

    /// Returns what stands between two tokens: `usual`, or something unusual.
    fn gap(&mut self, usual: &str) -> String {
        if !self.random.chance(self.odd) {
            return usual.to_owned();
        }
        let mut gap = String::new();
        for _ in 0..self.random.below(4) {
            let kinds = if self.comments { 7 } else { 4 };
            match self.random.below(kinds) {
                0 => gap.push(' '),
                1 => gap.push('\t'),
                2 => gap.push_str(self.line_end),
                3 => gap.push_str(usual),
                4 => gap.push_str("/* c */"),
                5 => gap.push_str("/*\n*/"),
                _ => gap.push_str(&format!("// c, \"{}", self.line_end)),
            }
        }
        gap
    }

    fn object(&mut self, members: Vec<(String, String)>, level: usize) -> String {
        let lines = if self.random.chance(self.odd) { !self.lines } else { self.lines };
        let start = |level: usize, writer: &Writer| format!("{}{}", writer.line_end, writer.indent.repeat(level));
        let (before, after) = if lines { (start(level + 1, self), start(level, self)) } else { Default::default() };
        let mut text = String::from("{");
        let last = members.len().saturating_sub(1);
        let empty = members.is_empty();
        for (index, (key, value)) in members.into_iter().enumerate() {
            text.push_str(&self.gap(&before));
            text.push_str(&format!("\"{key}\""));
            text.push_str(&self.gap(""));
            text.push(':');
            text.push_str(&self.gap(" "));
            text.push_str(&value);
            text.push_str(&self.gap(""));
            if index < last || self.comments && self.random.chance(30) {
                text.push(',');
            }
        }
        text.push_str(&self.gap(if empty { "" } else { &after }));
        text.push('}');
        text
    }

    fn value(&mut self, level: usize) -> String {
        if level < 4 && self.random.chance(30) {
            let members = self.members(level);
            return self.object(members, level);
        }
        (*self.random.pick(&SCALARS)).to_owned()
    }

    fn members(&mut self, level: usize) -> Vec<(String, String)> {
        (0..self.random.below(4)).map(|index| (format!("k{index}\\u00e9"), self.value(level + 1))).collect()
    }

    /// Returns an entry for a server.
    fn entry(&mut self) -> String {
        let mut members = self.members(2);
        for (key, value) in [
            ("type", "\"http\""),
            ("url", "\"https://x\""),
            ("command", "\"npx\""),
            ("args", "[\"a\" , 1]"),
            ("headers", "{}"),
        ] {
            if self.random.chance(40) {
                let at = self.random.index(members.len() + 1);
                members.insert(at, (key.to_owned(), value.to_owned()));
            }
        }
        if self.random.chance(40) {
            let variables = (0..self.random.below(3))
                .map(|index| (["A", "B", "C"][index as usize].to_owned(), "\"MARK\"".to_owned()));
            let variables: Vec<(String, String)> = variables.collect();
            let at = self.random.index(members.len() + 1);
            members.insert(at, ("env".to_owned(), self.object(variables, 3)));
        }
        self.object(members, 2)
    }

    /// Returns a file.
    fn file(&mut self) -> String {
        let mut members = self.members(0);
        if self.random.chance(70) {
            let mut servers = self.members(1);
            if self.random.chance(30) {
                let (at, value) = (
                    self.random.index(servers.len() + 1),
                    if self.random.chance(80) { self.entry() } else { "null".to_owned() },
                );
                servers.insert(at, ("n".to_owned(), value));
            }
            let servers = self.object(servers, 1);
            let at = self.random.index(members.len() + 1);
            members.insert(at, ("mcpServers".to_owned(), servers));
        }
        if self.random.chance(60) {
            let at = self.random.index(members.len() + 1);
            members.insert(at, ("marked".to_owned(), "\"MARK\"".to_owned()));
        }
        let mark = if self.random.chance(10) { "\u{feff}" } else { "" };
        let before = self.gap("");
        if self.random.chance(5) {
            return format!("{mark}{before}");
        }
        let root = self.object(members, 0);
        let end = if self.random.chance(70) { self.line_end } else { "" };
        format!("{mark}{before}{root}{}", self.gap(end))
    }
}

/// Returns the value of a text in the strict sense, if serde_json can hold it.
fn value(text: &str) -> Option<serde_json::Value> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}

#[test]
fn installing_and_removing_restores_the_bytes() {
    let seed = seed();
    let (mut strict, mut replaced) = (0, 0);
    for case in 0..count(1_200, 20_000) {
        let mut writer = Writer::new(Random::part(seed, case));
        let text = writer.file();
        let home = Home::in_memory(&text);
        let fail = |what: &str| -> ! { panic!("case {case}: {what}:\n{text}") };
        let mut names = vec!["n", "m"];
        for name in &names {
            let change = home
                .install(name, &entry("f.py", &[("A", "1"), ("X", "2")]))
                .unwrap_or_else(|error| fail(&error.to_string()));
            replaced += u64::from(change.action() == Action::Replaced);
            let once = home.text();
            let again = home.install(name, &entry("f.py", &[("A", "1"), ("X", "2")])).expect("installed");
            assert_eq!((again.action(), home.text()), (Action::Unchanged, once), "case {case}:\n{text}");
        }
        if let Some(mut before) = value(&text) {
            strict += 1;
            let mut after = value(&home.text()).unwrap_or_else(|| fail("no strict JSON any more"));
            for name in &names {
                let found = after["mcpServers"].as_object_mut().and_then(|servers| servers.remove(*name));
                let found = found.unwrap_or_else(|| fail("the entry is missing"));
                assert_eq!(found["env"]["A"], "1", "case {case}:\n{text}");
                assert_eq!(found["args"], serde_json::json!(["run", "f.py"]), "case {case}:\n{text}");
                if let Some(servers) = before.get_mut("mcpServers") {
                    servers.as_object_mut().and_then(|servers| servers.remove(*name));
                }
            }
            if before.get("mcpServers").is_none() {
                after.as_object_mut().and_then(|root| root.remove("mcpServers"));
            }
            assert_eq!(before, after, "case {case}:\n{text}");
        }
        // Others change a value meanwhile.
        let mut expected = text.clone();
        if writer.random.chance(50) {
            expected = text.replace("\"marked\": \"MARK\"", "\"marked\": \"CHANGED\"");
            home.write(home.text().replace("\"marked\": \"MARK\"", "\"marked\": \"CHANGED\""));
        }
        if writer.random.chance(50) {
            names.reverse();
        }
        for name in names {
            home.remove(name).unwrap_or_else(|error| fail(&error.to_string()));
        }
        assert_eq!(home.text(), expected, "case {case}");
    }
    assert!(strict > 300 && replaced > 100, "the files are varied: {strict}, {replaced}");
}

#[test]
fn damaged_files_are_never_written() {
    let seed = seed();
    let mut refused = 0;
    for case in 0..count(1_200, 20_000) {
        let mut writer = Writer::new(Random::part(seed, case));
        let text = writer.file();
        let mut bytes = text.into_bytes();
        for _ in 0..1 + writer.random.below(3) {
            let at = writer.random.index(bytes.len() + 1);
            match writer.random.below(3) {
                0 => bytes.truncate(at),
                1 if at < bytes.len() => drop(bytes.remove(at)),
                _ => bytes.insert(at, *writer.random.pick(b"{}[]\",:/*\\\x00\xff \n1n")),
            }
        }
        let home = Home::in_memory(&bytes);
        match home.file().install("n", &entry("f.py", &[]), Mode::Write) {
            Ok(_) => {
                home.remove("n").expect("installed");
            }
            Err(_) => refused += 1,
        }
        assert_eq!(home.bytes().as_deref(), Some(bytes.as_slice()), "case {case}");
    }
    assert!(refused > 300, "{refused}");
}
