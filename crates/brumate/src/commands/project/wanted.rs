//! The requirements of a project: those that it cannot do without, its extras and its groups.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use brumate_packages::{DistributionName, Requirement};
use toml::Value;

use super::{Project, poetry, requirement_files, strings};

/// Extras and groups that are wanted without being named.
const DEFAULTS: [&str; 4] = ["dev", "test", "testing", "tests"];
/// Plugins of pytest by the start of their options. Settings of pytest that name one end its run when the plugin is missing.
const PLUGINS: [(&str, &str); 4] = [
    ("--asyncio-mode", "pytest-asyncio"),
    ("--benchmark-", "pytest-benchmark"),
    ("--cov", "pytest-cov"),
    ("--timeout", "pytest-timeout"),
];
/// Most requirements of a project.
const MAX_PROJECT_REQUIREMENTS: usize = 5000;
/// Most files in a directory of requirements that are looked at.
const MAX_LISTED_FILES: usize = 1000;

/// Extras, groups and files that are named.
#[derive(Debug, Default)]
pub(in crate::commands) struct Selection<'a> {
    /// Names of extras.
    pub(in crate::commands) extras: &'a [String],
    /// All extras.
    pub(in crate::commands) all_extras: bool,
    /// Names of groups.
    pub(in crate::commands) groups: &'a [String],
    /// Files of requirements.
    pub(in crate::commands) files: &'a [PathBuf],
}

/// Requirements of a project.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::commands) struct Wanted {
    /// Requirements that it cannot do without.
    pub(in crate::commands) required: Vec<String>,
    /// Requirements of extras, groups and files for developers, each with its place.
    pub(in crate::commands) optional: Vec<(String, String)>,
    /// Notes for the user about lines that are no requirement.
    pub(in crate::commands) notes: Vec<String>,
    /// Whether the project states its requirements. They may be none.
    pub(in crate::commands) is_stated: bool,
}

/// Statements of a project's files about its requirements.
#[derive(Debug, Default)]
pub(super) struct Stated {
    pub(super) required: Vec<String>,
    pub(super) extras: BTreeMap<String, Vec<String>>,
    groups: BTreeMap<String, Vec<Value>>,
    notes: Vec<String>,
    is_stated: bool,
}

impl Project {
    /// Reads the statements of the project's own files: `pyproject.toml` first, then the metadata of a source distribution, then
    /// `setup.cfg`.
    pub(super) fn stated(&self) -> Stated {
        let mut stated = Stated::default();
        if self.at(&["project", "dependencies"]).is_some() {
            (stated.required, stated.is_stated) = (self.requirements(), true);
        }
        for (name, list) in
            self.at(&["project", "optional-dependencies"]).and_then(Value::as_table).into_iter().flatten()
        {
            stated.extras.insert(normalized(name), strings(Some(list)).map(str::to_owned).collect());
        }
        let dynamic: Vec<&str> = strings(self.at(&["project", "dynamic"])).collect();
        if self.at(&["project", "name"]).is_some() && !stated.is_stated {
            stated.is_stated = !dynamic.contains(&"dependencies");
        }
        self.add_poetry(&mut stated);
        let lists = self.at(&["dependency-groups"]).and_then(Value::as_table).into_iter().flatten();
        let lists =
            lists.chain(self.at(&["tool", "pdm", "dev-dependencies"]).and_then(Value::as_table).into_iter().flatten());
        for (name, list) in lists {
            let list = list.as_array().cloned().unwrap_or_default();
            stated.groups.entry(normalized(name)).or_default().extend(list);
        }
        if let Some(list) = self.at(&["tool", "uv", "dev-dependencies"]).and_then(Value::as_array) {
            stated.groups.entry("dev".to_owned()).or_default().extend(list.iter().cloned());
        }
        if stated.is_stated {
            return stated;
        }
        if !self.info.is_empty() {
            stated.is_stated = true;
            for text in self.info.values("requires-dist") {
                match extra_of(text) {
                    Some((text, extra)) => stated.extras.entry(normalized(&extra)).or_default().push(text),
                    None => stated.required.push(text.to_owned()),
                }
            }
        } else if self.setup.section("options").next().is_some() {
            let lines = |text: &str| -> Vec<String> {
                let separator = if text.contains('\n') { '\n' } else { ';' };
                text.split(separator).map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
            };
            if let Some(text) = self.setup.value("options", "install_requires") {
                (stated.required, stated.is_stated) = (lines(text), true);
            }
            for (name, text) in self.setup.section("options.extras_require") {
                stated.extras.insert(normalized(name), lines(text));
            }
        }
        stated
    }

