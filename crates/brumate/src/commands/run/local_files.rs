//! The modules beside a server's file that it imports. They are copied: the server sees nothing else of the directory.

use std::collections::BTreeSet;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use brumate_session::{LocalModules, imports_of};
use tempfile::TempDir;

use super::editable_project;
use crate::bounded_file::read_bounded;
use crate::commands::source_file::is_package;

/// Most files that are copied.
const MAX_FILES: usize = 2000;
/// Most bytes that are copied.
const MAX_BYTES: u64 = 64 << 20;
/// Deepest nesting of packages.
const MAX_DEPTH: usize = 16;
/// Directories that hold no modules.
const SKIPPED: [&str; 4] = ["__pycache__", "node_modules", "venv", "site-packages"];

/// Copies of a server's modules, in a directory that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct LocalFiles {
    directory: Option<TempDir>,
    pub(super) modules: LocalModules,
    /// The files that were copied.
    pub(super) originals: Vec<PathBuf>,
    bytes: u64,
}

impl LocalFiles {
    /// Copies the modules that `code` of `file` imports from its own directory, those that they import, and the modules of projects.
    ///
    /// # Errors
    ///
    /// A module cannot be read, or there is too much to copy. A link that leads out of the directory is an error too.
    pub(super) fn collect(file: &Path, code: &str, projects: &[PathBuf]) -> anyhow::Result<Self> {
        let mut copies = Self { directory: None, modules: LocalModules::default(), originals: Vec::new(), bytes: 0 };
        for directory in projects {
            let project = editable_project(directory)?;
            let source = project.source();
            copies.copy_tree(&source, Path::new(""), &source, 0, true)?;
            project.write_metadata(copies.target()?)?;
            copies.modules.names.extend(project.modules()?);
        }
        let Some(directory) = file.parent() else { return Ok(copies) };
        let directory = directory.canonicalize().with_context(|| format!("cannot read {}", directory.display()))?;
        let own = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut seen = BTreeSet::new();
        let mut todo: Vec<String> = imports_of(code).into_iter().collect();
        while let Some(name) = todo.pop() {
            if name == own || !is_module_name(&name) || !seen.insert(name.clone()) {
                continue;
            }
            let first_new = copies.modules.sources.len();
            let (module, package) = (directory.join(format!("{name}.py")), directory.join(&name));
            if is_package(&package) {
                copies.copy_tree(&package, Path::new(&name), &directory, 0, false)?;
            } else if module.is_file() {
                copies.copy(&module, Path::new(&format!("{name}.py")), &directory)?;
            } else {
                continue;
            }
            copies.modules.names.insert(name);
            todo.extend(copies.modules.sources[first_new..].iter().flat_map(|source| imports_of(source)));
        }
        Ok(copies)
    }

    /// Returns the directory with the copies. `None` if there are none.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.directory.as_ref().map(TempDir::path)
    }

    fn target(&mut self) -> anyhow::Result<&Path> {
        let directory = match self.directory.take() {
            Some(directory) => directory,
            None => tempfile::Builder::new().prefix("brumate-modules").tempdir()?,
        };
        Ok(self.directory.insert(directory).path())
    }

    /// Copies the modules below a directory; with `data`, other files too.
    fn copy_tree(&mut self, from: &Path, to: &Path, root: &Path, depth: usize, data: bool) -> anyhow::Result<()> {
        if depth > MAX_DEPTH {
            bail!("{}: packages are nested more than {MAX_DEPTH} deep", from.display());
        }
        let entries = from.read_dir().with_context(|| format!("cannot read {}", from.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot read {}", from.display()))?;
            let (name, path) = (entry.file_name(), entry.path());
            let shown = name.to_string_lossy();
            if shown.starts_with('.') || SKIPPED.contains(&shown.as_ref()) {
                continue;
            }
            let is_module = path.extension().is_some_and(|extension| extension == "py");
            if path.is_dir() && (depth > 0 || !data || is_package(&path)) {
                self.copy_tree(&path, &to.join(&name), root, depth + 1, data)?;
            } else if path.is_file() && (is_module || (data && depth > 0)) {
                self.copy(&path, &to.join(&name), root)?;
            }
        }
        Ok(())
    }

    /// Copies one file. Links must not lead out of `root`.
    fn copy(&mut self, from: &Path, to: &Path, root: &Path) -> anyhow::Result<()> {
        let read = || -> std::io::Result<Vec<u8>> {
            if !from.canonicalize()?.starts_with(root.canonicalize()?) {
                return Err(Error::other("it is a link out of the server's directory"));
            }
            read_bounded(std::fs::File::open(from)?, MAX_BYTES)
        };
        let content = read().with_context(|| format!("cannot read {}", from.display()))?;
        self.originals.push(from.to_owned());
        self.bytes += content.len() as u64;
        if self.originals.len() > MAX_FILES || self.bytes > MAX_BYTES {
            let limit = format!("more than {MAX_FILES} files or {} MiB of modules beside the server", MAX_BYTES >> 20);
            return Err(Error::new(ErrorKind::FileTooLarge, limit)).with_context(|| from.display().to_string());
        }
        let target = self.target()?.join(to);
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&target, &content)?;
        if to.extension().is_some_and(|extension| extension == "py")
            && let Ok(source) = String::from_utf8(content)
        {
            self.modules.sources.push(source);
        }
        Ok(())
    }
}

