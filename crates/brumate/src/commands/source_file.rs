//! Files of Python code: how they are read, where they lie in the sandbox, and the modules beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use brumate_engine_api::Mount;
use brumate_session::{LocalModules, imports_of};

use crate::bounded_file::read_bounded;

/// Longest script, in bytes.
pub(super) const MAX_SCRIPT_BYTES: u64 = 16 << 20;
/// Directory of the sandbox that messages propose for modules.
const GRANTED: &str = "/src";
/// Most modules beside a script that are looked at.
const MAX_LOCAL_MODULES: usize = 500;
/// Longest module beside a script whose imports are looked at, in bytes.
const MAX_MODULE_BYTES: u64 = 1 << 20;
/// Ends of lines before which a file may name its encoding (PEP 263): two lines, whose ends have two bytes at most.
const COOKIE_LINE_ENDS: usize = 4;

/// Content of a file of Python code.
pub(super) struct SourceFile {
    /// Its text; or its bytes, if `is_bytes`.
    pub(super) code: String,
    /// Whether each character of `code` stands for a byte.
    pub(super) is_bytes: bool,
    /// Its name, without a directory.
    pub(super) name: String,
}

/// Reads a file of Python code. The guest does not see its path on the host.
pub(super) fn read_file(path: &Path) -> anyhow::Result<SourceFile> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let bytes = std::fs::File::open(path).and_then(|file| read_bounded(file, MAX_SCRIPT_BYTES));
    Ok(source(bytes.with_context(|| format!("cannot read {}", path.display()))?, name))
}

/// Takes the bytes of a file for a text, if Python would without looking twice.
pub(super) fn source(bytes: Vec<u8>, name: String) -> SourceFile {
    let begin =
        bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')).take(COOKIE_LINE_ENDS).map(<[u8]>::len).sum();
    let unusual = bytes.starts_with(b"\xef\xbb\xbf")
        || bytes.contains(&0)
        || bytes[..begin].windows(b"coding".len()).any(|part| part == b"coding");
    let plain =
        if unusual { Err(bytes) } else { String::from_utf8(bytes).map_err(std::string::FromUtf8Error::into_bytes) };
    match plain {
        Ok(code) => SourceFile { code, is_bytes: false, name },
        Err(bytes) => SourceFile { code: bytes.into_iter().map(char::from).collect(), is_bytes: true, name },
    }
}

/// Returns where a file lies in the sandbox, if a granted directory has it; of several the innermost.
pub(super) fn path_in_mounts(file: &Path, mounts: &[Mount]) -> Option<String> {
    let file = file.canonicalize().ok()?;
    let found = mounts.iter().filter_map(|mount| {
        let host = mount.host.canonicalize().ok()?;
        let rest = file.strip_prefix(&host).ok()?.to_str()?;
        Some((host.as_os_str().len(), format!("{}/{rest}", mount.guest.trim_end_matches('/'))))
    });
    found.max_by_key(|(length, _)| *length).map(|(_, path)| path)
}

/// Returns the host's directory for a path in the sandbox, if a granted directory has it; of several the innermost.
pub(super) fn directory_in_mounts(path: &str, mounts: &[Mount]) -> Option<PathBuf> {
    let found = mounts.iter().filter_map(|mount| {
        let rest = Path::new(path).strip_prefix(&mount.guest).ok()?;
        let is_below = rest.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        is_below.then(|| (mount.guest.len(), mount.host.join(rest)))
    });
    found.max_by_key(|(length, _)| *length).map(|(_, directory)| directory)
}

/// Finds the modules that `code` imports from directories, and those that they import.
pub(super) fn modules_in(directories: &[PathBuf], code: &str) -> LocalModules {
    let mut modules = LocalModules::default();
    let mut seen = BTreeSet::new();
    let mut todo: Vec<String> = imports_of(code).into_iter().collect();
    while let Some(name) = todo.pop() {
        if seen.len() >= MAX_LOCAL_MODULES || name.contains(['/', '.']) || !seen.insert(name.clone()) {
            continue;
        }
        let candidates = directories
            .iter()
            .flat_map(|directory| [directory.join(&name).join("__init__.py"), directory.join(format!("{name}.py"))]);
        let content = candidates.into_iter().find(|path| path.is_file());
        if content.is_none() && !directories.iter().any(|directory| directory.join(&name).is_dir()) {
            continue;
        }
        let read = content.and_then(|path| std::fs::File::open(path).ok());
        if let Some(source) = read.and_then(|file| read_bounded(file, MAX_MODULE_BYTES).ok())
            && let Ok(source) = String::from_utf8(source)
        {
            todo.extend(imports_of(&source));
            modules.sources.push(source);
        }
        modules.names.insert(name);
    }
    modules
}

