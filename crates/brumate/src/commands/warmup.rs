//! `brumate warmup`: compiles packages and builds images before the first runs need them.

use std::collections::BTreeMap;

use brumate_engine_api::{Engine, Image};
use brumate_packages::wheel::WheelFileName;
use brumate_server::{ReturnMode, result_text};
use brumate_session::packages::PackageEvent;
use brumate_session::{CancellationToken, RunStatus};

use super::bundle::{local_wheels, wheel_name};
use super::{example, print, print_error};
use crate::cli::WarmupArgs;
use crate::exit_status;
use crate::progress;
use crate::sandbox::{Sandbox, image_of, sandbox, warm_dependencies};
use crate::settings::Settings;
use crate::signals::Signals;

pub(crate) async fn run(settings: &Settings, arguments: &WarmupArgs) -> anyhow::Result<u8> {
    let sandbox = sandbox(settings)?;
    if arguments.optimize {
        sandbox.engine.sandbox().await?.optimize().await?;
    }
    if !arguments.modules.is_empty() {
        let image = Image::of(arguments.modules.clone());
        let built = sandbox.engine.build_image_ahead(&image).await;
        sandbox.runner.image_was_built(&image, built.is_ok()).await;
        built?;
    }
    if arguments.optimize || !arguments.modules.is_empty() {
        return Ok(exit_status::SUCCESS);
    }
    let work = warm_up(&sandbox, settings, arguments.all);
    let interrupted = || anyhow::anyhow!("interrupted; modules that are compiled already are kept");
    let (result, signalled) = Signals::listen()?.interruptible(work, interrupted).await;
    match (result, signalled) {
        (Err(error), Some(status)) => {
            print_error(&error.to_string());
            Ok(status)
        }
        (result, _) => result,
    }
}

async fn warm_up(sandbox: &Sandbox, settings: &Settings, all: bool) -> anyhow::Result<u8> {
    sandbox.engine.sandbox().await?;
    let show = progress::packages_on_terminal();
    let tell = |event| {
        if let Some(show) = &show {
            show(&event);
        }
    };
    sandbox.engine.sandbox().await?.compile_bundle().await?;
    let mut others = 0;
    if all {
        match warm_up_local_wheels(sandbox, settings, &tell).await? {
            Ok(count) => others = count,
            Err(problems) => {
                print_error(&problems);
                return Ok(exit_status::FAILURE);
            }
        }
    }
    if let Err(problems) = warm_dependencies(sandbox, settings, &tell).await? {
        print_error(&problems);
        return Ok(exit_status::FAILURE);
    }
    for image in
        [Some(Image::data()), Some(Image::notebook()), Some(Image::server()), image_of(&settings.runner.dependencies)]
            .into_iter()
            .flatten()
    {
        sandbox.engine.sandbox().await?.build_image(&image).await?;
    }
    let report = example::report(&sandbox.runner, &CancellationToken::new()).await?;
    if report.status != RunStatus::Success {
        print_error(&result_text(&report, sandbox.runner.limits(), ReturnMode::Xml));
        return Ok(exit_status::FAILURE);
    }
    let place = settings.cache_dir.display();
    let also = if others > 0 { format!(" and {others} wheels of --find-links") } else { String::new() };
    print(&format!(
        "Ready: {} packages{also} are compiled and images are built in {place}",
        brumate_engine::bundle::wheels().len()
    ))?;
    Ok(exit_status::SUCCESS)
}

/// Compiles the newest wheel of every project in the directories of `--find-links`: native modules and bytecode. Returns the number
/// of wheels. The inner error lists the wheels that failed; the others are compiled.
async fn warm_up_local_wheels(
    sandbox: &Sandbox,
    settings: &Settings,
    event_sink: &(dyn Fn(PackageEvent) + Send + Sync),
) -> anyhow::Result<Result<usize, String>> {
    let mut newest: BTreeMap<String, WheelFileName> = BTreeMap::new();
    for name in local_wheels(&settings.packages)?.iter().filter_map(|path| wheel_name(path)) {
        let project = name.name.to_string();
        if newest.get(&project).is_none_or(|known| known.version < name.version) {
            newest.insert(project, name);
        }
    }
    let bundle = sandbox.runner.packages().bundle();
    newest.retain(|_, name| bundle.version(&name.name).is_none());
    let mut problems = Vec::new();
    for name in newest.values() {
        let requirement = format!("{}=={}", name.name, name.version);
        if let Err(error) = sandbox.runner.prepare_requirements(&[requirement], event_sink).await? {
            problems.push(error);
        }
    }
    Ok(if problems.is_empty() { Ok(newest.len()) } else { Err(problems.join("\n")) })
}
