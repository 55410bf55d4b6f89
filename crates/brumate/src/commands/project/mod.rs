//! A Python project: its metadata, as far as files state it, and the directories with its modules.

mod metadata;
mod poetry;
mod requirement_files;
mod wanted;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use toml::{Table, Value};

use self::metadata::{PackageInfo, SetupConfig};
pub(super) use self::wanted::{Selection, Wanted};
use super::source_file::is_package;
use crate::bounded_file::read_text;

/// Largest file with metadata, in bytes.
const MAX_METADATA_BYTES: u64 = 1 << 20;
/// Most bytes of a module in which a version is looked for.
const MAX_VERSION_MODULE_BYTES: u64 = 1 << 20;
/// Version of a project that states none.
const NO_VERSION: &str = "0";
/// Headers of core metadata that describe a project; each may occur several times.
const DESCRIPTIVE_HEADERS: [&str; 14] = [
    "Summary",
    "Home-page",
    "Author",
    "Author-email",
    "Maintainer",
    "Maintainer-email",
    "License",
    "License-Expression",
    "License-File",
    "Keywords",
    "Platform",
    "Requires-Python",
    "Classifier",
    "Project-URL",
];
/// Files that make a directory a project.
const MARKERS: [&str; 8] =
    ["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "noxfile.py"];
/// Files that make a directory a project if none above it is one: directories of tests have them as well.
const WEAK_MARKERS: [&str; 2] = ["conftest.py", "requirements.txt"];

/// A project.
#[derive(Debug)]
pub(super) struct Project {
    directory: PathBuf,
    /// `pyproject.toml`; empty if there is none.
    table: Table,
    setup: SetupConfig,
    /// Metadata of a source distribution.
    info: PackageInfo,
}

impl Project {
    /// Returns whether a directory is a project.
    pub(super) fn is_in(directory: &Path) -> bool {
        MARKERS.iter().any(|name| directory.join(name).is_file())
    }

    /// Returns whether a directory is a project if none above it is one.
    pub(super) fn may_be_in(directory: &Path) -> bool {
        WEAK_MARKERS.iter().any(|name| directory.join(name).is_file())
    }

    /// Reads the project in a directory.
    ///
    /// # Errors
    ///
    /// A file with metadata cannot be read.
    pub(super) fn read(directory: &Path) -> anyhow::Result<Self> {
        let read = |name: &str| read_metadata(directory, name);
        let file = directory.join("pyproject.toml");
        let table = read("pyproject.toml")?.parse::<Table>();
        let table = table.with_context(|| format!("cannot read {}", file.display()))?;
        let mut info = PackageInfo::parse(&read("PKG-INFO")?);
        if !info.is_empty()
            && info.value("requires-dist").is_none()
            && let Some(file) = egg_requirements(directory)
        {
            // Old versions of setuptools write requirements there alone.
            info.add_egg_requirements(&read_text(&file, MAX_METADATA_BYTES).map_err(|error| anyhow!(error))?);
        }
        Ok(Self { directory: directory.to_owned(), table, setup: SetupConfig::parse(&read("setup.cfg")?), info })
    }

    /// Reads the project in a directory, which must have a table `project` in its `pyproject.toml`.
    ///
    /// # Errors
    ///
    /// `pyproject.toml` is missing or cannot be read.
    pub(super) fn read_stated(directory: &Path) -> anyhow::Result<Self> {
        let file = directory.join("pyproject.toml");
        if !file.is_file() {
            bail!("there is no {}", file.display());
        }
        let project = Self::read(directory)?;
        if !project.table.contains_key("project") {
            bail!("{} has no table `project`", file.display());
        }
        Ok(project)
    }

    /// Returns the directory with the modules: `src`, or the directory itself.
    pub(super) fn source(&self) -> PathBuf {
        let source = self.directory.join("src");
        if source.is_dir() { source } else { self.directory.clone() }
    }

    /// Returns the directories in which modules may lie, below that of the project: those that the build's settings name, `src` and the
    /// directory itself, as an empty path.
    pub(super) fn sources(&self) -> Vec<PathBuf> {
        let texts = |value: Option<&Value>| strings(value).map(PathBuf::from).collect::<Vec<_>>();
        let setuptools = self.at(&["tool", "setuptools"]);
        let root = setuptools.and_then(|table| table.get("package-dir")?.get("")?.as_str()).map(PathBuf::from);
        let mut found: Vec<PathBuf> = root.into_iter().collect();
        found.extend(texts(self.at(&["tool", "setuptools", "packages", "find", "where"])));
        found.extend(self.setup.value("options", "package_dir").and_then(root_of_packages));
        let packages = self.at(&["tool", "poetry", "packages"]).and_then(Value::as_array).into_iter().flatten();
        found.extend(packages.filter_map(|package| package.get("from")?.as_str()).map(PathBuf::from));
        found.extend(self.at(&["tool", "pdm", "build", "package-dir"]).and_then(Value::as_str).map(PathBuf::from));
        let wheel = texts(self.at(&["tool", "hatch", "build", "targets", "wheel", "packages"]));
        found.extend(wheel.iter().filter_map(|package| package.parent()).map(Path::to_owned));
        found.extend([PathBuf::from("src"), PathBuf::new()]);
        let mut sources: Vec<PathBuf> = Vec::new();
        for source in found {
            // Without `.` and `./`.
            let source: PathBuf = source.components().filter(|part| *part != std::path::Component::CurDir).collect();
            let is_below = source.components().all(|part| matches!(part, std::path::Component::Normal(_)));
            if is_below && !sources.contains(&source) && self.directory.join(&source).is_dir() {
                sources.push(source);
            }
        }
        sources
    }

    /// Returns the options that the settings of pytest add to its command line, with blanks between them.
    ///
    /// # Errors
    ///
    /// A file with settings cannot be read.
    fn pytest_options(&self) -> anyhow::Result<String> {
        let mut found = Vec::new();
        for keys in [&["tool", "pytest", "ini_options", "addopts"][..], &["tool", "pytest", "addopts"]] {
            let value = self.at(keys);
            found.extend(value.and_then(Value::as_str).map(str::to_owned));
            found.extend(strings(value).map(str::to_owned));
        }
        found.extend(self.setup.value("tool:pytest", "addopts").map(str::to_owned));
        for name in ["pytest.ini", ".pytest.ini", "tox.ini"] {
            let settings = SetupConfig::parse(&read_metadata(&self.directory, name)?);
            found.extend(settings.value("pytest", "addopts").map(str::to_owned));
        }
        Ok(found.join(" "))
    }

    /// Returns the value at these keys of `pyproject.toml`.
    fn at(&self, keys: &[&str]) -> Option<&Value> {
        let (first, rest) = keys.split_first()?;
        rest.iter().try_fold(self.table.get(*first)?, |value, key| value.get(key))
    }

    /// Returns a text of the project's metadata: of `project`, of Poetry's table, of the source distribution, or of `setup.cfg`.
    fn text(&self, name: &str) -> Option<String> {
        let stated = self.at(&["project", name]).or_else(|| self.at(&["tool", "poetry", name]));
        let text = stated.and_then(Value::as_str).map(str::to_owned);
        let text = text.or_else(|| self.info.value(name).map(str::to_owned));
        // `attr: …` and `file: …` name places.
        text.or_else(|| self.setup.value("metadata", name).filter(|text| !text.contains(':')).map(str::to_owned))
    }

    /// Returns the name of the distribution.
    pub(super) fn name(&self) -> Option<String> {
        self.text("name").map(|name| without_control_characters(&name)).filter(|name| !name.is_empty())
    }

    /// Returns the version, if it is stated or a `__version__` of the package.
    fn version(&self) -> String {
        let version = self.text("version").or_else(|| self.version_of_module());
        version.map_or_else(|| NO_VERSION.to_owned(), |version| without_control_characters(&version))
    }

    /// Returns the `__version__` that the project's own module assigns.
    fn version_of_module(&self) -> Option<String> {
        let module = self.name()?.replace(['-', '.'], "_").to_lowercase();
        let stated = self.at(&["tool", "hatch", "version", "path"]).and_then(Value::as_str).map(PathBuf::from);
        let usual = self.sources().into_iter().flat_map(|source| {
            [format!("{module}/__init__.py"), format!("{module}.py"), format!("{module}/__about__.py")]
                .map(|file| source.join(file))
        });
        let files = stated.into_iter().chain(usual).map(|file| self.directory.join(file));
        files.filter(|file| file.is_file()).find_map(|file| {
            let text = read_text(&file, MAX_VERSION_MODULE_BYTES).ok()?;
            text.lines().find_map(|line| {
                let value = line.strip_prefix("__version__")?.split_once('=')?.1.trim();
                let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
                Some(value[1..].split(quote).next()?.to_owned())
            })
        })
    }

    /// Returns the names of the top-level modules.
    pub(super) fn modules(&self) -> anyhow::Result<Vec<String>> {
        let source = self.source();
        let entries = source.read_dir().with_context(|| format!("cannot read {}", source.display()))?;
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
        strings(self.at(&["project", "dependencies"])).map(str::to_owned).collect()
    }

    /// Writes the metadata of an installed distribution, which `importlib.metadata` reads, if the project has a name.
    pub(super) fn write_metadata(&self, target: &Path) -> anyhow::Result<()> {
        let Some(name) = self.name() else { return Ok(()) };
        let version = self.version();
        let file_name = |text: &str| -> String {
            text.chars()
                .map(|character| if character.is_ascii_alphanumeric() || character == '.' { character } else { '_' })
                .collect()
        };
        let directory =
            target.join(format!("{}-{}.dist-info", file_name(&name).replace('.', "_"), file_name(&version)));
        std::fs::create_dir_all(&directory)?;
        let mut metadata = format!("Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n");
        for (header, value) in self.descriptive_headers() {
            metadata.push_str(&format!("{header}: {}\n", without_control_characters(&value)));
        }
        let stated = self.stated();
        for requirement in &stated.required {
            metadata.push_str(&format!("Requires-Dist: {}\n", without_control_characters(requirement)));
        }
        for (extra, requirements) in &stated.extras {
            let extra = without_control_characters(extra);
            metadata.push_str(&format!("Provides-Extra: {extra}\n"));
            for requirement in requirements {
                let (text, marker) = requirement.split_once(';').unwrap_or((requirement, ""));
                let marker = if marker.trim().is_empty() { String::new() } else { format!("({}) and ", marker.trim()) };
                let line = format!("{} ; {marker}extra == '{extra}'", text.trim());
                metadata.push_str(&format!("Requires-Dist: {}\n", without_control_characters(&line)));
            }
        }
        std::fs::write(directory.join("METADATA"), metadata)?;
        std::fs::write(directory.join("entry_points.txt"), self.entry_points())?;
        Ok(())
    }

    /// Returns the headers of the core metadata that describe the project: those of its source distribution, or those that
    /// `pyproject.toml` states.
    fn descriptive_headers(&self) -> Vec<(&'static str, String)> {
        if !self.info.is_empty() {
            let of_header =
                |header: &'static str| self.info.values(header).map(move |value| (header, value.to_owned()));
            return DESCRIPTIVE_HEADERS.into_iter().flat_map(of_header).collect();
        }
        let mut headers = Vec::new();
        let license = self.at(&["project", "license"]);
        let expression = license.and_then(Value::as_str).map(str::to_owned);
        headers.extend(self.text("description").map(|text| ("Summary", text)));
        headers.extend(expression.map(|text| ("License-Expression", text)));
        headers.extend(license.and_then(|table| table.get("text")?.as_str()).map(|text| ("License", text.to_owned())));
        for (key, header) in [("authors", "Author"), ("maintainers", "Maintainer")] {
            let people = self.at(&["project", key]).and_then(Value::as_array).into_iter().flatten();
            headers.extend(people.filter_map(|person| Some((header, person.get("name")?.as_str()?.to_owned()))));
        }
        let python = self.at(&["project", "requires-python"]).and_then(Value::as_str);
        headers.extend(python.map(|text| ("Requires-Python", text.to_owned())));
        let classifiers = strings(self.at(&["project", "classifiers"]));
        headers.extend(classifiers.map(|text| ("Classifier", text.to_owned())));
        let urls = self.at(&["project", "urls"]).and_then(Value::as_table).into_iter().flatten();
        headers.extend(urls.filter_map(|(name, url)| Some(("Project-URL", format!("{name}, {}", url.as_str()?)))));
        headers
    }

    /// Returns the content of `entry_points.txt`.
    fn entry_points(&self) -> String {
        let mut text = String::new();
        let mut group = |name: &str, entries: &mut dyn Iterator<Item = (String, String)>| {
            text.push_str(&format!("[{}]\n", without_control_characters(name)));
            for (key, value) in entries {
                let line = without_control_characters(&format!("{key} = {value}"));
                text.push_str(&format!("{line}\n"));
            }
        };
        let stated = |value: &Value| -> Vec<(String, String)> {
            let entries = value.as_table().into_iter().flatten();
            entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
        };
        for (name, keys) in [
            ("console_scripts", &["project", "scripts"][..]),
            ("gui_scripts", &["project", "gui-scripts"]),
            ("console_scripts", &["tool", "poetry", "scripts"]),
        ] {
            if let Some(table) = self.at(keys) {
                group(name, &mut stated(table).into_iter());
            }
        }
        for keys in [&["project", "entry-points"][..], &["tool", "poetry", "plugins"]] {
            for (name, table) in self.at(keys).and_then(Value::as_table).into_iter().flatten() {
                group(name, &mut stated(table).into_iter());
            }
        }
        for (name, lines) in self.setup.section("options.entry_points") {
            let entries = lines.lines().filter_map(|line| line.split_once('='));
            group(name, &mut entries.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())));
        }
        text
    }
}

