//! `cargo xtask ci --self-test`: proves that each check fails when what it guards is broken, and says what is wrong.
//!
//! The changes are made in a scratch copy, which is built in the same target directory.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::scratch::Scratch;
use crate::workspace;

/// One way to break the project.
struct Break {
    /// What is broken.
    what: &'static str,
    /// The check that finds it.
    gate: &'static str,
    /// The file that is changed.
    file: &'static str,
    change: Change,
    /// What the check's output must name.
    named: &'static str,
}

/// How a file is changed.
enum Change {
    Append(&'static str),
    Replace(&'static str, &'static str),
}

const BREAKS: &[Break] = &[
    Break {
        what: "a Rust file that is not formatted",
        gate: "format",
        file: "crates/xtask/src/process.rs",
        change: Change::Append("fn  unformatted( ) { }\n"),
        named: "process.rs",
    },
    Break {
        what: "a file that the lock of runtime/ names and that is not there",
        gate: "runtime",
        file: "runtime/runtime.lock.toml",
        change: Change::Replace("\"python_stdlib.zip\"", "\"no_such_file.zip\""),
        named: "no_such_file.zip: missing",
    },
    Break {
        what: "a link to a file that does not exist",
        gate: "documents",
        file: "README.md",
        change: Change::Append("\n[nothing](docs/no-such-page.md)\n"),
        named: "docs/no-such-page.md",
    },
    Break {
        what: "a cited file that does not exist",
        gate: "documents",
        file: "SPECIFICATION.md",
        change: Change::Append(
            "\n| promise | what holds it |\n|---|---|\n| anything | `crates/brumate/tests/all/no_such_file.rs` |\n",
        ),
        named: "no_such_file.rs",
    },
    Break {
        what: "a document that the table of contents does not name",
        gate: "documents",
        file: "docs/SUMMARY.md",
        change: Change::Replace("- [Shell lines](shell.md)\n", ""),
        named: "docs/shell.md is missing",
    },
    Break {
        what: "a changelog whose newest version is not that of the packages",
        gate: "documents",
        file: "CHANGELOG.md",
        change: Change::Replace("## [Unreleased]\n", "## [Unreleased]\n\n## [99.0.0] - 2099-01-01\n"),
        named: "99.0.0 is the newest version",
    },
    Break {
        what: "a chapter of the book that does not exist",
        gate: "book",
        file: "docs/SUMMARY.md",
        change: Change::Append("- [Nothing](no-such-chapter.md)\n"),
        named: "no-such-chapter.md",
    },
    Break {
        what: "a bound that docs/bounds.md has otherwise",
        gate: "documents",
        file: "sdk/brumate-mcp/src/http/budget.rs",
        change: Change::Replace("const MAX_BYTES_EACH: usize = 64 << 20;", "const MAX_BYTES_EACH: usize = 65 << 20;"),
        named: "docs/bounds.md:1: is out of date",
    },
    Break {
        what: "an import of a higher module group",
        gate: "structure",
        file: "crates/brumate-packages/src/name.rs",
        change: Change::Append("\nuse crate::policy::Policy as _;\n"),
        named: "imports `policy`, which ARCHITECTURE.md lists after `name`",
    },
    Break {
        what: "a Python file that is not formatted",
        gate: "ruff",
        file: "tests/python/harness.py",
        change: Change::Append("unformatted  =  1\n"),
        named: "harness.py",
    },
    Break {
        what: "a Python file with a name that is not defined",
        gate: "ruff",
        file: "bench/run.py",
        change: Change::Append("\n\nno_such_name()\n"),
        named: "no_such_name",
    },
    Break {
        what: "a dependency that a crate may not have",
        gate: "deny",
        file: "crates/brumate-session/Cargo.toml",
        change: Change::Replace("[dependencies]\n", "[dependencies]\nbrumate-engine.workspace = true\n"),
        named: "brumate-engine",
    },
    Break {
        what: "a unit test of the guest that fails",
        gate: "guest",
        file: "guest/tests/test_values.py",
        change: Change::Append(
            "\n\nclass Broken(unittest.TestCase):\n    def test_that_fails(self):\n        self.fail('broken on purpose')\n",
        ),
        named: "test_that_fails",
    },
    Break {
        what: "a fuzz target that does not compile",
        gate: "clippy",
        file: "fuzz/fuzz_targets/wire.rs",
        change: Change::Append("fn broken() -> u8 {\n    \"no number\"\n}\n"),
        named: "fuzz_targets/wire.rs",
    },
    Break {
        what: "a channel without a bound",
        gate: "clippy",
        file: "crates/brumate-session/src/lib.rs",
        change: Change::Append(
            "\n/// Broken.\npub fn broken() {\n    let _ = tokio::sync::mpsc::unbounded_channel::<u8>();\n}\n",
        ),
        named: "unbounded_channel",
    },
    Break {
        what: "a link in the documentation of an item that leads nowhere",
        gate: "rustdoc",
        file: "crates/brumate-test-support/src/lib.rs",
        change: Change::Append("\n/// See [`NoSuchItem`].\npub const BROKEN: u8 = 0;\n"),
        named: "NoSuchItem",
    },
    Break {
        what: "a doctest that fails",
        gate: "doctests",
        file: "crates/brumate-test-support/src/lib.rs",
        change: Change::Replace("(1..=6).contains(roll)", "(7..=8).contains(roll)"),
        named: "brumate-test-support/src/lib.rs",
    },
    Break {
        what: "a cited test that does not exist",
        gate: "citations",
        file: "SPECIFICATION.md",
        change: Change::Append("\n| promise | what holds it |\n|---|---|\n| anything | `vfs::tests::no_such_test` |\n"),
        named: "no_such_test",
    },
];

/// Breaks a scratch copy in each way and runs the check that is there for it.
///
/// # Errors
/// When a check passes what is broken, does not name it, or fails before anything is broken.
pub(super) fn run() -> Result<()> {
    let scratch = Scratch::new()?;
    let mut wrong = Vec::new();
    for each in BREAKS {
        let result = try_break(&scratch, each);
        println!("{}: {} ({})", each.gate, each.what, if result.is_ok() { "found" } else { "NOT FOUND" });
        if let Err(error) = result {
            wrong.push(format!("{}: {}: {error:#}", each.gate, each.what));
        }
    }
    // With everything as it was, what compiles nothing passes: the checks did not fail for another reason.
    for gate in super::SOURCES {
        let (success, output) = check(&scratch, gate.name)?;
        if !success {
            wrong.push(format!("{} fails in a copy where nothing is broken:\n{output}", gate.name));
        }
    }
    ensure!(wrong.is_empty(), "{} of {} are not as they should be:\n{}", wrong.len(), BREAKS.len(), wrong.join("\n"));
    println!("each of {} changes was found", BREAKS.len());
    Ok(())
}

fn try_break(scratch: &Scratch, each: &Break) -> Result<()> {
    let path = scratch.path(each.file);
    let original = std::fs::read_to_string(&path).with_context(|| each.file.to_owned())?;
    let broken = match each.change {
        Change::Append(text) => original.clone() + text,
        Change::Replace(old, new) => original.replacen(old, new, 1),
    };
    ensure!(broken != original, "{} has nothing to replace", each.file);
    // The file may be a link to the original's content.
    std::fs::remove_file(&path)?;
    std::fs::write(&path, broken)?;
    let checked = check(scratch, each.gate);
    std::fs::write(&path, original)?;
    let (success, output) = checked?;
    if success {
        bail!("the check passes");
    }
    ensure!(output.contains(each.named), "the output does not name `{}`:\n{output}", each.named);
    Ok(())
}

/// Runs one check in the copy; returns whether it passed, and what it printed.
fn check(scratch: &Scratch, gate: &str) -> Result<(bool, String)> {
    let output = Command::new("cargo")
        .args(["run", "--quiet", "--package", "xtask", "--", "ci", "--only", gate])
        .env("CARGO_TARGET_DIR", std::path::absolute(workspace::target())?)
        .current_dir(scratch.root())
        .stdin(Stdio::null())
        .output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
}