    fn add_poetry(&self, stated: &mut Stated) {
        let table = |keys: &[&str]| self.at(keys).and_then(Value::as_table);
        let mut notes = Vec::new();
        let mut readable = |found: Vec<Result<String, String>>| -> Vec<String> {
            found.into_iter().filter_map(|found| found.map_err(|note| notes.push(note)).ok()).collect()
        };
        let main = table(&["tool", "poetry", "dependencies"]);
        if let Some(main) = main
            && !stated.is_stated
        {
            (stated.required, stated.is_stated) = (readable(poetry::requirements(main)), true);
            for (name, list) in table(&["tool", "poetry", "extras"]).into_iter().flatten() {
                let found = strings(Some(list)).flat_map(|name| poetry::named(main, name)).collect();
                stated.extras.insert(normalized(name), readable(found));
            }
        }
        let groups = table(&["tool", "poetry", "group"]).into_iter().flatten();
        let groups = groups.filter_map(|(name, group)| Some((name.as_str(), group.get("dependencies")?.as_table()?)));
        for (name, group) in groups.chain(table(&["tool", "poetry", "dev-dependencies"]).map(|group| ("dev", group))) {
            let list = readable(poetry::requirements(group)).into_iter().map(Value::String);
            stated.groups.entry(normalized(name)).or_default().extend(list);
        }
        stated.notes.extend(notes);
    }

    /// Returns what the project requires, with the extras, groups and files of `selection`, and those that have a name of `DEFAULTS`.
    ///
    /// # Errors
    ///
    /// The project has no such extra or group, a group includes itself, a file cannot be read, or there are too many requirements.
    pub(in crate::commands) fn wanted(&self, selection: &Selection<'_>) -> anyhow::Result<Wanted> {
        let stated = self.stated();
        let mut wanted = Wanted {
            required: stated.required.clone(),
            notes: stated.notes.clone(),
            is_stated: stated.is_stated,
            ..Wanted::default()
        };
        let choose =
            |named: &[String], known: Vec<&String>, option: &str, what: &str| -> anyhow::Result<BTreeSet<String>> {
                let is_known = |name: &String| known.contains(&name);
                let mut chosen: BTreeSet<String> =
                    DEFAULTS.iter().map(|name| (*name).to_owned()).filter(is_known).collect();
                for name in named {
                    let normal = normalized(name);
                    if !known.contains(&&normal) {
                        let list: Vec<&str> = known.iter().map(|name| name.as_str()).collect();
                        let list = if list.is_empty() { "none".to_owned() } else { list.join(", ") };
                        bail!("`{option} {name}`: the project has no such {what}; it has: {list}");
                    }
                    chosen.insert(normal);
                }
                Ok(chosen)
            };
        let mut extras = choose(selection.extras, stated.extras.keys().collect(), "--extra", "extra")?;
        if selection.all_extras {
            extras.extend(stated.extras.keys().cloned());
        }
        let groups = choose(selection.groups, stated.groups.keys().collect(), "--group", "group")?;
        for name in &groups {
            let mut found = Vec::new();
            add_group(name, &stated.groups, &mut Vec::new(), &mut found)?;
            wanted.optional.extend(found.into_iter().map(|text| (text, format!("group {name}"))));
        }
        for name in &extras {
            let list = stated.extras.get(name).into_iter().flatten();
            wanted.optional.extend(list.map(|text| (text.clone(), format!("extra {name}"))));
        }
        let has_own_tests = !groups.is_empty() || !extras.is_empty();
        self.add_files(selection.files, has_own_tests, &mut wanted)?;
        self.expand(&stated, &mut wanted);
        self.add_plugins(&mut wanted)?;
        let count = wanted.required.len() + wanted.optional.len();
        if count > MAX_PROJECT_REQUIREMENTS {
            bail!("the project has {count} requirements; at most {MAX_PROJECT_REQUIREMENTS} can be installed");
        }
        Ok(wanted)
    }

