//! Random sets of requirements in random worlds: the resolver finds what uv finds, and fails where uv fails.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use brumate_packages::Requirement;
use brumate_packages::resolver::{Policy, ResolutionError, Resolver};
use brumate_packages::settings::{Credentials, Index, Settings};
use tokio::io::AsyncWriteExt;
use url::Url;

use brumate_test_support::{Random, count, seed};

use super::server::Server;
use super::universe::Universe;

const SETS_PER_WORLD: u64 = 10;

/// Returns uv's executable, beside the Python that the test environment names.
pub(crate) fn uv() -> PathBuf {
    let python = std::env::var_os("BRUMATE_TEST_PYTHON_UV").expect("set up by `cargo xtask test --setup`");
    PathBuf::from(python).with_file_name("uv")
}

/// Returns `name==version` for each distribution, or `None` if uv finds no solution.
pub(crate) async fn ask_uv(
    cache: &Path,
    index: &Url,
    requirements: &[String],
    constraints: &[String],
) -> Option<BTreeSet<String>> {
    let directory = tempfile::tempdir().expect("temporary directory");
    let file = directory.path().join("constraints.txt");
    std::fs::write(&file, constraints.join("\n")).expect("written");
    let mut command = tokio::process::Command::new(uv());
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("UV_") || name_text.starts_with("PIP_") || name_text.ends_with("_PROXY") {
            command.env_remove(&name);
        }
    }
    command
        .args(["pip", "compile", "-", "--no-config", "--no-header", "--no-annotate", "--quiet"])
        // Otherwise every call would examine the interpreter again.
        .arg("--cache-dir")
        .arg(cache)
        .args(["--python-version", "3.14.2", "--python-platform", "wasm32-pyodide2025", "--only-binary", ":all:"])
        .args(["--default-index", index.as_str(), "--python"])
        .arg(std::env::var_os("BRUMATE_TEST_PYTHON_UV").expect("set"))
        .arg("-c")
        .arg(&file)
        .current_dir(directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("uv starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(requirements.join("\n").as_bytes()).await.expect("uv reads");
    drop(stdin);
    let output = child.wait_with_output().await.expect("uv ends");
    if output.status.success() {
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let lines = text.lines().map(str::trim).filter(|line| line.contains("=="));
        return Some(lines.map(|line| line.split(" ;").next().unwrap_or(line).to_owned()).map(plain).collect());
    }
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(complaint.contains("No solution found"), "uv failed otherwise: {complaint}");
    None
}

/// Returns `name[extra]==1` without the extra.
fn plain(line: String) -> String {
    match (line.find('['), line.find(']')) {
        (Some(from), Some(to)) => format!("{}{}", &line[..from], &line[to + 1..]),
        _ => line,
    }
}

pub(crate) fn parsed(texts: &[String]) -> Vec<Requirement> {
    texts.iter().map(|text| text.parse().expect("a requirement")).collect()
}

pub(crate) async fn ask_us(
    resolver: &Resolver,
    requirements: &[String],
    constraints: &[String],
) -> Result<BTreeSet<String>, String> {
    match resolver.resolve(&parsed(requirements), &parsed(constraints), Policy::default()).await {
        Ok(resolution) => {
            Ok(resolution.packages.iter().map(|package| format!("{}=={}", package.name, package.version)).collect())
        }
        Err(ResolutionError::NoSolution(text)) => Err(text),
        Err(error) => panic!("{requirements:?} failed otherwise: {error}"),
    }
}

/// Returns whether uv finds that this is a solution.
async fn is_solution(
    cache: &Path,
    index: &Url,
    requirements: &[String],
    constraints: &[String],
    solution: &BTreeSet<String>,
) -> bool {
    let pinned: Vec<String> = constraints.iter().chain(solution).cloned().collect();
    ask_uv(cache, index, requirements, &pinned).await.as_ref() == Some(solution)
}

#[tokio::test(flavor = "multi_thread")]
async fn random_requirements_resolve_as_with_uv() {
    let (first, worlds) = (seed(), count(5, 20));
    let (mut solved, mut unsolved, mut other_solutions, mut differences) = (0, 0, 0, Vec::new());
    for seed in first..first + worlds {
        let universe = Arc::new(Universe::new(seed));
        let world = universe.clone();
        let server = Server::start(move |request| world.answer(request)).await;
        let index = Index::new(server.url.join("simple/").expect("a URL").as_str(), &mut Credentials::default());
        let index = index.expect("a URL");
        let cache = tempfile::tempdir().expect("temporary directory");
        let for_uv = server.url.join("uv/").expect("a URL");
        let resolver = Resolver::new(Settings { indexes: vec![index], ..Settings::default() });
        let resolver = resolver.expect("settings");
        for set in 0..SETS_PER_WORLD {
            let mut random = Random::part(seed, set);
            let requirements = universe.requirements(&mut random);
            let constraints = universe.constraints(&mut random);
            let (theirs, ours) = tokio::join!(
                ask_uv(cache.path(), &for_uv, &requirements, &constraints),
                ask_us(&resolver, &requirements, &constraints)
            );
            if theirs.is_some() {
                solved += 1
            } else {
                unsolved += 1
            }
            match (&theirs, &ours) {
                (Some(theirs), Ok(ours)) if theirs == ours => {}
                (None, Err(explanation)) => assert!(!explanation.is_empty()),
                (Some(_), Ok(ours)) if is_solution(cache.path(), &for_uv, &requirements, &constraints, ours).await => {
                    other_solutions += 1;
                }
                _ => {
                    let ours = ours.map_err(|explanation| explanation.lines().take(3).collect::<String>());
                    let all = theirs.iter().flatten().chain(ours.iter().flatten());
                    let mut names: Vec<&str> = all.filter_map(|line| line.split("==").next()).collect();
                    names.sort_unstable();
                    names.dedup();
                    let world = universe.describe(&names);
                    differences.push(format!(
                        "{seed}/{set} {requirements:?} -c {constraints:?}:\n  uv   {theirs:?}\n  ours {ours:?}\n{world}"
                    ));
                }
            }
        }
    }
    eprintln!("{solved} solved, {other_solutions} otherwise, {unsolved} not, {} differences", differences.len());
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
    // Which of two newest versions is chosen first decides between them, where they exclude each other.
    assert!(other_solutions * 10 <= solved, "{other_solutions} of {solved} solved otherwise");
    // The worlds would test nothing if all sets had the same result.
    assert!(solved >= worlds / 2 && unsolved >= worlds / 2, "{solved} solved, {unsolved} not");
}
