//! `docs/reference/cli.md`, written from the definition of the command line.

use std::fmt::Write as _;

use brumate_test_support::check_reference;
use clap::{Arg, Command, CommandFactory};

use crate::cli::{Cli, EXIT_STATUS};
use crate::cli_scope;

const HEADER: &str = "\
# The command line

    brumate COMMAND [OPTIONS]

Options stand before or after the command. A variable of the environment takes the place of an option that is not given:
[environment.md](../environment.md) has all variables. Sizes are written `256MiB`, `1GiB`, `4096`; times `60s`, `1.5m`, `500ms`.

`brumate COMMAND -h` shows the options that are used most, `brumate COMMAND --help` all of them.

A test writes this file from the definition of the command line and compares it:
`BRUMATE_WRITE_REFERENCE=1 cargo test -p brumate --bin brumate reference`.
";

const SHARED: &str = "
## Options of several commands

Each command above says which of them it takes, and refuses the others on the command line.
";

/// Escapes what would be markup in a cell of a table.
fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|").replace('<', "\\<").replace("\n\n", " ").replace('\n', " ")
}

/// Returns how an option or argument is written: `-v`, `--verbose`; `--memory SIZE`; `FILE`.
fn written(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let value = match argument.get_num_args().is_none_or(|range| range.takes_values()) {
        true => names.iter().map(|name| name.replace('|', "\\|")).collect::<Vec<_>>().join(" "),
        false => String::new(),
    };
    if argument.is_positional() {
        return format!("`{value}`");
    }
    let space = if value.is_empty() { "" } else { " " };
    let long = argument.get_long().map(|long| format!("`--{long}{space}{value}`"));
    let short = argument.get_short().map(|short| match long {
        Some(_) => format!("`-{short}`"),
        None => format!("`-{short}{space}{value}`"),
    });
    let aliases = argument.get_all_aliases().unwrap_or_default().into_iter().map(|alias| format!("`--{alias}`"));
    short.into_iter().chain(long).chain(aliases).collect::<Vec<_>>().join(", ")
}

/// Takes a note such as `[default: 3001]` out of a help text, where the definition has it in words.
fn note(help: &mut String, name: &str) -> Option<String> {
    let start = help.find(&format!("[{name}: "))?;
    let end = start + help[start..].find(']')?;
    let found = help[start + name.len() + 3..end].to_owned();
    help.replace_range(start..=end, "");
    Some(found)
}

/// Returns what an option means, with the values that it may have; its variable; its default.
fn described(argument: &Arg) -> [String; 3] {
    let mut help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let takes_values = argument.get_action().takes_values();
    let variable = argument.get_env().map(|name| format!("`{}`", name.to_string_lossy()));
    let variable = variable.or_else(|| note(&mut help, "env").map(|name| cell(&name))).unwrap_or_default();
    let defaults = argument.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy()));
    let defaults = defaults.filter(|_| takes_values).collect::<Vec<_>>().join(", ");
    let default = note(&mut help, "default").map_or(defaults, |default| cell(&default));
    let mut text = cell(&help);
    // A switch has `true` and `false`.
    let values = if takes_values { argument.get_possible_values() } else { Vec::new() };
    let values = values.iter().map(|value| match value.get_help() {
        Some(help) => format!("`{}`: {}", value.get_name(), cell(&help.to_string())),
        None => format!("`{}`", value.get_name()),
    });
    let values = values.collect::<Vec<_>>().join("; ");
    if !values.is_empty() {
        let _ = write!(text, ". {values}");
    }
    [text, variable, default]
}

/// Writes a table of options or arguments; nothing for none.
fn table(text: &mut String, arguments: &[&Arg]) {
    if arguments.is_empty() {
        return;
    }
    text.push_str("\n| option | meaning | variable | default |\n|---|---|---|---|\n");
    for argument in arguments {
        let [meaning, variable, default] = described(argument);
        let _ = writeln!(text, "| {} | {meaning} | {variable} | {default} |", written(argument));
    }
}