    /// Adds the requirements of `requirements.txt` if the metadata states none, and those of the named files; if there are none, those of
    /// the project's own files for developers.
    fn add_files(&self, named: &[PathBuf], has_own_tests: bool, wanted: &mut Wanted) -> anyhow::Result<()> {
        let mut read = |file: &Path| -> anyhow::Result<Vec<String>> {
            let found = requirement_files::read(file, &self.directory).map_err(|error| anyhow!(error))?;
            let shown = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let notes = found.ignored.iter().map(|line| format!("{shown}: `{line}` has no effect here"));
            wanted.notes.extend(notes);
            Ok(found.requirements)
        };
        let main = self.directory.join("requirements.txt");
        if !wanted.is_stated && main.is_file() {
            wanted.required.extend(read(&main)?);
            wanted.is_stated = true;
        }
        for file in named {
            wanted.required.extend(read(file)?);
            wanted.is_stated = true;
        }
        if has_own_tests || !named.is_empty() {
            return Ok(());
        }
        for file in self.files_for_developers() {
            let shown = file.strip_prefix(&self.directory).unwrap_or(&file).display().to_string();
            let found = read(&file)?;
            wanted.is_stated = true;
            wanted.optional.extend(found.into_iter().map(|text| (text, shown.clone())));
        }
        Ok(())
    }

    /// Returns files such as `requirements-dev.txt`, `test_requirements.txt` and `requirements/tests.txt`.
    fn files_for_developers(&self) -> Vec<PathBuf> {
        let list = |directory: &Path| -> Vec<PathBuf> {
            let entries = directory.read_dir().into_iter().flatten().take(MAX_LISTED_FILES);
            entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_file()).collect()
        };
        let words = |path: &Path| -> Vec<String> {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
            let Some(stem) = name.strip_suffix(".txt") else { return Vec::new() };
            stem.split(['-', '_', '.']).map(str::to_owned).collect()
        };
        let is_for_developers = |words: &[String]| words.iter().any(|word| DEFAULTS.contains(&word.as_str()));
        let in_root = list(&self.directory).into_iter().filter(|path| {
            let words = words(path);
            is_for_developers(&words) && words.iter().any(|word| word == "requirements" || word == "reqs")
        });
        let below =
            list(&self.directory.join("requirements")).into_iter().filter(|path| is_for_developers(&words(path)));
        let mut files: Vec<PathBuf> = in_root.chain(below).collect();
        files.sort();
        files
    }

    /// Adds the plugins whose options the settings of pytest have, if no requirement names them.
    fn add_plugins(&self, wanted: &mut Wanted) -> anyhow::Result<()> {
        let options = self.pytest_options()?;
        let is_used = |option: &str| options.split_whitespace().any(|word| word.starts_with(option));
        let named = wanted.required.iter().chain(wanted.optional.iter().map(|(text, _)| text));
        let names = named.filter_map(|text| Some(text.parse::<Requirement>().ok()?.name.to_string()));
        let names: BTreeSet<String> = names.collect();
        let missing = PLUGINS.into_iter().filter(|(option, plugin)| is_used(option) && !names.contains(*plugin));
        let missing = missing.map(|(option, plugin)| (plugin.to_owned(), format!("options of pytest: {option}")));
        wanted.optional.extend(missing);
        Ok(())
    }

    /// Replaces requirements for the project itself by those of the extras that they name.
    fn expand(&self, stated: &Stated, wanted: &mut Wanted) {
        let Some(own) = self.name().and_then(|name| DistributionName::new(&name)) else { return };
        let extras_of = |text: &str| -> Option<Vec<String>> {
            let requirement = text.parse::<Requirement>().ok().filter(|requirement| requirement.name == own)?;
            Some(requirement.extras.iter().map(ToString::to_string).collect())
        };
        wanted.required.retain(|text| extras_of(text).is_none());
        let mut seen = BTreeSet::new();
        let mut todo: Vec<(String, String)> = std::mem::take(&mut wanted.optional);
        todo.reverse();
        while let Some((text, place)) = todo.pop() {
            match extras_of(&text) {
                None => wanted.optional.push((text, place)),
                Some(extras) => {
                    for extra in extras.into_iter().filter(|extra| seen.insert(extra.clone())) {
                        let list = stated.extras.get(&extra).into_iter().flatten();
                        todo.extend(list.rev().map(|text| (text.clone(), format!("extra {extra}"))));
                    }
                }
            }
        }
        let mut known = BTreeSet::new();
        wanted.optional.retain(|(text, _)| known.insert(text.clone()));
    }
}

