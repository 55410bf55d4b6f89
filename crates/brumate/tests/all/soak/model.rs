//! Model of each session: a counter in memory and the same one in a file, which cells raise.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

/// Raises the counter. The file is replaced first, so an interrupted cell leaves both equal, or the file one ahead. The
/// larger one counts then.
pub(super) const STEP: &str = "\
import os
kept = int(open('count').read()) if n else 0
print(n, kept)
with open('new', 'w') as file:
    _ = file.write(str(kept + 1))
os.replace('new', 'count')
n = kept + 1
print(n)";

/// Effect of a call on a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It was answered: the counter has this value.
    Counted(u64),
    /// It has done nothing, as its error says.
    None,
    /// It was interrupted, or its server was killed.
    Unknown,
}

/// Errors of calls that have done nothing.
const WITHOUT_EFFECT: &[&str] = &[
    "SessionBusyError: ",
    "SessionLimitError: ",
    "SessionStorageError: ",
    "SessionRolledBackError: ",
    "KeyboardInterrupt: the cell was interrupted before",
    "The cell was undone",
    "the server is shutting down",
    "No space left on device",
];

/// A session.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) id: String,
    /// Largest answered value.
    answered: AtomicU64,
    begun: AtomicU64,
    unknown: AtomicU64,
    /// Interrupts that may have reached one of its cells.
    interrupts: AtomicU64,
    /// Answered values, for finding one that was answered twice.
    values: Mutex<Vec<u64>>,
    /// Set before the session is removed.
    pub(super) removed: AtomicBool,
}

impl Model {
    pub(super) fn new(id: &str) -> Model {
        Model {
            id: id.to_owned(),
            answered: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
            interrupts: AtomicU64::new(0),
            values: Mutex::default(),
            removed: AtomicBool::new(false),
        }
    }

    pub(super) fn answered(&self) -> u64 {
        self.answered.load(Ordering::SeqCst)
    }

    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::SeqCst)
    }

    /// Notes that [`STEP`] is called. Returns the largest value that was answered before.
    pub(super) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.answered()
    }

    /// Notes that a cell is about to be interrupted.
    pub(super) fn interrupt(&self) {
        self.interrupts.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns whether file and memory are those of one moment, or of an interrupted cell.
    fn agree(&self, memory: u64, file: u64) -> bool {
        file == memory || self.interrupts.load(Ordering::SeqCst) > 0 && file == memory + 1
    }

    /// Checks the answer to a [`STEP`] that was called when `before` was answered.
    pub(super) fn end(&self, before: u64, answer: Option<&Value>) -> Effect {
        let effect = self.effect(before, answer);
        if effect == Effect::Unknown {
            self.unknown.fetch_add(1, Ordering::SeqCst);
        }
        effect
    }

    fn effect(&self, before: u64, answer: Option<&Value>) -> Effect {
        let Some(answer) = answer else { return Effect::Unknown };
        if answer["success"] == true {
            let numbers = numbers(answer);
            let [memory, file, value] = numbers[..] else { panic!("{}: {answer}", self.id) };
            assert!(self.agree(memory, file), "memory and file differ: {self:?}, {answer}");
            assert!(value == file + 1 && value > before, "an answered cell is lost: {self:?}, {before}, {answer}");
            assert!(value <= self.begun(), "a cell counts twice: {self:?}, {answer}");
            let mut values = self.values.lock().unwrap();
            assert!(!values.contains(&value), "{value} was answered before: {self:?}, {answer}");
            values.push(value);
            self.answered.fetch_max(value, Ordering::SeqCst);
            return Effect::Counted(value);
        }
        let error = answer["error"].as_str().unwrap_or_default();
        let is_gone = error.starts_with("SessionExpiredError") || error.starts_with("SessionResetError");
        // A server that ends cancels its calls.
        let was_waiting = error == "the call was cancelled";
        if was_waiting
            || WITHOUT_EFFECT.iter().any(|part| error.contains(part))
            || is_gone && self.removed.load(Ordering::SeqCst)
        {
            return Effect::None;
        }
        let was_stopped = ["KeyboardInterrupt", "The code was stopped: "].iter().any(|text| error.starts_with(text));
        assert!(was_stopped, "{self:?}: {answer}");
        Effect::Unknown
    }

    /// Checks the counter, which a cell has printed, and its file.
    pub(super) fn check(&self, answer: &Value) {
        let numbers = numbers(answer);
        let [memory, file] = numbers[..] else { panic!("{self:?}: {answer}") };
        assert!(self.agree(memory, file), "{self:?}: {answer}");
        assert!((self.answered()..=self.begun()).contains(&memory), "{self:?}: {answer}");
    }
}

/// Numbers in the output of a cell. The list of its files follows.
fn numbers(answer: &Value) -> Vec<u64> {
    let output = answer["output"].as_array().expect("an output");
    let text: String = output.iter().filter_map(Value::as_str).collect();
    text.split_whitespace().map_while(|word| word.parse().ok()).collect()
}

/// Figures of a run.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) outcomes: BTreeMap<&'static str, u64>,
    pub(super) faults: BTreeMap<&'static str, u64>,
    waits: Vec<Duration>,
}

impl Figures {
    pub(super) fn add(&mut self, effect: Effect, wait: Duration) {
        let outcome = match effect {
            Effect::Counted(_) => "answered",
            Effect::None => "refused or undone, and said so",
            Effect::Unknown => "interrupted, or the server was killed",
        };
        *self.outcomes.entry(outcome).or_default() += 1;
        self.waits.push(wait);
    }

    /// Returns the report of a run that lost nothing.
    pub(super) fn report(&mut self, seed: u64, duration: Duration) -> String {
        self.waits.sort_unstable();
        let last = self.waits.len().saturating_sub(1);
        let part = |share: usize| self.waits.get(last * share / 100).map_or(0, Duration::as_millis);
        let mut text = format!("# Soak of sessions\n\nSeed {seed}, {} s.\n\n", duration.as_secs());
        let tables = [("operations", &self.outcomes), ("faults", &self.faults)];
        for (title, counts) in tables {
            let _ = writeln!(text, "| {title} | number |\n|---|---|");
            for (name, count) in counts {
                let _ = writeln!(text, "| {name} | {count} |");
            }
            let _ = writeln!(text);
        }
        let _ = writeln!(text, "Acknowledged operations lost: 0.\n");
        let _ = writeln!(text, "Waits in ms: p50 {}, p99 {}, max {}.", part(50), part(99), part(100));
        text
    }
}
