//! `brumate test`: runs the tests of a Python project with pytest in the sandbox.

mod copy;
mod packages;
mod results;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use brumate_engine_api::Mount;
use brumate_session::{Request, ScriptEnd};
use tempfile::TempDir;

use self::copy::copy_of;
use self::packages::{Available, available};
use self::results::Results;
use super::exec::{Performed, perform, status_of, variables};
use super::print_error;
use super::project::{Project, Selection, Wanted};
use crate::cli::TestArgs;
use crate::exit_status;
use crate::guest_text::quoted;
use crate::sandbox::single_run_sandbox;
use crate::settings::Settings;
use crate::signals::Signals;

/// Directory of the project in the sandbox.
const PROJECT: &str = "/project";
/// Directory of the sandbox with the metadata of the project, as of an editable install.
const METADATA: &str = "/editable";
/// Directories of the sandbox in which nothing else can be mounted.
const OWN_DIRECTORIES: [&str; 3] = [PROJECT, METADATA, Results::GUEST];

pub(crate) async fn run(settings: &Settings, arguments: &TestArgs) -> anyhow::Result<u8> {
    let mut tests = match Tests::new(&settings.mounts, arguments) {
        Ok(tests) => tests,
        Err(error) => {
            print_error(&format!("brumate: {error:#}"));
            return Ok(exit_status::USAGE);
        }
    };
    for note in &tests.wanted.notes {
        print_error(&format!("brumate: {}", quoted(note)));
    }
    let sandbox = single_run_sandbox(settings)?;
    let work = available(sandbox.runner.packages(), &settings.runner.dependencies, &tests.wanted);
    let (found, signalled) = Signals::listen()?.interruptible(work, || "interrupted".to_owned()).await;
    let Available { requirements, left_out } = match found {
        Ok(found) => found,
        Err(error) => {
            print_error(&format!("brumate: {error}"));
            return Ok(signalled.unwrap_or(exit_status::SANDBOX));
        }
    };
    for (requirement, place, reason) in left_out {
        let reason = reason.lines().next().unwrap_or_default();
        print_error(&format!("brumate: left out: {}", quoted(&format!("{requirement} ({place}): {reason}"))));
    }
    tests.request.requirements = requirements;
    let (report, signalled) = match perform(&sandbox, settings, tests.request).await? {
        Performed::Ended(report, signalled) => (report, signalled),
        Performed::OutputClosed => return Ok(exit_status::BROKEN_PIPE),
    };
    let status = match &report.end {
        ScriptEnd::InstallError { .. } => exit_status::SANDBOX,
        end => status_of(end, signalled),
    };
    if let Some(results) = &tests.results
        && let Err(error) = results.save()
    {
        print_error(&format!("brumate: {error:#}"));
        return Ok(if status == exit_status::SUCCESS { exit_status::FAILURE } else { status });
    }
    Ok(status)
}

/// The tests of a project, and the directories of the host that last as long as they run.
struct Tests {
    request: Request,
    wanted: Wanted,
    results: Option<Results>,
    _copies: Vec<TempDir>,
}