/// Adds the requirements of a group (PEP 735), and of those that it includes.
fn add_group(
    name: &str,
    groups: &BTreeMap<String, Vec<Value>>,
    above: &mut Vec<String>,
    found: &mut Vec<String>,
) -> anyhow::Result<()> {
    if above.iter().any(|above| above == name) {
        bail!("the group `{name}` of the project includes itself");
    }
    let Some(list) = groups.get(name) else {
        bail!("a group of the project includes `{name}`, and there is no such group");
    };
    above.push(name.to_owned());
    for item in list {
        if let Some(text) = item.as_str() {
            found.push(text.to_owned());
        } else if let Some(included) = item.get("include-group").and_then(Value::as_str) {
            add_group(&normalized(included), groups, above, found)?;
        }
        if found.len() > MAX_PROJECT_REQUIREMENTS {
            bail!("the group `{name}` of the project has more than {MAX_PROJECT_REQUIREMENTS} requirements");
        }
    }
    above.pop();
    Ok(())
}

/// Splits a requirement of a distribution's metadata that belongs to an extra: the requirement, and the name of the extra.
fn extra_of(text: &str) -> Option<(String, String)> {
    let (requirement, marker) = text.split_once(';')?;
    let at = marker.find("extra ==").or_else(|| marker.find("extra=="))?;
    let quoted = marker[at..].trim_start_matches(|character: char| !matches!(character, '"' | '\''));
    let quote = quoted.chars().next()?;
    let name = quoted[1..].split(quote).next()?;
    let rest = marker[..at].trim().trim_end_matches("and").trim();
    let marker = if rest.is_empty() { String::new() } else { format!("; {rest}") };
    Some((format!("{}{marker}", requirement.trim()), name.to_owned()))
}

