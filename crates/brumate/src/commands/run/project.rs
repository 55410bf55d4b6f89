//! A Python project whose modules a server imports (`--with-editable`).

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};

use super::local_files::is_package;
use crate::bounded_file::read_text;

/// Largest `pyproject.toml`, in bytes.
const MAX_PYPROJECT: u64 = 1 << 20;

/// A project: its `pyproject.toml`, and the directory with its modules.
#[derive(Debug)]
pub(super) struct Project {
    source: PathBuf,
    table: toml::Table,
}

impl Project {
    /// Reads the project in a directory. Its modules lie in `src`, or in the directory itself.
    ///
    /// # Errors
    ///
    /// `pyproject.toml` is missing or cannot be read.
    pub(super) fn read(directory: &Path) -> anyhow::Result<Self> {
        let file = directory.join("pyproject.toml");
        let text = read_text(&file, MAX_PYPROJECT).map_err(|error| anyhow!("`--with-editable`: {error}"))?;
        let table = text.parse::<toml::Table>();
        let table = table.with_context(|| format!("`--with-editable`: cannot read {}", file.display()))?;
        if !table.contains_key("project") {
            bail!("`--with-editable`: {} has no table `project`", file.display());
        }
        let source = directory.join("src");
        let source = if source.is_dir() { source } else { directory.to_owned() };
        Ok(Self { source, table })
    }

    /// Returns the directory with the modules.
    pub(super) fn source(&self) -> &Path {
        &self.source
    }

    fn value(&self, name: &str) -> Option<&toml::Value> {
        self.table.get("project")?.get(name)
    }

    /// Returns the names of the top-level modules.
    pub(super) fn modules(&self) -> anyhow::Result<Vec<String>> {
        let entries = self.source.read_dir().with_context(|| format!("cannot read {}", self.source.display()))?;
        let mut names = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let is_module = path.extension().is_some_and(|extension| extension == "py");
            if is_module || (path.is_dir() && is_package(&path)) {
                names.push(path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
            }
        }
        Ok(names)
    }

    /// Returns the requirements (`project.dependencies`).
    pub(super) fn requirements(&self) -> Vec<String> {
        let list = self.value("dependencies").and_then(toml::Value::as_array);
        list.into_iter().flatten().filter_map(toml::Value::as_str).map(str::to_owned).collect()
    }

    /// Writes the metadata of an installed distribution, which `importlib.metadata` reads.
    pub(super) fn write_metadata(&self, target: &Path) -> anyhow::Result<()> {
        let text = |name: &str, default: &str| {
            let value = self.value(name).and_then(toml::Value::as_str).unwrap_or(default);
            value.chars().filter(|character| !character.is_control()).collect::<String>()
        };
        let (name, version) = (text("name", "project"), text("version", "0"));
        let file_name: String =
            name.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '_' }).collect();
        let directory = target.join(format!("{file_name}-0.dist-info"));
        std::fs::create_dir_all(&directory)?;
        let mut metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
        for requirement in self.requirements() {
            metadata.push_str(&format!("Requires-Dist: {}\n", requirement.replace(['\r', '\n'], " ")));
        }
        std::fs::write(directory.join("METADATA"), metadata)?;
        let mut entry_points = String::new();
        let mut group = |name: &str, table: Option<&toml::Value>| {
            let Some(table) = table.and_then(toml::Value::as_table) else { return };
            entry_points.push_str(&format!("[{name}]\n"));
            for (key, value) in table.iter().filter_map(|(key, value)| Some((key, value.as_str()?))) {
                entry_points.push_str(&format!("{key} = {value}\n"));
            }
        };
        group("console_scripts", self.value("scripts"));
        if let Some(groups) = self.value("entry-points").and_then(toml::Value::as_table) {
            groups.iter().for_each(|(name, table)| group(name, Some(table)));
        }
        std::fs::write(directory.join("entry_points.txt"), entry_points)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::local_files::LocalFiles;
    use super::*;

    #[test]
    fn projects_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        assert!(Project::read(root).is_err());
        std::fs::write(root.join("pyproject.toml"), "[tool.x]\na = 1").unwrap();
        assert!(format!("{:#}", Project::read(root).unwrap_err()).contains("no table `project`"));
        let text = "[project]\nname = \"My.Server\"\nversion = \"1.2\"\ndependencies = [\"mcp<2\"]\n[project.scripts]\nserve = \"my:main\"\n";
        std::fs::write(root.join("pyproject.toml"), text).unwrap();
        for (name, text) in
            [("src/my/__init__.py", ""), ("src/my/data.json", "{}"), ("src/.env", "SECRET"), ("notes.txt", "")]
        {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), text).unwrap();
        }
        let project = Project::read(root).unwrap();
        assert_eq!(project.requirements(), ["mcp<2"]);
        let copies = LocalFiles::collect(&root.join("elsewhere/server.py"), "", &[root.to_owned()]);
        // The directory of the file has to be there.
        assert!(copies.is_err());
        let copies = LocalFiles::collect(&root.join("server.py"), "", &[root.to_owned()]).unwrap();
        let copied = copies.directory().unwrap();
        assert!(copied.join("my/__init__.py").is_file() && copied.join("my/data.json").is_file());
        assert!(!copied.join(".env").exists() && !copied.join("notes.txt").exists());
        let metadata = std::fs::read_to_string(copied.join("My_Server-0.dist-info/METADATA")).unwrap();
        assert!(metadata.contains("Name: My.Server\nVersion: 1.2\nRequires-Dist: mcp<2\n"), "{metadata}");
        assert!(copies.modules.names.contains("my"));
    }
}
