//! How users of the program and of the Python package write settings.

use brumate_setting::{Setting, WrittenSetting};

/// Writes a flag, and the variable that sets the same.
pub(crate) fn on_command_line(setting: Setting, value: &str) -> WrittenSetting {
    let flag = flag(setting);
    match value {
        "" => WrittenSetting::flag(flag, variable(setting)),
        value => WrittenSetting::words(format!("{flag} {value}")),
    }
}

/// Writes an argument of `brumate.Sandbox`. A setting without such an argument is an option of the program.
pub(crate) fn in_python(setting: Setting, value: &str) -> WrittenSetting {
    let argument = match setting {
        Setting::Deps => "packages",
        Setting::AllowNet => "network",
        Setting::Mount => "mounts",
        Setting::CacheDir
        | Setting::CpuTimeout
        | Setting::DataDir
        | Setting::FindLinks
        | Setting::Memory
        | Setting::Offline
        | Setting::OutputLimit
        | Setting::Timeout => setting.key(),
        _ if value.is_empty() => return WrittenSetting::code(format!("arguments=[\"{}=…\"]", flag(setting))),
        _ => return WrittenSetting::code(format!("arguments=[\"{}={value}\"]", flag(setting))),
    };
    match (value, setting) {
        ("", _) => WrittenSetting::code(argument),
        (_, Setting::AllowNet | Setting::Deps | Setting::FindLinks | Setting::Mount) => {
            WrittenSetting::code(format!("{argument}=[\"{value}\"]"))
        }
        _ => WrittenSetting::code(format!("{argument}=\"{value}\"")),
    }
}

/// Returns the flag that sets a setting.
fn flag(setting: Setting) -> String {
    format!("--{}", setting.key().replace('_', "-"))
}

/// Returns the variable that sets a setting; `None` if it has only a flag.
fn variable(setting: Setting) -> Option<String> {
    let has_variable = !matches!(setting, Setting::InputDir | Setting::Mount);
    has_variable.then(|| format!("BRUMATE_{}", setting.key().to_uppercase()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsStr;

    use clap::{Command, CommandFactory};

    use super::*;
    use crate::cli::Cli;

    /// Returns the flags of a command and of its subcommands, with their variables.
    fn flags(command: &Command, found: &mut BTreeMap<String, Option<String>>) {
        for argument in command.get_arguments() {
            let Some(long) = argument.get_long() else { continue };
            let variable = argument.get_env().and_then(OsStr::to_str).map(str::to_owned);
            found.entry(format!("--{long}")).or_insert(variable);
        }
        command.get_subcommands().for_each(|command| flags(command, found));
    }

    #[test]
    fn texts_name_flags_and_variables_that_exist() {
        let mut found = BTreeMap::new();
        flags(&Cli::command(), &mut found);
        for &setting in Setting::ALL {
            assert_eq!(found.get(&flag(setting)), Some(&variable(setting)), "{setting:?}");
        }
    }

    #[test]
    fn users_read_the_names_that_they_use() {
        use Setting::{Deps, Grace, Infer, Mount, Timeout};
        for (written, expected) in [
            (on_command_line(Timeout, ""), WrittenSetting::flag("--timeout", Some("BRUMATE_TIMEOUT".to_owned()))),
            (on_command_line(Mount, "a:b"), WrittenSetting::words("--mount a:b")),
            (in_python(Timeout, ""), WrittenSetting::code("timeout")),
            (in_python(Deps, "PyYAML"), WrittenSetting::code("packages=[\"PyYAML\"]")),
            (in_python(Grace, ""), WrittenSetting::code("arguments=[\"--grace=…\"]")),
            (in_python(Infer, "none"), WrittenSetting::code("arguments=[\"--infer=none\"]")),
        ] {
            assert_eq!(written, expected);
        }
    }
}