/// Returns the normal form of the name of an extra or a group.
fn normalized(name: &str) -> String {
    DistributionName::new(name).map_or_else(|| name.to_lowercase(), |name| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::tests::project;
    use super::*;

    fn wanted(files: &[(&str, &str)], selection: &Selection<'_>) -> anyhow::Result<(Vec<String>, Vec<String>)> {
        let (_directory, project) = project(files);
        let wanted = project.wanted(selection)?;
        let optional = wanted.optional.into_iter().map(|(text, place)| format!("{text} ({place})")).collect();
        Ok((wanted.required, optional))
    }

    fn by_default(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        wanted(files, &Selection::default()).unwrap()
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    const PYPROJECT: &str = "[project]\nname = 'My_Pkg'\nversion = '1'\ndependencies = ['a>=1']\n[project.optional-dependencies]\n\
        test = ['t1', 'my-pkg[Fast.Er]']\nfast-er = ['f1']\nall = ['my.pkg[fast_er,test]']\ndocs = ['sphinx']\n\
        [dependency-groups]\ndev = ['d1', {include-group = 'Lint'}]\nlint = ['ruff']\nloop = [{include-group = 'loop'}]\n\
        lost = [{include-group = 'no'}]\n";

    #[test]
    fn extras_and_groups_for_tests_are_taken_by_default() {
        let file = [("pyproject.toml", PYPROJECT), ("requirements.txt", "no"), ("requirements-dev.txt", "no")];
        let expected = texts(&["d1 (group dev)", "ruff (group dev)", "t1 (extra test)", "f1 (extra fast-er)"]);
        assert_eq!(by_default(&file), (texts(&["a>=1"]), expected));
        let docs = texts(&["Docs"]);
        let found = wanted(&file, &Selection { extras: &docs, ..Selection::default() }).unwrap().1;
        assert!(found.contains(&"sphinx (extra docs)".to_owned()), "{found:?}");
        let found = wanted(&file, &Selection { all_extras: true, ..Selection::default() }).unwrap().1;
        assert_eq!(found.len(), 5, "{found:?}");
        for (extras, groups, part) in [
            (&["x"][..], &[][..], "`--extra x`: the project has no such extra; it has: all, docs, fast-er, test"),
            (&[], &["x"], "`--group x`: the project has no such group; it has: dev, lint, loop, lost"),
            (&[], &["loop"], "the group `loop` of the project includes itself"),
            (&[], &["lost"], "includes `no`, and there is no such group"),
        ] {
            let (extras, groups) = (texts(extras), texts(groups));
            let error =
                wanted(&file, &Selection { extras: &extras, groups: &groups, ..Selection::default() }).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn requirements_are_found_where_projects_have_them() {
        let poetry = "[tool.poetry]\nname = 'p'\n[tool.poetry.dependencies]\npython = '^3.9'\nsix = '^1.2'\nujson = {version = '5', optional = true}\n\
            [tool.poetry.extras]\ntest = ['ujson']\n[tool.poetry.group.dev.dependencies]\nmock = '*'\n[tool.poetry.dev-dependencies]\nnose = '1'\n";
        let found = by_default(&[("pyproject.toml", poetry)]);
        let optional = ["mock (group dev)", "nose==1 (group dev)", "ujson==5 (extra test)"];
        assert_eq!(found, (texts(&["six>=1.2,<2"]), texts(&optional)));
        let info = "Name: d\nRequires-Dist: b>1\nRequires-Dist: t; (python_version > '3') and extra == 'test'\nRequires-Dist: s ; extra == \"docs\"\n\n";
        let dynamic = [("pyproject.toml", "[project]\nname = 'd'\ndynamic = ['dependencies']"), ("PKG-INFO", info)];
        assert_eq!(by_default(&dynamic), (texts(&["b>1"]), texts(&["t; (python_version > '3') (extra test)"])));
        let lists = "b>1\n\n[test]\nt\n[:python_version < '4']\nm\n\n[docs:os_name == 'nt']\ns\n";
        let egg = [("PKG-INFO", "Name: d\nProvides-Extra: test\n"), ("src/d.egg-info/requires.txt", lists)];
        let required = texts(&["b>1", "m ; python_version < '4'"]);
        assert_eq!(by_default(&egg), (required.clone(), texts(&["t (extra test)"])));
        let newer = [("PKG-INFO", "Name: d\nRequires-Dist: n\n"), egg[1]];
        assert_eq!(by_default(&newer), (texts(&["n"]), Vec::new()));
        let setup =
            "[options]\ninstall_requires = a; b>1\n[options.extras_require]\ntests =\n  c; os_name == 'nt'\n  d\n";
        let optional = ["c; os_name == 'nt' (extra tests)", "d (extra tests)"];
        assert_eq!(by_default(&[("setup.cfg", setup), ("setup.py", "")]), (texts(&["a", "b>1"]), texts(&optional)));
        let files = [
            ("requirements.txt", "a==1"),
            ("requirements_dev.txt", "b\n-r requirements.txt"),
            ("requirements/tests.txt", "c"),
            ("requirements/docs.txt", "no"),
            ("test-notes.txt", "no"),
        ];
        let optional = ["c (requirements/tests.txt)", "b (requirements_dev.txt)", "a==1 (requirements_dev.txt)"];
        assert_eq!(by_default(&files), (texts(&["a==1"]), texts(&optional)));
        let (directory, project) = project(&files);
        let named = [directory.path().join("requirements/docs.txt")];
        let found = project.wanted(&Selection { files: &named, ..Selection::default() }).unwrap();
        assert_eq!((found.required, found.optional), (texts(&["a==1", "no"]), Vec::new()));
    }

    #[test]
    fn plugins_are_added_whose_options_the_settings_have() {
        let ini = "[pytest]\naddopts = -q --cov=x\n    --cov-report=html\n";
        let cov = texts(&["pytest-cov (options of pytest: --cov)"]);
        for (name, text) in [
            ("tox.ini", ini),
            ("pytest.ini", ini),
            ("setup.cfg", "[tool:pytest]\naddopts = --cov\n"),
            ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '--cov -q'"),
            ("pyproject.toml", "[tool.pytest]\naddopts = ['-q', '--cov=x']"),
        ] {
            assert_eq!(by_default(&[(name, text)]).1, cov, "{name}: {text}");
        }
        let named = "[project]\nname = 'x'\n[dependency-groups]\ntest = ['pytest_cov>=5']";
        assert_eq!(by_default(&[("tox.ini", ini), ("pyproject.toml", named)]).1, ["pytest_cov>=5 (group test)"]);
        assert!(by_default(&[("tox.ini", "[pytest]\naddopts = -q\n[other]\naddopts = --cov")]).1.is_empty());
    }

    #[test]
    fn a_project_may_state_nothing() {
        for (files, is_stated) in [
            (&[("setup.py", "")][..], false),
            (&[("pyproject.toml", "[tool.x]")], false),
            (&[("pyproject.toml", "[project]\nname = 'x'\ndynamic = ['dependencies']")], false),
            (&[("pyproject.toml", "[project]\nname = 'x'")], true),
        ] {
            assert_eq!(project(files).1.wanted(&Selection::default()).unwrap().is_stated, is_stated, "{files:?}");
        }
    }
}