/// Returns the arguments that people see.
fn visible(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set() && !matches!(argument.get_id().as_str(), "help" | "version"))
}

fn heading(argument: &Arg) -> &str {
    argument.get_help_heading().unwrap_or("Options")
}

/// Returns the headings of the shared options, in their order.
fn headings(root: &Command) -> Vec<&str> {
    let mut headings = Vec::new();
    for argument in visible(root).filter(|argument| argument.is_global_set()) {
        if !headings.contains(&heading(argument)) {
            headings.push(heading(argument));
        }
    }
    headings
}

/// Says which of the shared options a command takes: whole groups by their names, others by flag.
fn shared(root: &Command, mode: &str) -> String {
    let mut parts = Vec::new();
    for name in headings(root) {
        let options = || visible(root).filter(|argument| argument.is_global_set() && heading(argument) == name);
        let taken: Vec<&Arg> = options().filter(|option| cli_scope::takes(mode, option.get_id().as_str())).collect();
        let link = format!("[{name}](#{})", name.to_lowercase());
        if taken.len() == options().count() {
            parts.push(link);
        } else if !taken.is_empty() {
            let flags = taken.iter().filter_map(|option| option.get_long()).map(|long| format!("`--{long}`"));
            parts.push(format!("{} of {link}", flags.collect::<Vec<_>>().join(", ")));
        }
    }
    parts.join("; ")
}

/// Describes a command, and those below it.
fn describe(text: &mut String, root: &Command, command: &Command, path: &str) {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let mark = if path.matches(' ').count() > 1 { "###" } else { "##" };
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    let _ = write!(text, "\n{mark} `{path}`\n\n{}.\n\n    {usage}\n", cell(&about));
    table(text, &visible(command).filter(|argument| !argument.is_global_set()).collect::<Vec<_>>());
    if path.matches(' ').count() == 1 {
        let shared = shared(root, command.get_name());
        if !shared.is_empty() {
            let _ = write!(text, "\nIt also takes: {shared}.\n");
        }
    }
    for below in subcommands(command) {
        describe(text, root, below, &format!("{path} {}", below.get_name()));
    }
}

/// Returns the subcommands that people see.
fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

#[test]
fn the_command_line_is_as_its_reference_says() {
    let mut root = Cli::command();
    root.build();
    let mut text = HEADER.to_owned();
    text.push_str("\n| command | what it does |\n|---|---|\n");
    for command in subcommands(&root) {
        let (name, about) = (command.get_name(), command.get_about().map(ToString::to_string).unwrap_or_default());
        let _ = writeln!(text, "| [`{name}`](#brumate-{name}) | {} |", cell(&about));
    }
    for command in subcommands(&root) {
        describe(&mut text, &root, command, &format!("brumate {}", command.get_name()));
    }
    text.push_str(SHARED);
    for name in headings(&root) {
        let options = visible(&root).filter(|argument| argument.is_global_set() && heading(argument) == name);
        let _ = write!(text, "\n### {name}\n");
        table(&mut text, &options.collect::<Vec<_>>());
    }
    let _ = write!(text, "\n## Exit status\n\n```text\n{EXIT_STATUS}\n```\n");
    check_reference("docs/reference/cli.md", &text);
}

#[test]
fn the_list_of_variables_names_the_flag_of_each() {
    const DOCUMENT: &str = include_str!("../../../docs/environment.md");
    let command = Cli::command();
    for argument in command.get_arguments() {
        let (Some(variable), Some(flag)) = (argument.get_env(), argument.get_long()) else { continue };
        let row = format!("| `{}` | `--{flag}`", variable.to_string_lossy());
        assert!(DOCUMENT.lines().any(|line| line.starts_with(&row)), "docs/environment.md has no row `{row}`");
    }
}