impl Tests {
    /// Reads the project, copies it, and makes the request of its tests.
    ///
    /// # Errors
    ///
    /// There is no project, it cannot be read or copied, or a directory cannot be mounted.
    fn new(mounts: &[Mount], arguments: &TestArgs) -> anyhow::Result<Self> {
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        let (directory, within) = project_of(&arguments.path, &here.context("cannot find the working directory")?)?;
        let project = Project::read(&directory)?;
        let wanted = project.wanted(&Selection {
            extras: &arguments.extra,
            all_extras: arguments.all_extras,
            groups: &arguments.group,
            files: &arguments.requirement,
        })?;
        let mut env = variables(&arguments.env)?;
        let is_taken = |guest: &str| OWN_DIRECTORIES.iter().any(|own| Path::new(guest).starts_with(own));
        if let Some(mount) = mounts.iter().find(|mount| is_taken(&mount.guest)) {
            bail!("`--mount`: {} belongs to the project; choose another path, such as /data", mount.guest);
        }
        let mut request = Request::module("pytest");
        request.directory = PROJECT.to_owned();
        request.states_requirements = wanted.is_stated;
        let mut copies = Vec::new();
        let mut mount = |host: &Path, guest: &str, read_only: bool| {
            request.mounts.push(Mount { host: host.to_owned(), guest: guest.to_owned(), read_only });
        };
        if arguments.write {
            mount(&directory, PROJECT, false);
        } else {
            let copy = copy_of(&directory)?;
            mount(copy.path(), PROJECT, false);
            copies.push(copy);
        }
        let metadata = tempfile::tempdir().context("cannot make a directory for the project's metadata")?;
        project.write_metadata(metadata.path()).context("cannot write the project's metadata")?;
        mount(metadata.path(), METADATA, true);
        copies.push(metadata);
        let results = arguments.junit.as_deref().map(Results::new).transpose()?;
        if let Some(results) = &results {
            mount(results.directory(), Results::GUEST, false);
            request.argv.push(Results::ARGUMENT.to_owned());
        }
        request.mounts.extend(mounts.iter().cloned());
        // The project comes before packages of the bundle, one of which it may be.
        let mut places: Vec<String> = project
            .sources()
            .iter()
            .map(|source| Path::new(PROJECT).join(source).to_string_lossy().trim_end_matches('/').to_owned())
            .collect();
        places.push(METADATA.to_owned());
        match env.iter_mut().find(|(name, _)| name == "PYTHONPATH") {
            Some((_, given)) => *given = format!("{given}:{}", places.join(":")),
            None => env.push(("PYTHONPATH".to_owned(), places.join(":"))),
        }
        request.env = env;
        let own = arguments.arguments.iter().map(|argument| argument.to_string_lossy().into_owned());
        request.argv.extend(own.chain(within.map(|path| path.to_string_lossy().into_owned())));
        Ok(Self { request, wanted, results, _copies: copies })
    }
}

/// Returns the directory of the project, and the path in it that is meant. A path in a project is one if the project lies in the working
/// directory `here`, or is it.
fn project_of(path: &Path, here: &Path) -> anyhow::Result<(PathBuf, Option<PathBuf>)> {
    let absolute = path.canonicalize().with_context(|| format!("cannot read {}", path.display()))?;
    // The innermost first.
    let candidates: Vec<&Path> = absolute
        .ancestors()
        .enumerate()
        .take_while(|(steps, above)| *steps == 0 || above.starts_with(here))
        .map(|(_, above)| above)
        .filter(|above| above.is_dir())
        .collect();
    let strong = candidates.iter().find(|directory| Project::is_in(directory));
    // Of directories that have only a `conftest.py` each, the outermost is the project.
    let Some(project) = strong.or_else(|| candidates.iter().rfind(|directory| Project::may_be_in(directory))) else {
        bail!(
            "{} is no Python project: it has no pyproject.toml, setup.py, setup.cfg, pytest.ini, tox.ini, conftest.py or requirements.txt; \
             name the directory that has one (brumate test DIR)",
            path.display()
        );
    };
    let within = absolute.strip_prefix(project).ok().filter(|within| !within.as_os_str().is_empty());
    Ok(((*project).to_owned(), within.map(Path::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_found_by_its_files() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let elsewhere = root.join("elsewhere");
        std::fs::create_dir_all(root.join("tests/unit")).unwrap();
        std::fs::write(root.join("tests/unit/test_x.py"), "").unwrap();
        let error = format!("{:#}", project_of(&root, &root).unwrap_err());
        assert!(error.contains("is no Python project") && error.contains("pyproject.toml"), "{error}");
        assert!(format!("{:#}", project_of(&root.join("no"), &root).unwrap_err()).contains("cannot read"));
        // Files that directories of tests have as well: the outermost counts.
        for name in ["tests/unit/conftest.py", "tests/conftest.py"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        let file = root.join("tests/unit/test_x.py");
        let found = (root.join("tests"), Some(PathBuf::from("unit/test_x.py")));
        assert_eq!(project_of(&file, &root).unwrap(), found);
        assert_eq!(project_of(&root.join("tests"), &elsewhere).unwrap(), (root.join("tests"), None));
        std::fs::write(root.join("pyproject.toml"), "").unwrap();
        assert_eq!(project_of(&root, &elsewhere).unwrap(), (root.clone(), None));
        for within in ["tests", "tests/unit/test_x.py"] {
            let found = (root.clone(), Some(PathBuf::from(within)));
            assert_eq!(project_of(&root.join(within), &root).unwrap(), found);
        }
        // Beyond the working directory nothing is taken that was not named.
        assert_eq!(project_of(&root.join("tests"), &root.join("tests")).unwrap(), (root.join("tests"), None));
        assert!(project_of(&file, &elsewhere).is_err());
    }
}
