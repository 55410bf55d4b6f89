//! `NOTICE`: the third-party parts of `runtime/` with their licences, written from the lock.

use super::fault::Fault;
use crate::runtime::{Entry, FileKind, Lock, Registry};
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::path::Path;

/// The generated file.
pub(crate) const PATH: &str = "NOTICE";

/// What stands above the lists.
const HEADER: &str = "\
Brumate
Copyright 2026 The Brumate contributors

Brumate's own code is licensed under the Apache License, Version 2.0 (LICENSE-APACHE), or the MIT license
(LICENSE-MIT), at your option.

This file lists the third-party files in runtime/. Licences are SPDX expressions; they cover everything inside a file,
libraries that are linked into it included. Each wheel has the texts of its licences in its .dist-info directory.
\"Made from\" names the published sources; runtime/recipes builds the compiled files from them.

Crates that are linked into the binary are not listed here. `cargo deny check licenses` holds their licences to the list
in deny.toml, and `cargo deny list` prints them.

`cargo xtask docs --write` writes this file from runtime/runtime.lock.toml.
`cargo xtask docs` checks that it is up to date.
";

/// Fonts and data inside a wheel: the wheel, what it is, and the licence or where its text is in the wheel.
const PARTS: &[(&str, &str, &str)] = &[
    ("matplotlib", "fonts DejaVu", "Bitstream-Vera; matplotlib/mpl-data/fonts/ttf/LICENSE_DEJAVU"),
    ("matplotlib", "fonts STIX", "matplotlib/mpl-data/fonts/ttf/LICENSE_STIX"),
    ("matplotlib", "fonts BaKoMa Computer Modern (cmr10 and others)", "BaKoMa Fonts Licence; the wheel lacks its text"),
    ("matplotlib", "metrics of the PDF core fonts", "matplotlib/mpl-data/fonts/pdfcorefonts/readme.txt"),
    ("plotly", "plotly.js", "MIT; plotly/labextension/static/third-party-licenses.json lists its parts"),
    ("tzdata", "the IANA time zone database", "public domain"),
    ("pytz", "the IANA time zone database", "public domain"),
];

/// Writes `NOTICE` below `root`.
///
/// # Errors
/// If the lock cannot be read or the file cannot be written.
pub(crate) fn write(root: &Path) -> Result<()> {
    std::fs::write(root.join(PATH), expected(root)?).with_context(|| format!("cannot write {PATH}"))
}

/// Returns a fault if `NOTICE` below `root` is not what the lock says.
///
/// # Errors
/// If the lock cannot be read.
pub(crate) fn check(root: &Path) -> Result<Option<Fault>> {
    let expected = expected(root)?;
    let found = std::fs::read_to_string(root.join(PATH)).unwrap_or_default();
    Ok(difference(&found, &expected))
}

fn expected(root: &Path) -> Result<String> {
    Ok(render(&Lock::load(&root.join("runtime"))?))
}

/// Returns a fault at the first line that differs.
pub(super) fn difference(found: &str, expected: &str) -> Option<Fault> {
    if found == expected {
        return None;
    }
    let same = found.lines().zip(expected.lines()).take_while(|(found, expected)| found == expected).count();
    let message = "it is not what the lock of runtime/ says: run `cargo xtask docs --write`";
    Some(Fault::new(PATH, same + 1, message))
}

/// Returns the whole text.
pub(super) fn render(bundled: &Lock) -> String {
    let mut out = HEADER.to_owned();
    section(&mut out, "In the binary `brumate`", &bundled.files);
    heading(&mut out, "Fonts and data in these wheels");
    for (wheel, part, licence) in PARTS {
        if bundled.files.iter().any(|entry| entry.kind == FileKind::Wheel && entry.name == *wheel) {
            line(&mut out, &format!("\n{wheel}: {part}\n    licence: {licence}"));
        }
    }
    out
}

fn heading(out: &mut String, title: &str) {
    line(out, &format!("\n\n{title}\n{}", "-".repeat(title.len())));
}

fn section(out: &mut String, title: &str, entries: &[Entry]) {
    heading(out, title);
    for entry in entries {
        line(out, &format!("\n{} {}\n    licence: {}", entry.name, entry.version, entry.licence));
        line(out, &format!("    file: {}", entry.file));
        let published = entry.origin.iter().filter(|origin| origin.from != Registry::Bundle);
        let sources: Vec<&str> = published.map(|origin| origin.file.as_str()).collect();
        if sources.is_empty() {
            line(out, "    made from: other files of this list");
        } else if sources != [entry.file.rsplit('/').next().unwrap_or_default()] {
            line(out, &format!("    made from: {}", sources.join(", ")));
        }
    }
}

fn line(out: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{text}");
}
