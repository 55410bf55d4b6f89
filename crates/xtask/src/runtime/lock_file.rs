//! `runtime.lock.toml`: its types, reading and writing.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::Path;

/// File name of the lock inside `runtime/`.
pub(crate) const LOCK_NAME: &str = "runtime.lock.toml";

/// Version of the lock's layout; `crates/brumate-engine/build/main.rs` reads the same one.
pub(crate) const LOCK_VERSION: u32 = 1;

/// Comment at the top of [`LOCK_NAME`].
pub(crate) const HEADER: &str = "\
# What the binary embeds. Written by `cargo xtask runtime lock`, checked by `cargo xtask runtime verify`.
# `licence` (an SPDX expression) and the origins of what was compiled are set by hand and kept; the
# rest comes from the files.
";

/// A lock.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lock {
    pub(crate) version: u32,
    /// An entry for each file below `runtime/` that the binary embeds.
    #[serde(rename = "file", default)]
    pub(crate) files: Vec<Entry>,
}

/// The purpose of a file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FileKind {
    /// The npm package that holds the interpreter's WebAssembly module.
    Interpreter,
    /// The standard library with bytecode, mounted at `/usr/lib/python3.14`.
    Stdlib,
    /// Bytecode of the wheels that have none inside, a layer over `site-packages`.
    Pycache,
    /// A wheel, unpacked into `site-packages`.
    Wheel,
}

impl FileKind {
    /// Returns the name in the lock.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Interpreter => "interpreter",
            Self::Stdlib => "stdlib",
            Self::Pycache => "pycache",
            Self::Wheel => "wheel",
        }
    }
}

/// The entry of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// Project name as its metadata spells it.
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) kind: FileKind,
    /// Path relative to `runtime/`, with forward slashes.
    pub(crate) file: String,
    /// SHA-256 in lower-case hexadecimal.
    pub(crate) sha256: String,
    /// Size in bytes.
    pub(crate) size: u64,
    /// SPDX licence expression of everything inside.
    #[serde(default)]
    pub(crate) licence: String,
    /// Top-level modules a wheel provides; empty for other kinds.
    #[serde(default)]
    pub(crate) import_names: Vec<String>,
    /// Normalised names of the projects a wheel requires here; empty for other kinds.
    #[serde(default)]
    pub(crate) requires: Vec<String>,
    /// Sources that the file was made from.
    #[serde(default)]
    pub(crate) origin: Vec<Origin>,
}

/// A source of a file.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Origin {
    pub(crate) from: Registry,
    /// The source's file name there; for `bundle`, another entry's `file`; for `own`, a path relative to `runtime/`.
    pub(crate) file: String,
    pub(crate) sha256: String,
}

/// The registry that a source was published in.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Registry {
    Npm,
    Pypi,
    /// The source package of a Debian release.
    Debian,
    /// This bundle: the file is derived from another of its files.
    Bundle,
    /// Our own source in `runtime/`.
    Own,
}

impl Registry {
    fn as_str(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
            Self::Debian => "debian",
            Self::Bundle => "bundle",
            Self::Own => "own",
        }
    }
}

impl Lock {
    /// Reads the lock of the bundle in `runtime`.
    pub(crate) fn load(runtime: &Path) -> Result<Self> {
        Self::read(&runtime.join(LOCK_NAME))
    }

    /// Reads a lock.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{} is malformed", path.display()))
    }

    /// Counts the packages: the wheels in the lock.
    pub(crate) fn packages(&self) -> usize {
        self.files.iter().filter(|entry| entry.kind == FileKind::Wheel).count()
    }

    /// Returns the lock as text below `header`. Entries are sorted by kind, then by file.
    pub(crate) fn render(&self, header: &str) -> String {
        let mut out = format!("{header}version = {}\n", self.version);
        let mut files: Vec<&Entry> = self.files.iter().collect();
        files.sort_by(|a, b| (a.kind, &a.file).cmp(&(b.kind, &b.file)));
        for entry in files {
            entry.render(&mut out);
        }
        out
    }
}

impl Entry {
    fn render(&self, out: &mut String) {
        let mut line = |key: &str, value: String| {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{key} = {value}");
        };
        line("\n[[file]]\nname", quoted(&self.name));
        line("version", quoted(&self.version));
        line("kind", quoted(self.kind.as_str()));
        line("file", quoted(&self.file));
        line("sha256", quoted(&self.sha256));
        line("size", self.size.to_string());
        line("licence", quoted(&self.licence));
        if self.kind == FileKind::Wheel {
            line("import_names", list(&self.import_names));
            line("requires", list(&self.requires));
        }
        let origins: Vec<String> = self.origin.iter().map(Origin::render).collect();
        line("origin", format!("[\n{}]", origins.concat()));
    }
}

impl Origin {
    fn render(&self) -> String {
        format!(
            "  {{ from = {}, file = {}, sha256 = {} }},\n",
            quoted(self.from.as_str()),
            quoted(&self.file),
            quoted(&self.sha256)
        )
    }
}

/// A TOML basic string. What the lock holds has no control characters; they would end its line.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    let printable: String = escaped.chars().filter(|c| !c.is_control()).collect();
    format!("\"{printable}\"")
}

fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
    format!("[{}]", items.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rendered_reads_back_the_same() {
        let entry = Entry {
            name: "demo".into(),
            version: "1.0".into(),
            kind: FileKind::Wheel,
            file: "wheels/demo-1.0-py3-none-any.whl".into(),
            sha256: "ab".repeat(32),
            size: 12,
            licence: "MIT AND \"quoted\" \\".into(),
            import_names: vec!["demo".into(), "_demo".into()],
            requires: vec![],
            origin: vec![Origin { from: Registry::Pypi, file: "demo-1.0.tar.gz".into(), sha256: "cd".repeat(32) }],
        };
        let lock = Lock { version: LOCK_VERSION, files: vec![entry] };
        let text = lock.render(HEADER);
        let again: Lock = toml::from_str(&text).expect("own output parses");
        assert_eq!(again.render(HEADER), text);
        assert_eq!(again.files[0].licence, "MIT AND \"quoted\" \\");
        assert_eq!(again.files[0].origin, lock.files[0].origin);
    }

    #[test]
    fn unknown_fields_are_refused() {
        assert!(toml::from_str::<Lock>("version = 1\nextra = 2\n").is_err());
    }
}
