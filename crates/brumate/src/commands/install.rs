//! `brumate install`: adds an MCP server to a client's configuration, and removes it again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use brumate::directories;
use brumate_mcp_clients::{Action, Change, ConfigFile, Entry, Environment as ClientEnvironment, Mode, is_server_name};
use clap::ArgMatches;

use super::run::{environment, server_name};
use super::{print, print_error, visible};
use crate::cli::{InstallArgs, forwarded};
use crate::environment::Environment;
use crate::exit_status;
use crate::settings::Settings;

/// How long a server may take to tell its name.
const NAME_TIMEOUT: Duration = Duration::from_secs(120);
/// Name of a server that has none.
const DEFAULT_NAME: &str = "server";
/// Longest name that is made of a server's or a file's.
const MAX_NAME: usize = 48;

pub(crate) async fn run(settings: &Settings, arguments: &InstallArgs, matches: &ArgMatches) -> anyhow::Result<u8> {
    match install(settings, arguments, matches).await {
        Ok(()) => Ok(exit_status::SUCCESS),
        Err(error) => {
            print_error(&format!("brumate: {error:#}"));
            Ok(exit_status::FAILURE)
        }
    }
}

async fn install(settings: &Settings, arguments: &InstallArgs, matches: &ArgMatches) -> anyhow::Result<()> {
    let client = arguments.client;
    let path = client.config_file(&ClientEnvironment::of_process()?)?;
    let file = ConfigFile::new(client, path, state_directory()?).naming_variables(forwarded::VARIABLE);
    let mode = if arguments.dry_run { Mode::DryRun } else { Mode::Write };
    let (name, change) = match (&arguments.name, arguments.remove) {
        (Some(name), true) => (name.clone(), file.remove(name, mode)?),
        // The server is not asked: it could name another's entry.
        (None, true) => file.of_server(installed_server(arguments)?).remove_server(mode)?,
        (Some(name), false) => {
            let entry = entry(arguments, matches)?;
            (name.clone(), file.of_server(installed_server(arguments)?).install(name, &entry, mode)?)
        }
        (None, false) => {
            let entry = entry(arguments, matches)?;
            let name = server_name_of(settings, arguments).await?;
            let change = file.of_server(installed_server(arguments)?).install_beside(&name, &entry, mode)?;
            (name, change)
        }
    };
    report(arguments, &name, &change)
}

/// Tells what was changed.
fn report(arguments: &InstallArgs, name: &str, change: &Change) -> anyhow::Result<()> {
    let (client, file) = (arguments.client.title(), change.file().display());
    if arguments.dry_run {
        print(&format!("{file} would change:\n{}", change.diff().trim_end()))?;
        return Ok(());
    }
    let done = match change.action() {
        Action::Removed => format!("removed `{name}` from {client}: {file}"),
        Action::Restored => format!("removed `{name}` from {client}, where an older entry is back: {file}"),
        Action::Replaced => format!(
            "replaced `{name}` in {client}, with its variables and approvals: {file}\nPermissions that {client} keeps elsewhere for this \
             name hold for the new server."
        ),
        Action::Updated => format!("updated `{name}` in {client}: {file}"),
        Action::Unchanged => format!("`{name}` is in {client} already: {file}"),
        Action::Added => format!("added `{name}` to {client}: {file}"),
    };
    print(&done)?;
    if let Some(backup) = change.backup() {
        print(&format!("The file as it was before: {}", backup.display()))?;
    }
    if change.tightened() {
        print_error("brumate: only you can read the file now: it has variables of the server");
    }
    if change.has_comments_for_a_strict_client() {
        print_error(&format!("brumate: {file} has comments or trailing commas, which {client} may not read"));
    }
    if !matches!(change.action(), Action::Removed | Action::Unchanged) {
        print(&format!("Restart {client} to use it."))?;
    }
    Ok(())
}

