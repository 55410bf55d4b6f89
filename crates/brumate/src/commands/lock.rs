//! `brumate lock`: resolves requirements and writes `pylock.toml`.

use std::fs;
use std::path::Path;

use brumate_packages::{Requirement, ScriptMetadata, lock};

use super::{print, print_error};
use crate::cli::LockArgs;
use crate::exit_status;
use crate::replace_file::replace_file;
use crate::sandbox::single_run_sandbox;
use crate::settings::Settings;
use crate::signals::Signals;

pub(crate) async fn run(settings: &Settings, arguments: &LockArgs) -> anyhow::Result<u8> {
    let requirements = match requirements(settings, arguments) {
        Ok(requirements) => requirements,
        Err(error) => {
            print_error(&format!("brumate: {error}"));
            return Ok(exit_status::USAGE);
        }
    };
    let sandbox = single_run_sandbox(settings)?;
    let work = locked(&sandbox.runner, requirements);
    let (result, signalled) =
        Signals::listen()?.interruptible(work, || "interrupted; nothing was written".to_owned()).await;
    let written = result.and_then(|(text, count)| {
        if arguments.output == Path::new("-") {
            print(text.trim_end()).map_err(|error| error.to_string())?;
        } else {
            let place = arguments.output.display();
            replace_file(&arguments.output, &text).map_err(|error| format!("{place} cannot be written: {error}"))?;
            print_error(&format!("{place}: {count} package{}", if count == 1 { "" } else { "s" }));
        }
        Ok(())
    });
    match written {
        Ok(()) => Ok(exit_status::SUCCESS),
        Err(error) => {
            print_error(&format!("brumate: {error}"));
            Ok(signalled.unwrap_or(exit_status::FAILURE))
        }
    }
}

/// Returns the requirements to lock: of `--deps`, then of the script, then of the command line.
#[expect(clippy::disallowed_methods, reason = "a file that the user names")]
fn requirements(settings: &Settings, arguments: &LockArgs) -> Result<Vec<Requirement>, String> {
    let mut texts = settings.runner.dependencies.clone();
    if let Some(script) = &arguments.script {
        let shown = script.display();
        let code = fs::read_to_string(script).map_err(|error| format!("{shown} cannot be read: {error}"))?;
        let metadata = ScriptMetadata::parse(&code).map_err(|error| format!("{shown}: {error}"))?;
        let stated = metadata.and_then(|metadata| metadata.dependencies);
        texts.extend(stated.ok_or_else(|| format!("{shown} states no dependencies (`# /// script`, PEP 723)"))?);
    }
    texts.extend(arguments.requirements.iter().cloned());
    if texts.is_empty() {
        return Err("there is nothing to lock: name requirements, or a script with `--script`".to_owned());
    }
    texts
        .iter()
        .map(|text| text.parse().map_err(|error: brumate_packages::RequirementError| error.to_string()))
        .collect()
}

/// The text of the lock and the number of its packages.
async fn locked(runner: &brumate_session::Runner, requirements: Vec<Requirement>) -> Result<(String, usize), String> {
    let wanted = requirements.iter().cloned().map(Into::into).collect();
    let resolution = runner.packages().resolve(wanted).await.map_err(|error| error.to_string())?;
    let text = lock::write(&resolution, &requirements).map_err(|error| error.to_string())?;
    Ok((text, resolution.packages.len()))
}
