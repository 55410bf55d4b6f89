//! Texts for runs that a limit or a crash ended. Each names the limit and the setting that changes it.

mod ends;

use brumate_engine_api::{ExitReason, FileError, Limits, StopReason};
use brumate_packages::import_names;
use brumate_setting::Setting;

use crate::installs::MissingModules;
use crate::units::{format_duration, format_size};

/// Explains why the host interrupted a guest that reacted to it.
pub fn stopped(reason: StopReason, limits: &Limits) -> String {
    match reason {
        StopReason::TimeLimit => format!(
            "The code was stopped: it ran longer than the time limit of {} (set by {}).",
            format_duration(limits.wall),
            Setting::Timeout
        ),
        StopReason::CpuLimit => format!(
            "The code was stopped: it used more CPU time than the limit of {} (set by {}).",
            format_duration(limits.cpu),
            Setting::CpuTimeout
        ),
        StopReason::Cancelled => "The code was stopped: the call was cancelled or interrupted.".to_owned(),
    }
}

/// Explains why a machine ended, with its peak memory if it was killed.
pub fn machine_exited(reason: &ExitReason, peak: Option<u64>, limits: &Limits) -> String {
    let text = ends::exit_reason(reason, limits);
    let killed = matches!(
        reason,
        ExitReason::MemoryLimit
            | ExitReason::HostMemory
            | ExitReason::CpuLimit
            | ExitReason::TimeLimit
            | ExitReason::Signal(_)
    );
    match peak.filter(|_| killed) {
        Some(peak) => format!("{text} Its process used {} of memory at its peak.", format_size(peak)),
        None => text,
    }
}

/// Explains why a file could not be read or written.
pub(crate) fn file(error: &FileError) -> String {
    match error {
        FileError::NoSpace => format!("{error} (set by {})", Setting::Files),
        _ => error.to_string(),
    }
}

/// Explains that the code exited by itself.
pub fn exited(code: i32) -> String {
    match signal_of_status(code) {
        Some(name) => format!("The code exited with status {code}, as a process that {name} ended."),
        None => format!("The code exited with status {code}."),
    }
}

/// Returns the signal that an exit status of 128 and more stands for in a shell.
pub(crate) fn signal_of_status(code: i32) -> Option<&'static str> {
    signal_name(code.checked_sub(128)?)
}

/// Returns a note for an exception that a limit caused.
pub fn hint(ename: &str, evalue: &str, limits: &Limits) -> Option<String> {
    match ename {
        name if is_memory_error(name) => Some(format!("Note: {}.", memory(limits))),
        "OSError" if evalue.contains("No space left on device") => Some(format!(
            "Note: the code may write at most {} in {} files (bytes set by {}).",
            format_size(limits.file_bytes),
            limits.inodes,
            Setting::Files
        )),
        "OSError" if evalue.contains("Quota exceeded") => Some(format!(
            "Note: the code may write at most {} to mounted directories (set by {}).",
            format_size(limits.mount_bytes),
            Setting::MountLimit
        )),
        "OverflowError" | "ValueError" if TOO_LARGE.iter().any(|end| evalue.ends_with(end)) => {
            Some(INTEGERS.to_owned())
        }
        _ if evalue.contains("this sandbox has no network") => Some(NO_NETWORK.to_owned()),
        _ => None,
    }
}

/// Note for connections to other machines.
const NO_NETWORK: &str = "Note: code in this sandbox has no network; what it reads has to be in the code or in a file.";

/// Endings of errors about integers that fit only platforms of 64 bits; the last three are numpy's.
const TOO_LARGE: [&str; 5] = [
    "too large to convert to C long",
    "too large to convert to C ssize_t",
    "Maximum allowed dimension exceeded",
    "Maximum allowed size exceeded",
    "iterator is too large",
];

/// Note for these errors.
const INTEGERS: &str = "Note: this sandbox has addresses of 32 bits: a length, an index or a C long is at most 2,147,483,647. \
                        Python's own integers and numpy's int64 have no such bound.";

/// Returns a note for an exception that ended a script or a run without a session.
pub(crate) fn script_hint(
    ename: &str,
    evalue: &str,
    missing: &MissingModules,
    context: CodeContext,
    limits: &Limits,
) -> Option<String> {
    import_note(ename, evalue, missing, context).or_else(|| hint(ename, evalue, limits))
}

