//! Texts for runs that a limit or a crash ended. Each names the limit and the flag that changes it.

mod ends;

use brumate_engine_api::{ExitReason, FileError, Limits, StopReason};
use brumate_packages::import_names;

use crate::installs::MissingModules;
use crate::units::{format_duration, format_size};

/// Setting of a limit, as operators know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Command line flag.
    pub flag: &'static str,
    /// Environment variable.
    pub variable: &'static str,
}

/// Wall-clock time of a run.
pub const TIMEOUT: Setting = Setting { flag: "--timeout", variable: "BRUMATE_TIMEOUT" };
/// CPU time of a run.
pub const CPU_TIMEOUT: Setting = Setting { flag: "--cpu-timeout", variable: "BRUMATE_CPU_TIMEOUT" };
/// Time between KeyboardInterrupt and SIGKILL.
pub const GRACE: Setting = Setting { flag: "--grace", variable: "BRUMATE_GRACE" };
/// Memory of a machine.
pub const MEMORY: Setting = Setting { flag: "--memory", variable: "BRUMATE_MEMORY" };
/// Bytes of files a guest may write.
pub const FILES: Setting = Setting { flag: "--files", variable: "BRUMATE_FILES" };
/// Bytes a guest may write to mounted directories.
pub const MOUNT_LIMIT: Setting = Setting { flag: "--mount-limit", variable: "BRUMATE_MOUNT_LIMIT" };
/// Bytes of output that are kept.
pub const OUTPUT_LIMIT: Setting = Setting { flag: "--output-limit", variable: "BRUMATE_OUTPUT_LIMIT" };
/// Runs at the same time.
pub const MAX_CONCURRENT: Setting = Setting { flag: "--max-concurrent", variable: "BRUMATE_MAX_CONCURRENT" };

/// Sessions that are awake at the same time.
pub const MAX_LIVE_SESSIONS: Setting = Setting { flag: "--max-live-sessions", variable: "BRUMATE_MAX_LIVE_SESSIONS" };
/// Sessions in all.
pub const MAX_SESSIONS: Setting = Setting { flag: "--max-sessions", variable: "BRUMATE_MAX_SESSIONS" };
/// Bytes of hibernated sessions on disk.
pub const SESSIONS_DISK: Setting = Setting { flag: "--sessions-disk", variable: "BRUMATE_SESSIONS_DISK" };

/// Time to wait for an answer to an input request.
pub const INPUT_TIMEOUT: Setting = Setting { flag: "--input-timeout", variable: "BRUMATE_INPUT_TIMEOUT" };

/// All settings that a text can name.
pub const SETTINGS: [Setting; 12] = [
    TIMEOUT,
    CPU_TIMEOUT,
    GRACE,
    MEMORY,
    FILES,
    MOUNT_LIMIT,
    OUTPUT_LIMIT,
    MAX_CONCURRENT,
    MAX_LIVE_SESSIONS,
    MAX_SESSIONS,
    SESSIONS_DISK,
    INPUT_TIMEOUT,
];

impl std::fmt::Display for Setting {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} or {}", self.flag, self.variable)
    }
}

/// Explains why the host interrupted a guest that reacted to it.
pub fn stopped(reason: StopReason, limits: &Limits) -> String {
    match reason {
        StopReason::TimeLimit => format!(
            "The code was stopped: it ran longer than the time limit of {} (set by {TIMEOUT}).",
            format_duration(limits.wall)
        ),
        StopReason::CpuLimit => format!(
            "The code was stopped: it used more CPU time than the limit of {} (set by {CPU_TIMEOUT}).",
            format_duration(limits.cpu)
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
        FileError::NoSpace => format!("{error} (set by {FILES})"),
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
            "Note: the code may write at most {} in {} files (bytes set by {FILES}).",
            format_size(limits.file_bytes),
            limits.inodes
        )),
        "OSError" if evalue.contains("Quota exceeded") => Some(format!(
            "Note: the code may write at most {} to mounted directories (set by {MOUNT_LIMIT}).",
            format_size(limits.mount_bytes)
        )),
        "OverflowError" | "ValueError" if TOO_LARGE.iter().any(|end| evalue.ends_with(end)) => {
            Some(INTEGERS.to_owned())
        }
        _ if evalue.contains("Name does not resolve") => Some(
            "Note: code in this sandbox has no network; what it reads has to be in the code or in a file.".to_owned(),
        ),
        _ => None,
    }
}

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
pub(crate) fn script_hint(ename: &str, evalue: &str, missing: &MissingModules, limits: &Limits) -> Option<String> {
    import_note(ename, evalue, missing, CodeContext::Script).or_else(|| hint(ename, evalue, limits))
}