/// Returns what the entry starts, by which it is found again: the server's file, or the whole command.
fn installed_server(arguments: &InstallArgs) -> anyhow::Result<String> {
    if let Some(server) = &arguments.server {
        return forwarded::text(&forwarded::absolute(Path::new(server)).into());
    }
    let mut words = arguments.command.iter().map(forwarded::text);
    let command = words.next().context("`--remove` needs a file, a command, or `--name`")??;
    Ok(Entry { command, args: words.collect::<anyhow::Result<_>>()?, env: Vec::new() }.command_line())
}

/// Returns how the client starts the server.
fn entry(arguments: &InstallArgs, matches: &ArgMatches) -> anyhow::Result<Entry> {
    let variables = environment::variables(&arguments.options)?;
    let Some(server) = &arguments.server else {
        let mut words = arguments.command.iter().map(forwarded::text);
        let command = words.next().context("`--` is followed by no command")??;
        return Ok(Entry { command, args: words.collect::<anyhow::Result<_>>()?, env: variables });
    };
    let file = forwarded::absolute(Path::new(server));
    if !super::run::names_file(&file) {
        bail!("cannot read {}", file.display());
    }
    let mut line: Vec<OsString> = vec!["run".into()];
    line.extend(forwarded::shared_options(matches, "run"));
    line.extend(forwarded::server_options(&arguments.options, &variables));
    line.push(file.into());
    if !arguments.command.is_empty() {
        line.push("--".into());
        line.extend(arguments.command.iter().cloned());
    }
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let args = line.iter().map(forwarded::text).collect::<anyhow::Result<_>>()?;
    Ok(Entry { command: forwarded::text(&program.into())?, args, env: variables })
}

/// Returns the name of the server for the client: its own, which it is asked for in the sandbox, or that of its file.
async fn server_name_of(settings: &Settings, arguments: &InstallArgs) -> anyhow::Result<String> {
    let Some(server) = &arguments.server else {
        let program = arguments.command.first().context("there is no server to be named")?;
        return Ok(clean(&Path::new(program).file_stem().unwrap_or_default().to_string_lossy()));
    };
    let asked = tokio::time::timeout(NAME_TIMEOUT, server_name(settings, &arguments.options, server)).await;
    let name = match asked {
        Ok(Ok(name)) => clean(&name),
        Ok(Err(error)) => {
            print_error(&format!("brumate: the server does not tell its name: {}", visible(&format!("{error:#}"))));
            String::new()
        }
        Err(_) => {
            print_error("brumate: the server does not tell its name in time");
            String::new()
        }
    };
    if !name.is_empty() && name != DEFAULT_NAME {
        return Ok(name);
    }
    let (file, _) = super::run::file_and_object(server);
    Ok(clean(&file.file_stem().unwrap_or_default().to_string_lossy()))
}

/// Returns a name that all clients accept, made of letters, digits, `-` and `_`.
fn clean(name: &str) -> String {
    let mut cleaned = String::new();
    for character in name.chars() {
        let character = if character.is_ascii_alphanumeric() || character == '_' { character } else { '-' };
        if cleaned.len() < MAX_NAME && !(character == '-' && (cleaned.is_empty() || cleaned.ends_with('-'))) {
            cleaned.push(character);
        }
    }
    let cleaned = cleaned.trim_end_matches('-');
    if is_server_name(cleaned) { cleaned.to_owned() } else { DEFAULT_NAME.to_owned() }
}

/// Returns the directory in which is remembered what was replaced in clients' files.
fn state_directory() -> anyhow::Result<PathBuf> {
    let environment = Environment::of_this_process();
    let data = directories::data(environment.xdg_data_home.clone(), environment.home.clone());
    Ok(data.context("there is no data directory: set HOME or XDG_DATA_HOME")?.join("clients"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_suit_all_clients() {
        for (name, cleaned) in [
            ("Demo", "Demo"),
            ("My  Server (v2)", "My-Server-v2"),
            ("é", "server"),
            ("--", "server"),
            ("a_b-c", "a_b-c"),
            ("__proto__", "server"),
            ("git\u{202e}hub\u{1b}[2J\n", "git-hub-2J"),
        ] {
            assert_eq!(clean(name), cleaned);
        }
        assert_eq!(clean(&"x".repeat(100)).len(), MAX_NAME);
    }
}