fn is_module_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|character| character == '_' || character.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(copies: &LocalFiles) -> Vec<String> {
        fn walk(directory: &Path, root: &Path, found: &mut Vec<String>) {
            for entry in directory.read_dir().unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => walk(&path, root, found),
                    false => found.push(path.strip_prefix(root).unwrap().display().to_string()),
                }
            }
        }
        let mut found = Vec::new();
        if let Some(directory) = copies.directory() {
            walk(directory, directory, &mut found);
        }
        found.sort();
        found
    }

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn modules_that_are_imported_are_copied_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        write(
            directory.path(),
            &[
                ("main.py", ""),
                ("echo.py", "import helper, os"),
                ("helper.py", "from main import x"),
                ("unused.py", ""),
                (".env", "SECRET=1"),
                ("servers/math.py", "import deep.er"),
                ("servers/key.pem", "SECRET"),
                ("servers/__pycache__/math.pyc", ""),
                ("deep/er/__init__.py", ""),
                ("deep/__init__.py", ""),
                ("data/notes.txt", ""),
            ],
        );
        let collect = |code: &str| LocalFiles::collect(&directory.path().join("main.py"), code, &[]).unwrap();
        let copies = collect("from echo import mcp\nimport servers.math, json\nimport data\n");
        let expected = ["deep/__init__.py", "deep/er/__init__.py", "echo.py", "helper.py", "servers/math.py"];
        assert_eq!(names(&copies), expected);
        let modules: Vec<&str> = copies.modules.names.iter().map(String::as_str).collect();
        assert_eq!(modules, ["deep", "echo", "helper", "servers"]);
        assert!(copies.modules.sources.iter().any(|source| source.contains("import helper")));
        assert!(collect("import json").directory().is_none());
    }

    #[test]
    fn projects_are_copied_with_their_metadata() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let text = "[project]\nname = \"My.Server\"\nversion = \"1.2\"\ndependencies = [\"mcp<2\"]\n";
        let files = [("src/my/__init__.py", ""), ("src/my/data.json", "{}"), ("src/.env", "SECRET"), ("notes.txt", "")];
        write(root, &[&files[..], &[("pyproject.toml", text)]].concat());
        // The directory of the file has to be there.
        assert!(LocalFiles::collect(&root.join("elsewhere/server.py"), "", &[root.to_owned()]).is_err());
        let copies = LocalFiles::collect(&root.join("server.py"), "", &[root.to_owned()]).unwrap();
        let expected = [
            "My_Server-1.2.dist-info/METADATA",
            "My_Server-1.2.dist-info/entry_points.txt",
            "my/__init__.py",
            "my/data.json",
        ];
        assert_eq!(names(&copies), expected);
        assert!(copies.modules.names.contains("my"));
    }

    #[test]
    fn links_must_not_lead_out() {
        let outside = tempfile::tempdir().unwrap();
        let directory = tempfile::tempdir().unwrap();
        write(outside.path(), &[("secret", "SECRET")]);
        write(directory.path(), &[("inner.py", "x = 1")]);
        std::os::unix::fs::symlink(outside.path().join("secret"), directory.path().join("stolen.py")).unwrap();
        std::os::unix::fs::symlink("inner.py", directory.path().join("alias.py")).unwrap();
        let file = directory.path().join("main.py");
        let error = LocalFiles::collect(&file, "import stolen", &[]).unwrap_err();
        assert!(format!("{error:#}").contains("a link out of the server's directory"), "{error:#}");
        assert_eq!(names(&LocalFiles::collect(&file, "import alias", &[]).unwrap()), ["alias.py"]);
    }
}
