//! `brumate warmup`: does now what the first runs would otherwise wait for.

use anyhow::bail;
use brumate_engine::api::Image;
use brumate_server::{ReturnMode, result_text};
use brumate_session::engine::Engine;
use brumate_session::{CancellationToken, Status};

use super::{complain, example, print};
use crate::exit_status;
use crate::progress;
use crate::sandbox::{Sandbox, image_of, sandbox, warm_dependencies};
use crate::settings::Settings;
use crate::signals::Signals;

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<u8> {
    let sandbox = sandbox(settings)?;
    let cancel = CancellationToken::new();
    let work = async {
        tokio::select! {
            result = warm_up(&sandbox, settings) => result,
            () = cancel.cancelled() => bail!("interrupted; what is compiled so far is kept"),
        }
    };
    let (result, signalled) = Signals::listen()?.guard(&cancel, work).await;
    match (result, signalled) {
        (Err(error), Some(status)) => {
            complain(&error.to_string());
            Ok(status)
        }
        (result, _) => result,
    }
}

async fn warm_up(sandbox: &Sandbox, settings: &Settings) -> anyhow::Result<u8> {
    sandbox.engine.sandbox().await?;
    let everything: Vec<String> = brumate_engine::bundle::wheels().iter().map(|wheel| wheel.name.to_owned()).collect();
    let show = progress::packages_on_terminal();
    let tell = |event| {
        if let Some(show) = &show {
            show(&event);
        }
    };
    sandbox.engine.prepare(&everything).await?;
    if let Err(problems) = warm_dependencies(sandbox, settings, &tell).await? {
        complain(&problems);
        return Ok(exit_status::FAILURE);
    }
    for image in
        [Some(Image::data()), Some(Image::notebook()), image_of(&settings.runner.dependencies)].into_iter().flatten()
    {
        sandbox.engine.warm(&image).await?;
    }
    let report = example::report(&sandbox.runner, &CancellationToken::new()).await?;
    if report.status != Status::Success {
        complain(&result_text(&report, sandbox.runner.limits(), ReturnMode::Xml));
        return Ok(exit_status::FAILURE);
    }
    let place = settings.cache_dir.display();
    print(&format!("Ready: {} packages are compiled and images are built in {place}", everything.len()))?;
    Ok(exit_status::SUCCESS)
}
