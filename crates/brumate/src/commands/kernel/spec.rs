//! Kernelspecs: the entries in Jupyter's list of kernels.
//!
//! Source of the directories: the documentation of `jupyter_core`, and `jupyter --paths`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::ArgMatches;
use serde_json::{Value, json};

use crate::bounded_file::read_text;
use crate::cli::{KernelInstallArgs, forwarded};
use crate::replace_file::replace_file;

/// File that describes a kernel, in its directory.
const FILE: &str = "kernel.json";
/// Key in the metadata of our kernels.
const MARK: &str = "brumate";
/// Longest name of a kernel, in bytes.
const MAX_NAME: usize = 64;
/// Longest description of a kernel that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// System directories that Jupyter reads.
const SYSTEM: [&str; 2] = ["/usr/local/share/jupyter", "/usr/share/jupyter"];

/// Directories that have the data of Jupyter, the first wins.
struct Directories {
    user: Option<PathBuf>,
    sys_prefix: Option<PathBuf>,
    path: Vec<PathBuf>,
}

impl Directories {
    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let directory = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = |below: &str| directory("HOME").map(|home| home.join(below));
        let data = match cfg!(target_os = "macos") {
            true => home("Library/Jupyter"),
            false => {
                directory("XDG_DATA_HOME").map(|data| data.join("jupyter")).or_else(|| home(".local/share/jupyter"))
            }
        };
        let prefix = directory("VIRTUAL_ENV").or_else(|| directory("CONDA_PREFIX"));
        let path = variable("JUPYTER_PATH").unwrap_or_default();
        Self {
            user: directory("JUPYTER_DATA_DIR").or(data),
            sys_prefix: prefix.map(|prefix| prefix.join("share/jupyter")),
            path: std::env::split_paths(&path).filter(|path| !path.as_os_str().is_empty()).collect(),
        }
    }

    fn of_process() -> Self {
        Self::of(|name| std::env::var_os(name))
    }

    /// Returns the directories of kernels, in the order of Jupyter's search.
    fn kernels(&self) -> Vec<PathBuf> {
        let system = SYSTEM.iter().map(PathBuf::from);
        let all = self.path.iter().chain(&self.user).chain(&self.sys_prefix).cloned().chain(system);
        all.map(|directory| directory.join("kernels")).collect()
    }
}

/// Adds a kernel, or replaces one of ours. Returns the message about it.
///
/// # Errors
///
/// The name is taken by a kernel that is not ours, or the files cannot be written.
pub(super) fn install(arguments: &KernelInstallArgs, matches: &ArgMatches) -> anyhow::Result<String> {
    let name = checked_name(&arguments.name)?;
    let directories = Directories::of_process();
    let data = match (&arguments.prefix, arguments.sys_prefix) {
        (Some(prefix), _) => forwarded::absolute(prefix).join("share/jupyter"),
        (None, true) => directories.sys_prefix.context(
            "`--sys-prefix` needs an active environment: neither VIRTUAL_ENV nor CONDA_PREFIX is set; name one with `--prefix DIR`",
        )?,
        (None, false) => directories.user.context("there is no home directory: name a directory with `--prefix DIR`")?,
    };
    let directory = data.join("kernels").join(&name);
    let file = directory.join(FILE);
    if file.try_exists().unwrap_or(true) && !is_ours(&file) {
        bail!("the kernel `{name}` in {} is another program's; choose a name with `--name`", directory.display());
    }
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let text =
        serde_json::to_string_pretty(&content(&program, arguments, &forwarded::shared_options(matches, "kernel"))?)?;
    std::fs::create_dir_all(&directory)
        .and_then(|()| replace_file(&file, &format!("{text}\n")))
        .with_context(|| format!("cannot write {}", file.display()))?;
    let is_found = Directories::of_process().kernels().contains(&data.join("kernels"));
    let note = match is_found {
        true => "",
        false => "\nJupyter finds it if it is installed below the same prefix, or if JUPYTER_PATH names it.",
    };
    Ok(format!("installed the kernel `{name}`: {}{note}", file.display()))
}

