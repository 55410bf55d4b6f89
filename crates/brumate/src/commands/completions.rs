//! `brumate completions` and `brumate man`: shell completions and manual pages, for packages.

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::{cli_scope, exit_status};

/// Prints the completion script for a shell.
pub(crate) fn completions(arguments: &CompletionsArgs) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), "brumate", &mut script);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &script)?;
    Ok(exit_status::SUCCESS)
}

/// Writes a manual page for `brumate` and one for each command.
pub(crate) fn manual(arguments: &ManArgs) -> anyhow::Result<u8> {
    let directory = &arguments.directory;
    let written = std::fs::create_dir_all(directory).and_then(|()| write_pages(directory));
    written.with_context(|| format!("cannot write manual pages to {}", directory.display()))?;
    Ok(exit_status::SUCCESS)
}

fn write_pages(directory: &Path) -> std::io::Result<()> {
    let command = command();
    let page = |command: clap::Command, name: &str| -> std::io::Result<()> {
        let mut text = Vec::new();
        clap_mangen::Man::new(command).title(name).render(&mut text)?;
        std::fs::write(directory.join(format!("{name}.1")), text)
    };
    for mode in command.get_subcommands().filter(|mode| !mode.is_hide_set() && mode.get_name() != "help") {
        let name = format!("brumate-{}", mode.get_name());
        page(mode.clone(), &name)?;
    }
    page(command, "brumate")
}

/// Returns the command line, as the help shows it.
fn command() -> clap::Command {
    let mut command = cli_scope::scoped(Cli::command());
    command.build();
    command
}