/// Returns a note for a file that a script did not find, unless it is in one of the `granted` directories.
pub(crate) fn file_hint(ename: &str, evalue: &str, granted: &[String]) -> Option<String> {
    let is_missing = match ename {
        // Programs have another message.
        "FileNotFoundError" => evalue.contains("No such file or directory"),
        "sqlite3.OperationalError" | "OperationalError" => evalue == "unable to open database file",
        _ => false,
    };
    let is_granted = |directory: &String| evalue.contains(&format!("'{}/", directory.trim_end_matches('/')));
    (is_missing && !granted.iter().any(is_granted)).then(|| {
        let (writable, read_only) = (Setting::Mount.with("HOST:GUEST"), Setting::Mount.with("HOST:GUEST:ro"));
        format!(
            "Note: the sandbox has no files of the host; {writable} grants a directory, {read_only} for reading only."
        )
    })
}

/// Returns the name of the module that an error is about.
pub(crate) fn module_of(ename: &str, evalue: &str) -> Option<String> {
    if ename != "ModuleNotFoundError" {
        return None;
    }
    evalue.strip_prefix("No module named '")?.split(['\'', '.']).next().map(str::to_owned)
}

/// How a note tells its reader to name a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeContext {
    /// Cell of a session: `%pip install`.
    Cell,
    /// Script, or a run without a session: inline metadata (PEP 723).
    Script,
    /// The same, of code that has inline metadata.
    ScriptWithMetadata,
    /// Module, or code of a command line: an option.
    CommandLine,
}

impl CodeContext {
    /// Returns the context of a script, or of a run without a session.
    pub(crate) fn of_script(code: &str) -> Self {
        match code.lines().any(|line| line.trim_end() == "# /// script") {
            true => Self::ScriptWithMetadata,
            false => Self::Script,
        }
    }
}

/// Returns a note for an import error: why the package was not installed, if that was tried, and how to install it.
/// `None` for other exceptions.
pub(crate) fn import_note(ename: &str, evalue: &str, missing: &MissingModules, context: CodeContext) -> Option<String> {
    match ename {
        "ModuleNotFoundError" => missing_module(evalue, missing, context),
        "ImportError" => missing_dependency(evalue, missing),
        _ => None,
    }
}

/// Returns why the package that a library's message names was not installed.
fn missing_dependency(evalue: &str, missing: &MissingModules) -> Option<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let reason = evalue.split(|c| !is_word(c)).find_map(|word| missing.get(word))?;
    Some(format!("({reason})"))
}

/// Returns the note for a missing module, or `None` if the message gives a reason of its own.
fn missing_module(evalue: &str, missing: &MissingModules, context: CodeContext) -> Option<String> {
    if evalue.contains("': ") {
        return None;
    }
    let module = evalue.strip_prefix("No module named '")?.split(['\'', '.']).next()?;
    let plausible =
        !module.is_empty() && module.len() <= 100 && module.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !plausible {
        return None;
    }
    Some(match (import_names::distribution_for(module), missing.get(module)) {
        (Some(_), Some(reason)) => format!("({reason})"),
        (Some(name), None) => format!("({})", installation(name, "it", context)),
        (None, Some(reason)) => {
            format!("({reason}\nif another package provides it, {})", installation("NAME", "that", context))
        }
        (None, None) => format!("(if a package provides it, {})", installation("NAME", "that", context)),
    })
}

fn installation(name: &str, what: &str, context: CodeContext) -> String {
    match context {
        CodeContext::Cell => format!("`%pip install {name}` installs {what}"),
        CodeContext::Script => {
            format!("name it in a comment at the top: `# /// script`, `# dependencies = [\"{name}\"]`, `# ///`")
        }
        CodeContext::ScriptWithMetadata => {
            format!("add \"{name}\" to `dependencies` in the comment at the top")
        }
        CodeContext::CommandLine => format!("{} installs {what}", Setting::Deps.with(name)),
    }
}

/// Returns whether an exception is `MemoryError` or numpy's own `numpy._core._exceptions._ArrayMemoryError`.
pub(crate) fn is_memory_error(ename: &str) -> bool {
    ename.ends_with("MemoryError")
}

