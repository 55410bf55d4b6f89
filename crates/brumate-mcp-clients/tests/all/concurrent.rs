//! Several writers at once.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use brumate_mcp_clients::{Client, ConfigFile, Mode};

use crate::home::{Home, entry};

/// The variable that makes this program one of several that install.
const CHILD: &str = "BRUMATE_TEST_CLIENTS_CHILD";

/// Servers that each process or thread installs.
const EACH: usize = 5;

#[test]
fn processes_install_at_once_and_none_is_lost() {
    let home = Home::with("{\n  \"mcpServers\": {}\n}\n");
    let program = std::env::current_exe().expect("a path");
    let start = |number: usize| {
        Command::new(&program)
            .args(["--exact", "concurrent::one_process_of_several"])
            .env(CHILD, format!("{number} {}", home.path("").display()))
            .spawn()
            .expect("started")
    };
    let children: Vec<_> = (0..6).map(start).collect();
    for mut child in children {
        assert!(child.wait().expect("ended").success());
    }
    let value: serde_json::Value = serde_json::from_str(&home.text()).expect("JSON");
    assert_eq!(value["mcpServers"].as_object().map(serde_json::Map::len), Some(6 * EACH));
    for number in 0..6 {
        for server in 0..EACH {
            home.remove(&format!("p{number}-{server}")).expect("there");
        }
    }
    assert_eq!(home.text(), "{\n  \"mcpServers\": {}\n}\n");
}

/// Does nothing, except as a child of the test above.
#[test]
fn one_process_of_several() {
    let Ok(work) = std::env::var(CHILD) else { return };
    let (number, directory) = work.split_once(' ').expect("two parts");
    let directory = Path::new(directory);
    let file = ConfigFile::new(Client::ClaudeDesktop, directory.join("config.json"), directory.join("state"));
    for server in 0..EACH {
        file.install(&format!("p{number}-{server}"), &entry("f.py", &[]), Mode::Write).expect("installed");
    }
}

#[test]
fn threads_install_and_remove_at_once() {
    let home = Home::new();
    let file = home.file();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let file = &file;
            scope.spawn(move || {
                for round in 0..EACH {
                    file.install(&format!("t{thread}-{round}"), &entry("f.py", &[]), Mode::Write).expect("installed");
                    if round > 0 {
                        file.remove(&format!("t{thread}-{}", round - 1), Mode::Write).expect("removed");
                    }
                }
            });
        }
    });
    let value: serde_json::Value = serde_json::from_str(&home.text()).expect("JSON");
    assert_eq!(value["mcpServers"].as_object().map(serde_json::Map::len), Some(4));
    for thread in 0..4 {
        home.remove(&format!("t{thread}-{}", EACH - 1)).expect("there");
    }
    assert_eq!(home.bytes(), None);
}

/// A program that keeps its own numbers in the file: it reads the file, changes it and replaces it, as fast as it can. It fails when a
/// number of its own was lost.
fn count(home: &Home, stop: &AtomicBool) -> u64 {
    let mut written = 0;
    while !stop.load(Ordering::Relaxed) {
        // While two files change places for a second time, the one of before is seen for a moment.
        let own = |text: &String| text.contains(&format!("\"count\": {written},"));
        let text = (0..50).map(|_| home.text()).find(|text| own(text) || wait());
        let text = text.unwrap_or_else(|| panic!("{written} was lost: {}", home.text()));
        let text = text.replace(&format!("\"count\": {written},"), &format!("\"count\": {},", written + 1));
        std::fs::write(home.path("theirs"), &text).expect("written");
        // It does not lose what Brumate has written: it looks again before it replaces the file.
        if home.text().replace(&format!("\"count\": {written},"), &format!("\"count\": {},", written + 1)) == text {
            std::fs::rename(home.path("theirs"), home.config()).expect("replaced");
            written += 1;
        }
        std::thread::sleep(std::time::Duration::from_micros(written % 7 * 300));
    }
    written
}

/// Waits a moment.
fn wait() -> bool {
    std::thread::sleep(std::time::Duration::from_millis(10));
    false
}

#[test]
fn what_another_program_writes_meanwhile_is_not_lost() {
    let home = Home::with("{\n  \"count\": 0,\n  \"mcpServers\": {}\n}\n");
    let stop = AtomicBool::new(false);
    let (written, tried) = std::thread::scope(|scope| {
        let counter = scope.spawn(|| count(&home, &stop));
        let mut tried = 0;
        for round in 0..60 {
            // It may give up, but then it says so and has changed nothing.
            match home.install("n", &entry(&format!("{round}.py"), &[])) {
                Ok(_) => tried += 1,
                Err(error) => assert!(error.to_string().contains("another program changed it 10 times"), "{error}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
        (counter.join().expect("nothing was lost"), tried)
    });
    assert!(home.text().contains(&format!("\"count\": {written},")), "{}", home.text());
    assert!(written > 0 && tried > 0, "{written} {tried}");
    assert_eq!(home.names().iter().filter(|name| name.starts_with(".brumate-")).count(), 0, "{:?}", home.names());
}