/// Returns the text of a file of the project; without the file, an empty one.
fn read_metadata(directory: &Path, name: &str) -> anyhow::Result<String> {
    let file = directory.join(name);
    if file.is_file() {
        read_text(&file, MAX_METADATA_BYTES).map_err(|error| anyhow!(error))
    } else {
        Ok(String::new())
    }
}

/// Returns the `requires.txt` of a source distribution's `.egg-info`.
fn egg_requirements(directory: &Path) -> Option<PathBuf> {
    let entries = [directory.to_owned(), directory.join("src")].into_iter().filter_map(|place| place.read_dir().ok());
    let entries = entries.flatten().filter_map(Result::ok).map(|entry| entry.path());
    let mut files = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "egg-info"))
        .map(|path| path.join("requires.txt"));
    files.find(|file| file.is_file())
}

/// Returns the texts of a list.
fn strings(value: Option<&Value>) -> impl Iterator<Item = &str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Returns the directory of all packages out of `package_dir` in `setup.cfg`.
fn root_of_packages(text: &str) -> Option<PathBuf> {
    text.lines().find_map(|line| line.trim().strip_prefix('=')).map(|directory| PathBuf::from(directory.trim()))
}

fn without_control_characters(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, Project) {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let project = Project::read(directory.path()).unwrap();
        (directory, project)
    }

    fn metadata(files: &[(&str, &str)]) -> (String, String) {
        let (directory, project) = project(files);
        let target = directory.path().join("target");
        project.write_metadata(&target).unwrap();
        let written = target.read_dir().unwrap().next().unwrap().unwrap().path();
        let read = |name: &str| std::fs::read_to_string(written.join(name)).unwrap();
        (written.file_name().unwrap().to_str().unwrap().to_owned() + "\n" + &read("METADATA"), read("entry_points.txt"))
    }

    #[test]
    fn a_stated_project_has_a_table() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        assert!(format!("{:#}", Project::read_stated(root).unwrap_err()).contains("there is no "));
        std::fs::write(root.join("pyproject.toml"), "[tool.x]\na = 1").unwrap();
        assert!(format!("{:#}", Project::read_stated(root).unwrap_err()).contains("no table `project`"));
        std::fs::write(root.join("pyproject.toml"), "[project]\nname = 'x'\n[broken").unwrap();
        assert!(format!("{:#}", Project::read(root).unwrap_err()).contains("cannot read"));
    }

    #[test]
    fn metadata_is_that_of_an_installed_project() {
        let text = "[project]\nname = 'My.Server'\nversion = '1.2'\ndependencies = ['mcp<2']\n[project.scripts]\nserve = 'my:main'\n\
                    [project.entry-points.pytest11]\nmine = 'my.plugin'\n[project.optional-dependencies]\n\
                    fast = ['orjson>3; python_version > \"3\"', 'ujson']\n";
        assert_eq!(
            metadata(&[("pyproject.toml", text)]),
            (
                "My_Server-1.2.dist-info\nMetadata-Version: 2.4\nName: My.Server\nVersion: 1.2\nRequires-Dist: mcp<2\nProvides-Extra: fast\n\
                 Requires-Dist: orjson>3 ; (python_version > \"3\") and extra == 'fast'\nRequires-Dist: ujson ; extra == 'fast'\n"
                    .to_owned(),
                "[console_scripts]\nserve = my:main\n[pytest11]\nmine = my.plugin\n".to_owned()
            )
        );
        let setup = "[metadata]\nname = old\nversion = attr: old.__version__\n[options]\ninstall_requires =\n    six\n\
                     [options.entry_points]\nconsole_scripts =\n    old = old:main\n";
        assert_eq!(
            metadata(&[("setup.cfg", setup), ("old/__init__.py", "x = 1\n__version__ = '3.4'  # now\n")]),
            (
                "old-3.4.dist-info\nMetadata-Version: 2.4\nName: old\nVersion: 3.4\nRequires-Dist: six\n".to_owned(),
                "[console_scripts]\nold = old:main\n".to_owned()
            )
        );
        let poetry = "[tool.poetry]\nname = 'p'\nversion = '2'\n[tool.poetry.scripts]\np = 'p:main'\n[tool.poetry.dependencies]\npython = '^3.9'\nsix = '^1.2'\n";
        assert_eq!(
            metadata(&[("pyproject.toml", poetry)]).0,
            "p-2.dist-info\nMetadata-Version: 2.4\nName: p\nVersion: 2\nRequires-Dist: six>=1.2,<2\n"
        );
        let dynamic = "[project]\nname = 'd'\ndynamic = ['version']\n";
        let info = "Metadata-Version: 2.1\nName: d\nVersion: 9.1\n\nVersion: 1\n";
        assert!(metadata(&[("pyproject.toml", dynamic), ("PKG-INFO", info)]).0.contains("\nVersion: 9.1\n"));
        assert!(metadata(&[("pyproject.toml", dynamic)]).0.contains("\nVersion: 0\n"));
        let stated = "[project]\nname = 'd'\nversion = '1'\ndescription = 'Does'\nlicense = 'MIT'\nauthors = [{name = 'A'}]\n\
                      classifiers = ['X']\n[project.urls]\nHome = 'https://h.example'\n";
        let headers =
            "Summary: Does\nLicense-Expression: MIT\nAuthor: A\nClassifier: X\nProject-URL: Home, https://h.example\n";
        assert!(metadata(&[("pyproject.toml", stated)]).0.ends_with(headers));
        let info = "Name: d\nVersion: 1\nLicense-Expression: MIT\nClassifier: X\nClassifier: Y\nObsoletes: z\n\nText";
        let headers = "\nVersion: 1\nLicense-Expression: MIT\nClassifier: X\nClassifier: Y\n";
        assert!(metadata(&[("pyproject.toml", dynamic), ("PKG-INFO", info)]).0.ends_with(headers));
    }

    #[test]
    fn modules_lie_where_the_build_says() {
        let sources = |text: &str| {
            let files = [("pyproject.toml", text), ("src/a.py", ""), ("lib/b.py", ""), ("python/c.py", "")];
            project(&files).1.sources().iter().map(|source| source.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(sources(""), ["src", ""]);
        assert_eq!(sources("[tool.setuptools]\npackage-dir = {'' = './lib'}"), ["lib", "src", ""]);
        assert_eq!(sources("[tool.setuptools.packages.find]\nwhere = ['python', '../x', 'no']"), ["python", "src", ""]);
        assert_eq!(sources("[[tool.poetry.packages]]\ninclude = 'b'\nfrom = 'lib'"), ["lib", "src", ""]);
        assert_eq!(sources("[tool.hatch.build.targets.wheel]\npackages = ['python/c']"), ["python", "src", ""]);
    }
}