/// Returns the line that replaces output beyond the limit.
pub fn output_dropped(dropped: u64, limits: &Limits) -> String {
    format!(
        "[{} more were cut: only the first {} of output are kept (set by {})]",
        format_size(dropped),
        format_size(limits.output_bytes),
        Setting::OutputLimit
    )
}

/// Returns a line about files that a cell made outside of its working directory.
pub fn files_elsewhere(paths: &[String], left_out: u64) -> String {
    format!(
        "Not in the list of files, because outside of {}: {}. Write files there, or move them there, to list and download them.",
        crate::sessions::WORKSPACE,
        join_paths(paths, left_out)
    )
}

/// Joins paths in a sentence, with the number of those left out.
pub fn join_paths(paths: &[String], left_out: u64) -> String {
    let mut text = paths.iter().map(|path| path.escape_debug().to_string()).collect::<Vec<_>>().join(", ");
    if left_out > 0 {
        text.push_str(&format!(" and {left_out} more"));
    }
    text
}

pub(crate) fn memory(limits: &Limits) -> String {
    format!("the code may use at most {} of memory (set by {})", format_size(limits.memory_bytes), Setting::Memory)
}

/// Returns the name of a signal that ends processes on Linux and macOS alike, or of SIGSYS (a seccomp violation).
fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        2 => "SIGINT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_missing_can_be_installed() {
        let reasons = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(module, reason)| (module.to_string(), reason.to_string())).collect::<MissingModules>()
        };
        let none = reasons(&[]);
        let in_cell = |message: &str| missing_module(message, &none, CodeContext::Cell);
        assert_eq!(in_cell("No module named 'yaml'").unwrap(), "(`%pip install PyYAML` installs it)");
        assert_eq!(in_cell("No module named 'yaml.nodes'").unwrap(), "(`%pip install PyYAML` installs it)");
        assert!(in_cell("No module named 'mine'").unwrap().contains("NAME"));
        assert_eq!(in_cell("No module named 'a; rm -rf /'"), None);
        assert_eq!(in_cell("No module named 'js': this Python runs without JavaScript"), None);
        assert_eq!(in_cell("import of x halted"), None);
        let script = missing_module("No module named 'yaml'", &none, CodeContext::Script).unwrap();
        assert!(script.contains("# dependencies = [\"PyYAML\"]"), "{script}");
        let stated = CodeContext::of_script("import yaml\n# /// script\n# dependencies = []\n# ///");
        let script = missing_module("No module named 'yaml'", &none, stated).unwrap();
        assert_eq!(script, "(add \"PyYAML\" to `dependencies` in the comment at the top)");
        assert_eq!(CodeContext::of_script("import yaml"), CodeContext::Script);
        let module = missing_module("No module named 'yaml'", &none, CodeContext::CommandLine).unwrap();
        assert_eq!(module, "(`deps = PyYAML` installs it)");
        assert_eq!(module_of("ModuleNotFoundError", "No module named 'a.b'").as_deref(), Some("a"));
        let tried = reasons(&[("yaml", "it has no wheel"), ("mine", "there is no such project")]);
        assert_eq!(missing_module("No module named 'yaml'", &tried, CodeContext::Cell).unwrap(), "(it has no wheel)");
        for (place, fix) in
            [(CodeContext::Cell, "`%pip install NAME`"), (CodeContext::Script, "# dependencies = [\"NAME\"]")]
        {
            let text = missing_module("No module named 'mine'", &tried, place).unwrap();
            assert!(text.contains("there is no such project") && text.contains(fix), "{text}");
        }
        let hint = missing_dependency("Missing optional dependency 'yaml'.", &tried);
        assert_eq!(hint.as_deref(), Some("(it has no wheel)"));
        assert_eq!(missing_dependency("cannot import name 'x' from 'y'", &tried), None);
    }

    #[test]
    fn every_limit_is_stated_with_its_setting() {
        let limits = Limits::default();
        for (text, parts) in [
            (stopped(StopReason::TimeLimit, &limits), vec!["60 s", "`timeout`"]),
            (stopped(StopReason::CpuLimit, &limits), vec!["60 s", "`cpu_timeout`"]),
            (machine_exited(&ExitReason::TimeLimit, None, &limits), vec!["60 s", "`timeout`", "2 s", "`grace`"]),
            (
                machine_exited(&ExitReason::ParseLimit(Duration::from_secs(10)), None, &limits),
                vec!["10 s", "before it ran", "pars"],
            ),
            (machine_exited(&ExitReason::CpuLimit, None, &limits), vec!["60 s", "`cpu_timeout`", "`grace`"]),
            (machine_exited(&ExitReason::MemoryLimit, None, &limits), vec!["1 GiB", "`memory`"]),
            (machine_exited(&ExitReason::Signal(11), None, &limits), vec!["signal 11 (SIGSEGV)"]),
            (
                machine_exited(&ExitReason::Signal(9), Some(75 << 20), &limits),
                vec!["ended from outside (SIGKILL)", "75 MiB", "none of its limits"],
            ),
            (
                machine_exited(&ExitReason::HostMemory, Some(75 << 20), &limits),
                vec!["host ran out of memory", "75 MiB"],
            ),
            (machine_exited(&ExitReason::Exit(3), None, &limits), vec!["status 3"]),
            (machine_exited(&ExitReason::Abort, None, &limits), vec!["aborted"]),
            (machine_exited(&ExitReason::Protocol("half a frame".into()), None, &limits), vec!["half a frame"]),
            (
                machine_exited(&ExitReason::Trap("wasm trap: unreachable\n".into()), None, &limits),
                vec!["wasm trap: unreachable. "],
            ),
            (
                machine_exited(&ExitReason::MemoryLimit, Some(900 << 20), &limits),
                vec!["1 GiB", "`memory`", "900 MiB of memory at its peak"],
            ),
            (
                machine_exited(&ExitReason::CpuLimit, Some(1), &limits),
                vec!["`cpu_timeout`", "1 byte of memory at its peak"],
            ),
            (hint("MemoryError", "", &limits).unwrap(), vec!["1 GiB", "`memory`"]),
            (
                hint("OSError", "[Errno 51] No space left on device", &limits).unwrap(),
                vec!["256 MiB", "65536", "`files`"],
            ),
            (file(&FileError::NoSpace), vec!["no space is left in the session", "`files`"]),
            (output_dropped(2048, &limits), vec!["2 KiB", "1 MiB", "`output_limit`"]),
        ] {
            for part in parts {
                assert!(text.contains(part), "{part:?} is missing in {text:?}");
            }
        }
        assert!(!machine_exited(&ExitReason::Exit(3), Some(1), &limits).contains("peak"));
        assert_eq!(hint("OSError", "[Errno 44] No such file or directory", &limits), None);
        for (name, message, fix) in [
            ("OverflowError", "Python int too large to convert to C long", "2,147,483,647"),
            ("_ArrayMemoryError", "Unable to allocate 2.98 GiB for an array with shape (20000, 20000)", "`memory`"),
            ("ValueError", "Maximum allowed dimension exceeded", "2,147,483,647"),
            ("OverflowError", "Python int too large to convert to C ssize_t", "int64"),
            ("OSError", "[Errno 19] Quota exceeded", "1 GiB to mounted directories (set by `mount_limit`)"),
            (
                "URLError",
                "<urlopen error [Errno -2] a.example cannot be reached: this sandbox has no network>",
                "in a file",
            ),
        ] {
            assert!(hint(name, message, &limits).unwrap().contains(fix), "{name}");
        }
        assert_eq!(hint("PermissionError", "[Errno 2] Permission denied: '/lib/x'", &limits), None);
        let granted = ["/data".to_owned()];
        for (name, message, is_told) in [
            ("FileNotFoundError", "[Errno 44] No such file or directory: '/home/ada/a.csv'", true),
            ("FileNotFoundError", "[Errno 44] No such file or directory: 'a.csv'", true),
            ("FileNotFoundError", "[Errno 44] No such file or directory: '/database/a.csv'", true),
            ("FileNotFoundError", "[Errno 44] No such file or directory: '/data/a.csv'", false),
            ("sqlite3.OperationalError", "unable to open database file", true),
            ("sqlite3.OperationalError", "no such table: t", false),
            ("FileNotFoundError", "[Errno 44] no such program: this sandbox starts no processes: 'git'", false),
            ("ValueError", "No such file or directory", false),
        ] {
            let told = file_hint(name, message, &granted);
            assert_eq!(told.is_some_and(|text| text.contains("`mount = HOST:GUEST`")), is_told, "{message}");
        }
    }
}
