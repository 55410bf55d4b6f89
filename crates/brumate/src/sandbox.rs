//! Makes a runner and an engine from settings.

use std::sync::Arc;

use anyhow::Context;
use brumate_engine::client::{LocalEngine, SandboxConfig, StartMode, Tiers};
use brumate_engine_api::Image;
use brumate_packages::Requirement;
use brumate_session::packages::{Installation, PackageEvent, Packages};
use brumate_session::{ImageBuilder, Runner};

use crate::bundle::bundle;
use crate::progress;
use crate::settings::Settings;

/// A runner and its engine.
#[derive(Clone)]
pub(crate) struct Sandbox {
    pub(crate) runner: Runner,
    pub(crate) engine: LocalEngine,
}

/// Makes the sandbox of a command. Its processes start with the first run.
pub(crate) fn sandbox(settings: &Settings) -> anyhow::Result<Sandbox> {
    make(settings, SandboxConfig::default())
}

/// Makes the sandbox of a server. It compiles new modules quickly first, and optimizes them in the background.
pub(crate) fn server_sandbox(settings: &Settings) -> anyhow::Result<Sandbox> {
    make(settings, SandboxConfig { start: StartMode::Quick, tiers: Tiers::Background, ..SandboxConfig::default() })
}

/// Makes the sandbox of a command with one run. A later process optimizes modules that the run has compiled quickly, unless
/// `--no-learned-images` forbids such processes.
pub(crate) fn single_run_sandbox(settings: &Settings) -> anyhow::Result<Sandbox> {
    let tiers = if settings.runner.builder == ImageBuilder::OtherProcess { Tiers::Deferred } else { Tiers::Optimized };
    unpooled(settings, StartMode::Brief, tiers)
}

/// Makes the sandbox of a server that is written in Python. Its machines are started when they are needed. It compiles new modules
/// quickly first, and optimizes them in the background. `many`: each session has a machine.
pub(crate) fn python_server_sandbox(settings: &Settings, many: bool) -> anyhow::Result<Sandbox> {
    unpooled(settings, if many { StartMode::Quick } else { StartMode::Brief }, Tiers::Background)
}

/// Makes the sandbox of a Jupyter kernel: one session, whose machine is started when it is needed. It compiles new modules quickly first,
/// and optimizes them in the background.
pub(crate) fn kernel_sandbox(settings: &Settings) -> anyhow::Result<Sandbox> {
    unpooled(settings, StartMode::Brief, Tiers::Background)
}

/// Makes a sandbox that keeps no machines ready. It starts the zygotes of the images that are used, and no others.
fn unpooled(settings: &Settings, start: StartMode, tiers: Tiers) -> anyhow::Result<Sandbox> {
    let progress = Some(progress::on_terminal().unwrap_or_else(progress::one_message));
    let config = SandboxConfig { start, lazy: true, progress, tiers, ..SandboxConfig::default() };
    make(&Settings { ready: 0, ..settings.clone() }, config)
}

fn make(settings: &Settings, mut config: SandboxConfig) -> anyhow::Result<Sandbox> {
    config.cache_dir = settings.cache_dir.clone();
    config.bundle_file = settings.bundle_file.clone();
    config.require_jail = settings.require_jail;
    config.ready = settings.ready;
    config.idle = settings.ready_timeout;
    config.progress = config.progress.or_else(progress::on_terminal);
    let engine = LocalEngine::new(config);
    let bundle = Arc::new(bundle().context("this binary is defective; install it again")?);
    let mut runner = settings.runner.clone();
    runner.images.extend(image_of(&runner.dependencies));
    let packages = Packages::new(Arc::new(engine.clone()), Arc::clone(&bundle), settings.packages.clone());
    let runner = Runner::new(Arc::new(engine.clone()), bundle, runner).with_packages(packages);
    Ok(Sandbox { runner, engine })
}

/// Returns the image with the modules of these requirements imported. Returns `None` if the bundle has none of them.
pub(crate) fn image_of(requirements: &[String]) -> Option<Image> {
    let name = |text: &String| Some(text.parse::<Requirement>().ok()?.name);
    let modules: Vec<&str> = requirements
        .iter()
        .filter_map(name)
        .filter_map(|name| brumate_engine::bundle::wheels().iter().find(|wheel| wheel.name == name.as_str()))
        .filter_map(|wheel| wheel.import_names.iter().find(|module| !module.starts_with('_')).copied())
        .collect();
    (!modules.is_empty()).then(|| Image::of(modules))
}

/// Installs the packages of `--deps` that are not in the bundle, compiles their bytecode, and builds an image with them imported. Later
/// runs that import them are forked from that image. The inner error lists packages that cannot be installed.
pub(crate) async fn warm_dependencies(
    sandbox: &Sandbox,
    settings: &Settings,
    event_sink: &(dyn Fn(PackageEvent) + Send + Sync),
) -> anyhow::Result<Result<(), String>> {
    let dependencies = &settings.runner.dependencies;
    let installation = match sandbox.runner.prepare_requirements(dependencies, event_sink).await? {
        Ok(installation) => installation,
        Err(error) => return Ok(Err(error)),
    };
    if installation.layers.is_empty() {
        return Ok(Ok(()));
    }
    let image = own_image(dependencies, &installation);
    // A package whose import fails here is still installed.
    let built = async { sandbox.engine.sandbox().await?.build_image(&image).await };
    match built.await {
        Ok(()) => sandbox.runner.set_own_image(image),
        Err(error) => tracing::warn!(%error, "no image was built of the packages of --deps"),
    }
    Ok(Ok(()))
}

/// Uses the image of `--deps` for runs, if `brumate warmup` has built it. Errors are ignored; the run reports them.
pub(crate) async fn use_warm_dependencies(sandbox: &Sandbox, settings: &Settings) {
    let dependencies = &settings.runner.dependencies;
    let wanted: Option<Vec<_>> =
        dependencies.iter().map(|text| text.parse::<Requirement>().ok().map(Into::into)).collect();
    let Some(wanted) = wanted.filter(|wanted: &Vec<_>| !wanted.is_empty()) else { return };
    let Ok(installation) = sandbox.runner.packages().install(wanted, &|_| {}).await else { return };
    if installation.layers.is_empty() {
        return;
    }
    let image = own_image(dependencies, &installation);
    if sandbox.engine.sandbox().await.is_ok_and(|engine| engine.has_image(&image)) {
        sandbox.runner.set_own_image(image);
    }
}

/// Returns the image of the requirements `dependencies`, which were resolved to `installation`.
fn own_image(dependencies: &[String], installation: &Installation) -> Image {
    let named: Vec<String> =
        dependencies.iter().filter_map(|text| Some(text.parse::<Requirement>().ok()?.name.to_string())).collect();
    let of_layers = installation.packages.iter().filter(|package| named.contains(&package.name));
    let of_layers = of_layers.filter_map(|package| package.import_names.iter().find(|module| !module.starts_with('_')));
    let of_bundle = image_of(dependencies).unwrap_or_default();
    // Packages that need numpy are used together with the others of the data image.
    let is_data = installation.wheels.iter().any(|wheel| wheel == "numpy");
    let data = Image::DATA.iter().filter(|_| is_data).map(|&module| module.to_owned());
    let mut modules: Vec<String> = data.collect();
    for module in of_bundle.modules().iter().chain(of_layers) {
        if !modules.contains(module) {
            modules.push(module.clone());
        }
    }
    Image::of(modules).with_layers(installation.layers.clone())
}