/// How a note tells its reader to name a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeContext {
    /// Cell of a session: `%pip install`.
    Cell,
    /// Script, or a run without a session: inline metadata (PEP 723).
    Script,
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
    }
}

/// Returns whether an exception is `MemoryError` or numpy's own `numpy._core._exceptions._ArrayMemoryError`.
pub(crate) fn is_memory_error(ename: &str) -> bool {
    ename.ends_with("MemoryError")
}

/// Returns the line that replaces output beyond the limit.
pub fn output_dropped(dropped: u64, limits: &Limits) -> String {
    format!(
        "[{} more were cut: only the first {} of output are kept (set by {OUTPUT_LIMIT})]",
        format_size(dropped),
        format_size(limits.output_bytes)
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
    format!("the code may use at most {} of memory (set by {MEMORY})", format_size(limits.memory_bytes))
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
    fn every_limit_is_stated_with_its_flag() {
        let limits = Limits::default();
        for (text, parts) in [
            (stopped(StopReason::TimeLimit, &limits), vec!["60 s", "--timeout", "BRUMATE_TIMEOUT"]),
            (stopped(StopReason::CpuLimit, &limits), vec!["60 s", "--cpu-timeout"]),
            (machine_exited(&ExitReason::TimeLimit, None, &limits), vec!["60 s", "--timeout", "2 s", "--grace"]),
            (
                machine_exited(&ExitReason::ParseLimit(Duration::from_secs(10)), None, &limits),
                vec!["10 s", "before it ran", "pars"],
            ),
            (machine_exited(&ExitReason::CpuLimit, None, &limits), vec!["60 s", "--cpu-timeout", "--grace"]),
            (machine_exited(&ExitReason::MemoryLimit, None, &limits), vec!["1 GiB", "--memory"]),
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
                vec!["1 GiB", "--memory", "900 MiB of memory at its peak"],
            ),
            (
                machine_exited(&ExitReason::CpuLimit, Some(1), &limits),
                vec!["--cpu-timeout", "1 byte of memory at its peak"],
            ),
            (hint("MemoryError", "", &limits).unwrap(), vec!["1 GiB", "--memory"]),
            (
                hint("OSError", "[Errno 51] No space left on device", &limits).unwrap(),
                vec!["256 MiB", "65536", "--files"],
            ),
            (file(&FileError::NoSpace), vec!["no space is left in the session", "--files"]),
            (output_dropped(2048, &limits), vec!["2 KiB", "1 MiB", "--output-limit"]),
        ] {
            for part in parts {
                assert!(text.contains(part), "{part:?} is missing in {text:?}");
            }
        }
        assert!(!machine_exited(&ExitReason::Exit(3), Some(1), &limits).contains("peak"));
        assert_eq!(hint("OSError", "[Errno 44] No such file or directory", &limits), None);
        for (name, message, fix) in [
            ("OverflowError", "Python int too large to convert to C long", "2,147,483,647"),
            ("_ArrayMemoryError", "Unable to allocate 2.98 GiB for an array with shape (20000, 20000)", "--memory"),
            ("ValueError", "Maximum allowed dimension exceeded", "2,147,483,647"),
            ("OverflowError", "Python int too large to convert to C ssize_t", "int64"),
            ("OSError", "[Errno 19] Quota exceeded", "1 GiB to mounted directories (set by --mount-limit"),
            ("URLError", "<urlopen error [Errno -2] Name does not resolve>", "no network"),
        ] {
            assert!(hint(name, message, &limits).unwrap().contains(fix), "{name}");
        }
    }
}