/// Returns the content of a description.
fn content(program: &Path, arguments: &KernelInstallArgs, options: &[OsString]) -> anyhow::Result<Value> {
    let mut line: Vec<OsString> = vec![program.into(), "kernel".into(), "run".into()];
    line.extend(options.iter().cloned());
    if let Some(session) = &arguments.session {
        line.push(format!("--session={session}").into());
    }
    if arguments.active_output {
        line.push("--active-output".into());
    }
    line.extend(["-f", "{connection_file}"].map(OsString::from));
    let line = line.iter().map(forwarded::text).collect::<anyhow::Result<Vec<String>>>()?;
    Ok(json!({
        "argv": line,
        "display_name": arguments.display_name,
        "language": "python",
        // A signal would end the processes of a console's group as well.
        "interrupt_mode": "message",
        "metadata": {"debugger": false, MARK: {"version": env!("CARGO_PKG_VERSION")}},
    }))
}

/// Removes a kernel of ours from the first directory that has it. Returns the message about it.
///
/// # Errors
///
/// There is no such kernel, it is another program's, or it cannot be removed.
pub(super) fn remove(name: &str) -> anyhow::Result<String> {
    let name = checked_name(name)?;
    let directories = Directories::of_process().kernels();
    let found = directories.iter().map(|kernels| kernels.join(&name)).find(|directory| directory.join(FILE).exists());
    let directory = found.ok_or_else(|| anyhow!("there is no kernel `{name}`; `brumate kernel list` shows all"))?;
    if !is_ours(&directory.join(FILE)) {
        bail!(
            "the kernel in {} is another program's: `jupyter kernelspec remove {name}` removes it",
            directory.display()
        );
    }
    std::fs::remove_dir_all(&directory).with_context(|| format!("cannot remove {}", directory.display()))?;
    Ok(format!("removed the kernel `{name}`: {}", directory.display()))
}

/// Returns a table of our kernels: name and file.
///
/// # Errors
///
/// None at present: a directory that cannot be read has no kernels.
pub(super) fn list() -> anyhow::Result<String> {
    let mut lines: Vec<String> = Vec::new();
    for kernels in Directories::of_process().kernels() {
        let Ok(entries) = std::fs::read_dir(kernels) else { continue };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path().join(FILE)).collect();
        files.sort();
        for file in files.iter().filter(|file| is_ours(file)) {
            let name = file.parent().and_then(Path::file_name).unwrap_or_default();
            lines.push(format!("{}  {}", name.to_string_lossy(), file.display()));
        }
    }
    if lines.is_empty() {
        return Ok("no kernel of Brumate is installed; `brumate kernel install` adds one".to_owned());
    }
    Ok(lines.join("\n"))
}

/// Returns whether a description is of a kernel of ours.
fn is_ours(file: &Path) -> bool {
    let content = read_text(file, MAX_FILE).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
    content.is_some_and(|content| content["metadata"][MARK].is_object())
}

/// Checks the name of a kernel, which is the name of its directory.
fn checked_name(name: &str) -> anyhow::Result<String> {
    let fits = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    if !fits || name.is_empty() || name.len() > MAX_NAME || name.starts_with('.') {
        bail!("{name:?} is no name of a kernel: it has letters, digits, `.`, `_` and `-`");
    }
    Ok(name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
        |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into())
    }

    #[test]
    fn kernels_are_where_jupyter_looks() {
        let all = Directories::of(variables(&[
            ("HOME", "/home/ada"),
            ("JUPYTER_PATH", "/a:/b"),
            ("JUPYTER_DATA_DIR", "/data"),
            ("VIRTUAL_ENV", "/venv"),
        ]));
        let expected = [
            "/a/kernels",
            "/b/kernels",
            "/data/kernels",
            "/venv/share/jupyter/kernels",
            "/usr/local/share/jupyter/kernels",
            "/usr/share/jupyter/kernels",
        ];
        assert_eq!(all.kernels(), expected.map(PathBuf::from));
        let home = Directories::of(variables(&[("HOME", "/home/ada")]));
        let user = if cfg!(target_os = "macos") { "Library/Jupyter" } else { ".local/share/jupyter" };
        assert_eq!((home.user, home.sys_prefix), (Some(Path::new("/home/ada").join(user)), None));
    }

    #[test]
    fn names_are_names_of_directories() {
        for name in ["brumate", "Py-3.14_x"] {
            assert_eq!(checked_name(name).unwrap(), name.to_ascii_lowercase());
        }
        for name in ["", ".", "..", "a/b", "a b", "é"] {
            assert!(checked_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn other_programs_kernels_are_not_ours() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(FILE);
        assert!(!is_ours(&file));
        for (text, ours) in [
            ("{", false),
            (r#"{"metadata": {"debugger": true}}"#, false),
            (r#"{"metadata": {"brumate": {"version": "1"}}}"#, true),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(is_ours(&file), ours, "{text}");
        }
    }
}