/// Returns whether a directory holds a module.
pub(super) fn is_package(directory: &Path) -> bool {
    directory.read_dir().is_ok_and(|mut entries| {
        entries
            .any(|entry| entry.is_ok_and(|entry| entry.path().extension().is_some_and(|extension| extension == "py")))
    })
}

/// Returns the modules that `code` imports and that the sandbox lacks because it has the script alone: modules beside the file, and the
/// package that the file is in. Each has a text that names the fix.
pub(super) fn modules_outside(file: &Path, code: &str) -> BTreeMap<String, String> {
    let Some(directory) = std::path::absolute(file).ok().and_then(|file| file.parent().map(Path::to_owned)) else {
        return BTreeMap::new();
    };
    let beside = |name: String| {
        let reason = format!(
            "`{name}` is beside the script, and the sandbox has the script alone: `--mount {0}:{GRANTED}:ro` grants the directory",
            directory.display()
        );
        (name, reason)
    };
    let mut modules: BTreeMap<String, String> =
        modules_in(std::slice::from_ref(&directory), code).names.into_iter().map(beside).collect();
    let own = directory.file_name().and_then(|name| name.to_str()).filter(|name| imports_of(code).contains(*name));
    if let (Some(name), Some(parent)) = (own, directory.parent()) {
        modules.entry(name.to_owned()).or_insert_with(|| {
            format!(
                "`{name}` is the directory of the script, and the sandbox has the script alone: `--mount {}:{GRANTED}:ro` grants the one \
                 above it, and `sys.path.insert(0, \"{GRANTED}\")` before the import finds it there",
                parent.display()
            )
        });
    }
    modules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_text_is_taken_for_text() {
        let read = |bytes: &[u8]| {
            let SourceFile { code, is_bytes, .. } = source(bytes.to_vec(), String::new());
            (code, is_bytes)
        };
        for text in ["", "print('\u{e9}')\n", "a\n\n\n\n# coding: latin-1\n"] {
            assert_eq!(read(text.as_bytes()), (text.to_owned(), false));
        }
        for bytes in [
            &b"x = '\xe9'"[..],
            b"\xef\xbb\xbfx = 1",
            b"# -*- coding: latin-1 -*-",
            b"#!/bin/sh\n# vim: set fileencoding=cp1252 :",
            b"#!/bin/sh\r# coding: ascii",
            b"x = 1\0",
            b"\xff\xfex\0",
        ] {
            let (code, is_bytes) = read(bytes);
            assert!(is_bytes, "{bytes:?}");
            assert_eq!(code.chars().map(|char| char as u8).collect::<Vec<u8>>(), bytes);
        }
    }

    #[test]
    fn the_innermost_mount_has_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        for file in [directory.path().join("a.py"), inner.join("b.py"), inner.join("helper.py")] {
            std::fs::write(file, "import helper, json").unwrap();
        }
        let mount =
            |host: &Path, guest: &str| Mount { host: host.to_owned(), guest: guest.to_owned(), read_only: true };
        let mounts = [mount(&inner, "/in/"), mount(directory.path(), "/all")];
        assert_eq!(path_in_mounts(&directory.path().join("a.py"), &mounts).as_deref(), Some("/all/a.py"));
        assert_eq!(path_in_mounts(&inner.join("b.py"), &mounts).as_deref(), Some("/in/b.py"));
        assert_eq!(path_in_mounts(&inner.join("b.py"), &[]), None);
        assert_eq!(directory_in_mounts("/in", &mounts), Some(inner.clone()));
        assert_eq!(directory_in_mounts("/all/x/./y", &mounts), Some(directory.path().join("x/./y")));
        for path in ["/all/../x", "/allx", "/", ""] {
            assert_eq!(directory_in_mounts(path, &mounts), None, "{path}");
        }
        let beside = modules_in(std::slice::from_ref(&inner), "import helper, json, no_such");
        assert_eq!((beside.names, beside.sources.len()), (BTreeSet::from(["helper".to_owned()]), 1));
        let outside = modules_outside(&inner.join("b.py"), "import helper, inner.core, json, no_such");
        assert_eq!(outside.keys().collect::<Vec<_>>(), ["helper", "inner"]);
        assert!(outside["helper"].contains(&format!("--mount {}:/src:ro", inner.display())), "{outside:?}");
        assert!(outside["inner"].contains(&format!("--mount {}:/src:ro", directory.path().display())), "{outside:?}");
    }
}
