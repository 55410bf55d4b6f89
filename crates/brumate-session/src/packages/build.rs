//! Source distributions become wheels, in a machine of their own.
//!
//! The machine gets the archive as its standard input and the wheels that the build requires as layers, and nothing of
//! who asked. Its wheel is a stranger's like any other: the cache verifies it. What the cache keeps is named by the
//! SHA-256 of the source distribution and of the wheels that built it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use brumate_engine_api::{
    Ended, EngineError, Event, Execute, ExitReason, Image, Layer, Limits, MAX_FILE_CHUNK, Machine, MachineSpec,
    Outcome, StopReason,
};
use brumate_packages::cache::{Cache, CacheError, CachedWheel, DerivedKind, Sha256Hash};
use brumate_packages::index::{IndexError, Metadata, Origin, metadata_of};
use brumate_packages::policy::{Candidate, RequestReason};
use brumate_packages::resolver::{Resolution, SourceBuilder, SourceDistribution};
use brumate_packages::wheel::WheelFileName;
use brumate_packages::{BuildError, BuildProblem, MAX_SOURCE_BYTES, Requirement, RequirementSource};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, mpsc};

use super::{PackageError, PackageRequest, Packages, RequirementSet};

/// Longest time of one build; also the limit of its CPU time.
pub(super) const BUILD_TIMEOUT: Duration = Duration::from_secs(120);
/// Builds of a server that run at the same time; others wait.
pub(super) const MAX_BUILDS_AT_ONCE: usize = 2;
/// Bytes that a build may write, the unpacked archive among them.
const MAX_BUILD_BYTES: u64 = 512 << 20;
/// Largest wheel that is taken from a build, in bytes.
const MAX_BUILT_BYTES: u64 = 128 << 20;
/// Requirements of one build.
const MAX_BUILD_REQUIREMENTS: usize = 64;
/// Bytes of a build's answer, and of a record in the cache.
const MAX_ANSWER_BYTES: u64 = 16 << 20;
/// Characters of a reason that a build gives.
const MAX_REASON: usize = 1000;
/// Last lines of a build's output in an error.
const MAX_LINES: usize = 12;
/// Characters of one of these lines.
const MAX_LINE: usize = 200;
/// Last bytes of a build's output that are kept.
const MAX_LOG: usize = 16 << 10;
/// Failed builds that are remembered: a repetition costs nothing.
const MAX_FAILED: usize = 256;
/// Time for which a failed build is remembered.
const FAILED_AGE: Duration = Duration::from_secs(600);

/// Kind of source distributions in the cache.
const SOURCE: DerivedKind = DerivedKind::new("source", 1);
/// Kind of the records of [`Inspected`]. Raise the number when that changes.
const INSPECTED: DerivedKind = DerivedKind::new("inspected", 1);
/// Kind of records of builds. Raise the number when builds of the same source distribution change.
const BUILT: DerivedKind = DerivedKind::new("built", 1);

/// Time of every file in a built wheel, as build backends read it: the first that ZIP can express.
const EPOCH: &str = "315532800";
/// Directory in which the guest puts the wheel.
const WHEELS: &str = "/tmp/build/wheels";

/// Failed builds by the SHA-256 of their source distribution and of its names: the same bytes under another name fail for
/// another reason, and may be another principal's.
#[derive(Debug, Default)]
pub(super) struct FailedBuilds(Mutex<HashMap<[u8; 32], (Instant, BuildError)>>);

impl FailedBuilds {
    fn get(&self, key: &Sha256Hash) -> Option<BuildError> {
        let known = self.0.lock();
        known.get(&key.0).filter(|(since, _)| since.elapsed() < FAILED_AGE).map(|(_, error)| error.clone())
    }

    fn insert(&self, key: Sha256Hash, error: BuildError) {
        let mut known = self.0.lock();
        if known.len() >= MAX_FAILED {
            known.retain(|_, (since, _)| since.elapsed() < FAILED_AGE);
        }
        if known.len() < MAX_FAILED {
            known.insert(key.0, (Instant::now(), error));
        }
    }
}

/// Statements of a source distribution that are read without running its code.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Inspected {
    /// Requirements of its build.
    requires: Vec<String>,
    /// Core metadata that holds for every wheel of it (PEP 643).
    metadata: Option<String>,
}

/// Result of a build with certain wheels.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum BuildStep {
    /// The backend requires more.
    Requires(Vec<String>),
    /// The wheel.
    Wheel { file_name: String, sha256: String },
}

/// Answer of the guest.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    error: Option<String>,
    compiled: bool,
    requires: Vec<String>,
    metadata: Option<String>,
    name: Option<String>,
}

/// Builder over the package service.
pub(super) struct SandboxBuilder(pub(super) Packages);

#[async_trait]
impl SourceBuilder for SandboxBuilder {
    async fn metadata(&self, source: &SourceDistribution) -> Result<Metadata, IndexError> {
        let inspected = match source_hash(source) {
            Some(hash) => self.0.record(hash, &INSPECTED).await.map_err(local)?,
            None => None,
        };
        let inspected: Inspected = match inspected {
            Some(inspected) => inspected,
            None => self.0.inspect(source).await?,
        };
        if let Some(text) = inspected.metadata
            && let Ok(metadata) = Metadata::parse(text.as_bytes())
        {
            return Ok(metadata);
        }
        let wheel = self.0.build(source).await?;
        let unusable = |reason: String| source.error(BuildProblem::Failed { reason, output: String::new() });
        let read = tokio::task::spawn_blocking(move || {
            let bytes = metadata_of(std::io::BufReader::new(wheel.file()))?;
            Metadata::parse(&bytes)
        });
        read.await.map_err(local)?.map_err(|reason| unusable(format!("the metadata of its wheel: {reason}")))
    }

    async fn build(&self, source: &SourceDistribution) -> Result<CachedWheel, IndexError> {
        self.0.build(source).await
    }
}

impl Packages {
    /// Returns the wheel of a source distribution, from the cache or built.
    async fn build(&self, source: &SourceDistribution) -> Result<CachedWheel, IndexError> {
        self.check_source(source)?;
        if let Some(hash) = source_hash(source)
            && let Some(wheel) = self.built(source, hash).await?
        {
            return Ok(wheel);
        }
        // Before the turn: a server that sends slowly holds up nobody else's build.
        let (hash, archive) = self.archive(source).await?;
        let _turn = self.inner.builds.acquire().await.map_err(local)?;
        // Another request may have built it meanwhile.
        if let Some(wheel) = self.built(source, hash).await? {
            return Ok(wheel);
        }
        self.remembering(source, hash, self.run_build(source, hash, archive)).await
    }

    /// Reads the statements of a source distribution.
    async fn inspect(&self, source: &SourceDistribution) -> Result<Inspected, IndexError> {
        self.check_source(source)?;
        let (hash, archive) = self.archive(source).await?;
        let _turn = self.inner.builds.acquire().await.map_err(local)?;
        if let Some(known) = self.record(hash, &INSPECTED).await.map_err(local)? {
            return Ok(known);
        }
        let inspected = self.remembering(source, hash, async {
            let mut run = BuildRun::start(self, source, archive).await?;
            run.inspect(source).await
        });
        let inspected = inspected.await?;
        self.write_record(hash, &INSPECTED, &inspected).await.map_err(local)?;
        Ok(inspected)
    }

    /// Returns the error of a build that has failed lately, or waits for `building` and remembers its error.
    async fn remembering<T>(
        &self,
        source: &SourceDistribution,
        hash: Sha256Hash,
        building: impl Future<Output = Result<T, IndexError>>,
    ) -> Result<T, IndexError> {
        let names = format!("{hash}\n{}\n{}\n{}", source.file_name, source.name, source.version);
        let key = Sha256Hash::of(names.as_bytes());
        if let Some(error) = self.inner.failed_builds.get(&key) {
            return Err(IndexError::Build(Box::new(error)));
        }
        let outcome = building.await;
        if let Err(IndexError::Build(error)) = &outcome
            && matches!(error.problem, BuildProblem::Compiled(_) | BuildProblem::Failed { .. })
        {
            self.inner.failed_builds.insert(key, (**error).clone());
        }
        outcome
    }

    /// Asks the policy about the file itself.
    fn check_source(&self, source: &SourceDistribution) -> Result<(), IndexError> {
        let provenance = super::rules::provenance(&source.origin, Some(&source.url));
        let mut candidate = Candidate::new(&source.name, provenance, RequestReason::Requested)
            .version(&source.version)
            // The content of a local file is hashed before it is used.
            .hash_known(source.sha256.is_some() || source.url.scheme() == "file");
        if let Some(bytes) = source.size {
            candidate = candidate.bytes(bytes);
        }
        let refused = self.inner.settings.policy.check(&candidate);
        refused.map_err(|refusal| source.error(BuildProblem::Refused(refusal.to_string())))
    }

    /// Returns a source distribution, from the cache or downloaded.
    async fn archive(&self, source: &SourceDistribution) -> Result<(Sha256Hash, File), IndexError> {
        let cache = self.cache().await.map_err(local)?.clone();
        if let Some(hash) = source_hash(source) {
            let looking = cache.clone();
            let found = tokio::task::spawn_blocking(move || looking.get_derived(&hash, &SOURCE)).await;
            if let Some(found) = found.map_err(local)?.map_err(local)? {
                return Ok((hash, found.file().try_clone().map_err(local)?));
            }
        }
        let limit = self.inner.settings.policy.max_wheel_bytes().unwrap_or(u64::MAX).min(MAX_SOURCE_BYTES);
        let resolver = self.resolver(false).await.map_err(local)?;
        let bytes = resolver.download_source(source, limit).await?;
        let stored = tokio::task::spawn_blocking(move || {
            let hash = Sha256Hash::of(&bytes);
            let write = |output: &mut dyn Write| output.write_all(&bytes);
            let file = cache.derive(&hash, &SOURCE, write).map_err(local)?.file().try_clone().map_err(local)?;
            Ok::<_, IndexError>((hash, file))
        });
        stored.await.map_err(local)?
    }

    /// Returns the wheel that was built with the wheels that a build would have now.
    async fn built(&self, source: &SourceDistribution, hash: Sha256Hash) -> Result<Option<CachedWheel>, IndexError> {
        let inspected: Option<Inspected> = self.record(hash, &INSPECTED).await.map_err(local)?;
        let Some(Inspected { mut requires, .. }) = inspected else { return Ok(None) };
        // The second time with what the backend requires beyond the first.
        for _ in 0..2 {
            let backend = self.backend(source, &requires).await?;
            match self.record(key(hash, &backend), &BUILT).await.map_err(local)? {
                None => return Ok(None),
                Some(BuildStep::Requires(more)) => requires.extend(more),
                Some(BuildStep::Wheel { file_name, sha256 }) => {
                    let (Ok(name), Ok(hash)) = (file_name.parse::<WheelFileName>(), sha256.parse::<Sha256Hash>())
                    else {
                        return Ok(None);
                    };
                    // The same bytes may have been built under another name.
                    if name.name != source.name || name.version != source.version {
                        return Ok(None);
                    }
                    let cache = self.cache().await.map_err(local)?.clone();
                    let found = tokio::task::spawn_blocking(move || cache.get(&hash, &name)).await;
                    return found.map_err(local)?.map_err(local);
                }
            }
        }
        Ok(None)
    }

    /// Resolves the requirements of a build to wheels. Builds that need builds would have no end.
    async fn backend(&self, source: &SourceDistribution, requires: &[String]) -> Result<Resolution, IndexError> {
        let cannot = |reason: String| source.error(BuildProblem::Requirements(reason));
        if requires.len() > MAX_BUILD_REQUIREMENTS {
            return Err(cannot(format!("it requires more than {MAX_BUILD_REQUIREMENTS} packages")));
        }
        let requirements: Result<Vec<Requirement>, _> =
            requires.iter().map(|text| text.parse::<Requirement>()).collect();
        let requirements = requirements.map_err(|error| cannot(error.to_string()))?;
        // A distribution must not make this process fetch from anywhere.
        let is_url = |requirement: &&Requirement| matches!(requirement.source, RequirementSource::Url(_));
        if let Some(requirement) = requirements.iter().find(is_url) {
            let requirement = one_line(&requirement.to_string());
            return Err(cannot(format!(
                "`{requirement}` names a URL; a build gets packages of the given sources only"
            )));
        }
        let set = RequirementSet {
            requests: requirements.into_iter().map(PackageRequest::from).collect(),
            wheels_only: true,
            ..RequirementSet::default()
        };
        let resolved = async {
            self.check_requirements(&set)?;
            let resolution = self.search(&set, Arc::new(|_| {})).await?;
            self.check_resolution(&set, &resolution)?;
            Ok::<_, PackageError>(resolution)
        };
        resolved.await.map_err(|error| unmet(source, error))
    }

    async fn run_build(
        &self,
        source: &SourceDistribution,
        hash: Sha256Hash,
        archive: File,
    ) -> Result<CachedWheel, IndexError> {
        let mut run = BuildRun::start(self, source, archive).await?;
        let inspected = run.inspect(source).await?;
        self.write_record(hash, &INSPECTED, &inspected).await.map_err(local)?;
        let mut requires = inspected.requires;
        let mut backend = self.backend(source, &requires).await?;
        run.mount(self, source, &backend).await?;
        let more = run.call(source, "requirements()").await?.requires;
        if !more.is_empty() {
            let step = BuildStep::Requires(more.clone());
            self.write_record(key(hash, &backend), &BUILT, &step).await.map_err(local)?;
            requires.extend(more);
            backend = self.backend(source, &requires).await?;
            run.mount(self, source, &backend).await?;
        }
        let name = run.call(source, "build()").await?.name.unwrap_or_default();
        let wheel = run.take_wheel(self, source, &name).await?;
        let step = BuildStep::Wheel { file_name: name, sha256: wheel.hash().to_string() };
        self.write_record(key(hash, &backend), &BUILT, &step).await.map_err(local)?;
        Ok(wheel)
    }

    async fn record<T: DeserializeOwned + Send + 'static>(
        &self,
        hash: Sha256Hash,
        kind: &'static DerivedKind,
    ) -> Result<Option<T>, PackageError> {
        let cache = self.cache().await?.clone();
        let read = tokio::task::spawn_blocking(move || {
            let Some(found) = cache.get_derived(&hash, kind).map_err(PackageError::cache)? else { return Ok(None) };
            let mut text = Vec::new();
            #[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
            found.file().take(MAX_ANSWER_BYTES).read_to_end(&mut text).map_err(PackageError::internal)?;
            // An unreadable record is as good as none.
            Ok(serde_json::from_slice(&text).ok())
        });
        read.await.map_err(PackageError::internal)?
    }

    async fn write_record<T: Serialize>(
        &self,
        hash: Sha256Hash,
        kind: &'static DerivedKind,
        record: &T,
    ) -> Result<(), PackageError> {
        let cache = self.cache().await?.clone();
        let text = serde_json::to_vec(record).map_err(PackageError::internal)?;
        let write =
            move || cache.replace_derived(&hash, kind, |output: &mut dyn Write| output.write_all(&text)).map(drop);
        let written = tokio::task::spawn_blocking(write).await.map_err(PackageError::internal)?;
        written.map_err(PackageError::internal)
    }
}

/// Machine that builds one source distribution.
struct BuildRun {
    machine: Box<dyn Machine>,
    /// Layers that are mounted.
    mounted: Vec<Layer>,
    /// Time of the whole build, and the rest of it.
    time: Duration,
    left: Duration,
    output: String,
}

impl BuildRun {
    async fn start(packages: &Packages, source: &SourceDistribution, archive: File) -> Result<Self, IndexError> {
        let time = packages.inner.settings.build_time.unwrap_or(BUILD_TIMEOUT);
        let limits = Limits { wall: time, cpu: time, file_bytes: MAX_BUILD_BYTES, ..Limits::default() };
        let spec = MachineSpec {
            image: Image::plain(),
            limits,
            stdin: Some(OwnedFd::from(archive)),
            ..MachineSpec::default()
        };
        let machine = packages.inner.engine.machine(spec).await;
        let machine = machine.map_err(|error| unavailable(source, &error))?;
        Ok(Self { machine, mounted: Vec::new(), time, left: time, output: String::new() })
    }

    async fn inspect(&mut self, source: &SourceDistribution) -> Result<Inspected, IndexError> {
        // The name is an index's: it has no place in code as it is.
        let name = serde_json::Value::from(source.file_name.as_str()).to_string();
        let Answer { requires, metadata, .. } = self.call(source, &format!("inspect({name})")).await?;
        Ok(Inspected { requires, metadata })
    }

    /// Mounts the wheels of a resolution that are not mounted yet.
    async fn mount(
        &mut self,
        packages: &Packages,
        source: &SourceDistribution,
        backend: &Resolution,
    ) -> Result<(), IndexError> {
        let (events, _) = broadcast::channel(1);
        let installation = packages.fetch_resolution(backend.clone(), false, &events).await;
        let installation = installation.map_err(|error| unmet(source, error))?;
        packages
            .inner
            .engine
            .compile_wheels(&installation.wheels)
            .await
            .map_err(|error| unavailable(source, &error))?;
        let new: Vec<Layer> = installation.layers.into_iter().filter(|layer| !self.mounted.contains(layer)).collect();
        self.machine.mount(&new).await.map_err(|error| unavailable(source, &error))?;
        self.mounted.extend(new);
        Ok(())
    }

    /// Calls a function of the guest's `building`.
    async fn call(&mut self, source: &SourceDistribution, call: &str) -> Result<Answer, IndexError> {
        let code = format!("import _brumate.building\n_brumate.building.{call}");
        let env = vec![("SOURCE_DATE_EPOCH".to_owned(), EPOCH.to_owned())];
        let (sender, mut received) = mpsc::channel(64);
        let begun = Instant::now();
        let request = Execute { code, env, wall: Some(self.left), ..Execute::default() };
        let running = self.machine.execute(request, sender);
        let output = &mut self.output;
        let listening = async {
            while let Some(event) = received.recv().await {
                if let Event::Stream { text, .. } = event {
                    keep_end(output, &text);
                }
            }
        };
        let (outcome, ()) = tokio::join!(running, listening);
        self.left = self.left.saturating_sub(begun.elapsed());
        let fail = |reason: String| {
            let output = last_lines(&self.output);
            source.error(BuildProblem::Failed { reason: one_line(&reason), output })
        };
        let overdue = || fail(format!("it took longer than {} s", self.time.as_secs()));
        let value = match outcome {
            Ok(Outcome { stopped: Some(StopReason::TimeLimit | StopReason::CpuLimit), .. }) => return Err(overdue()),
            Ok(Outcome { ended: Ended::Returned(Some(value)), .. }) => value,
            Ok(Outcome { ended: Ended::Raised { ename, evalue, .. }, .. }) => {
                return Err(fail(format!("{ename}: {evalue}")));
            }
            Ok(Outcome { .. }) => return Err(fail("it ended without an answer".to_owned())),
            Err(EngineError::MachineExited { reason, .. }) => match reason {
                ExitReason::TimeLimit | ExitReason::CpuLimit => return Err(overdue()),
                ExitReason::HostMemory | ExitReason::Cancelled | ExitReason::Signal(ExitReason::SIGKILL) => {
                    return Err(unavailable(source, &reason));
                }
                reason => return Err(fail(reason.to_string())),
            },
            Err(error) => return Err(unavailable(source, &error)),
        };
        if value.json.len() as u64 > MAX_ANSWER_BYTES {
            return Err(fail("its answer is too large".to_owned()));
        }
        // Code of the distribution may have changed the answer.
        let answer: Answer = serde_json::from_str(&value.json).map_err(|error| fail(format!("its answer: {error}")))?;
        match &answer.error {
            Some(parts) if answer.compiled => Err(source.error(BuildProblem::Compiled(one_line(parts)))),
            Some(reason) => Err(fail(reason.clone())),
            None => Ok(answer),
        }
    }

    /// Takes the wheel out of the machine and puts it into the cache.
    async fn take_wheel(
        &mut self,
        packages: &Packages,
        source: &SourceDistribution,
        name: &str,
    ) -> Result<CachedWheel, IndexError> {
        let fail = |reason: String, output: &str| {
            source.error(BuildProblem::Failed { reason: one_line(&reason), output: last_lines(output) })
        };
        let refused = |error: CacheError, output: &str| match error {
            CacheError::Wheel(error) => fail(format!("its wheel is refused: {error}"), output),
            error => local(error),
        };
        let wheel = name.parse::<WheelFileName>();
        let wheel = wheel.map_err(|error| fail(format!("it made no wheel: {error}"), &self.output))?;
        if wheel.name != source.name || wheel.version != source.version {
            return Err(fail(format!("it made the wheel `{wheel}` of another package or version"), &self.output));
        }
        if !wheel.tags().all(|tag| tag.abi == "none" && tag.platform == "any") || wheel.priority().is_none() {
            return Err(source.error(BuildProblem::Compiled(format!("its wheel is `{wheel}`"))));
        }
        let cache = packages.cache().await.map_err(local)?.clone();
        let mut writer = new_writer(cache, wheel).await?;
        let (path, limit) = (format!("{WHEELS}/{name}"), writer.limit().min(MAX_BUILT_BYTES));
        let mut offset = 0;
        loop {
            let chunk = self.machine.read_file(&path, offset, MAX_FILE_CHUNK).await;
            let chunk = chunk.map_err(|error| fail(format!("its wheel: {error}"), &self.output))?;
            if chunk.size > limit {
                return Err(fail(format!("its wheel has more than {limit} bytes"), &self.output));
            }
            offset += chunk.bytes.len() as u64;
            writer.write(&chunk.bytes).map_err(|error| refused(error, &self.output))?;
            if chunk.bytes.is_empty() || offset >= chunk.size {
                break;
            }
        }
        let finished = tokio::task::spawn_blocking(move || writer.finish()).await.map_err(local)?;
        finished.map_err(|error| refused(error, &self.output))
    }
}

async fn new_writer(cache: Cache, name: WheelFileName) -> Result<brumate_packages::cache::WheelWriter, IndexError> {
    tokio::task::spawn_blocking(move || cache.writer_without_hash(&name)).await.map_err(local)?.map_err(local)
}

fn source_hash(source: &SourceDistribution) -> Option<Sha256Hash> {
    source.sha256.as_deref()?.parse().ok()
}

/// Returns the name of a build: the source distribution, and every wheel that takes part.
fn key(hash: Sha256Hash, backend: &Resolution) -> Sha256Hash {
    let mut wheels: Vec<String> = backend
        .packages
        .iter()
        .map(|package| {
            let content = match &package.origin {
                Origin::Bundle(key) => key.as_str(),
                _ => package.sha256.as_deref().unwrap_or(&package.file_name),
            };
            format!("{} {} {content}\n", package.name, package.version)
        })
        .collect();
    wheels.sort_unstable();
    Sha256Hash::of(format!("{hash}\n{}", wheels.concat()).as_bytes())
}

/// Error of a build whose requirements cannot be had. That a source of packages cannot be reached says nothing of the
/// source distribution.
fn unmet(source: &SourceDistribution, error: PackageError) -> IndexError {
    match error {
        PackageError::Index(error @ (IndexError::Malformed { .. } | IndexError::Build(_))) => {
            source.error(BuildProblem::Requirements(error.to_string()))
        }
        PackageError::Index(error) => error,
        error => source.error(BuildProblem::Requirements(error.to_string())),
    }
}

/// Error of the engine: the source distribution is not at fault.
fn unavailable(source: &SourceDistribution, error: &dyn std::fmt::Display) -> IndexError {
    IndexError::File { path: source.file_name.clone(), reason: format!("no machine builds it: {error}") }
}

fn local(error: impl std::fmt::Display) -> IndexError {
    IndexError::File { path: "the package cache".to_owned(), reason: error.to_string() }
}

/// Appends to the output, and drops its beginning when it is too long.
fn keep_end(output: &mut String, text: &str) {
    output.push_str(text);
    if output.len() > 2 * MAX_LOG {
        let from = output.ceil_char_boundary(output.len() - MAX_LOG);
        output.drain(..from);
    }
}

/// Returns the last lines of a build's output, without control characters.
fn last_lines(output: &str) -> String {
    let lines: Vec<String> = output
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.chars().filter(|character| !character.is_control()).take(MAX_LINE).collect())
        .collect();
    lines[lines.len().saturating_sub(MAX_LINES)..].join("\n")
}

/// Cuts a reason that a build gives, without control characters.
fn one_line(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).take(MAX_REASON).collect()
}

#[cfg(test)]
mod tests {
    use brumate_packages::Bundle;
    use brumate_packages::policy::{Policy, PolicyLayer, RuleOrigin};

    use super::*;
    use crate::packages::PackageSettings;
    use crate::testing::{FakeEngine, Script, outcome};

    const STATIC: &str = r#"{"requires": [], "metadata": "Metadata-Version: 2.2\nName: acme\nVersion: 1.0\n"}"#;

    fn code(call: &str) -> String {
        format!("import _brumate.building\n_brumate.building.{call}")
    }

    /// An engine that finds `inspected` in `acme-1.0.tar.gz`, whose build plays `build`.
    fn engine(inspected: &str, build: Script) -> FakeEngine {
        FakeEngine::default()
            .on(&code("inspect(\"acme-1.0.tar.gz\")"), Script::returning(inspected))
            .on(&code("requirements()"), Script::returning(r#"{"requires": []}"#))
            .on(&code("build()"), build)
    }

    /// Installs `acme`, a source distribution in a directory, under `rules`. Returns the error.
    async fn install(engine: &Arc<FakeEngine>, rules: &str) -> (Packages, tempfile::TempDir, String) {
        let place = tempfile::tempdir().unwrap();
        let links = place.path().join("links");
        std::fs::create_dir(&links).unwrap();
        std::fs::write(links.join("acme-1.0.tar.gz"), b"the archive").unwrap();
        let mut settings = PackageSettings::new(place.path().join("cache"));
        settings.sources.find_links = vec![links.display().to_string()];
        settings.sources.offline = true;
        settings.policy = Policy::new([PolicyLayer::from_toml(rules, RuleOrigin::CommandLine).unwrap()]);
        let bundle = Arc::new(Bundle::new([]).unwrap());
        let packages = Packages::new(Arc::clone(engine) as Arc<dyn brumate_engine_api::Engine>, bundle, settings);
        let error = again(&packages).await;
        (packages, place, error)
    }

    async fn again(packages: &Packages) -> String {
        let request = PackageRequest::from("acme".parse::<Requirement>().unwrap());
        packages.install(vec![request], &|_| {}).await.unwrap_err().to_string()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_build_that_takes_too_long_is_said_once() {
        let interrupted =
            Ended::Raised { ename: "KeyboardInterrupt".to_owned(), evalue: String::new(), traceback: String::new() };
        let build = Script::ending_with(Ok(outcome(interrupted, Some(StopReason::CpuLimit))));
        let engine = Arc::new(engine(STATIC, build.stdout("still\u{7} here\n")));
        let (packages, _place, error) = install(&engine, "").await;
        let expected = "`acme 1.0` comes as source code and its build failed: it took longer than 120 s. Use another version, \
                        or ask the operator to add a wheel (`find_links`).\nThe last lines of its build:\nstill here";
        assert_eq!(error, expected);
        let made = engine.made();
        assert_eq!(again(&packages).await, expected);
        assert_eq!(engine.made(), made, "it is not built again");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_a_build_answers_is_not_believed() {
        for (inspected, build, part) in [
            (STATIC, r#"{"name": "../acme-1.0-py3-none-any.whl"}"#, "it made no wheel"),
            (STATIC, r#"{"name": "acme-2.0-py3-none-any.whl"}"#, "of another package or version"),
            (
                STATIC,
                r#"{"name": "acme-1.0-cp314-cp314-linux_x86_64.whl"}"#,
                "has parts that the sandbox cannot compile",
            ),
            (STATIC, r#"{"error": "a\nb", "compiled": true}"#, "has parts that the sandbox cannot compile (a b)"),
            (STATIC, "3", "its answer"),
            (
                r#"{"requires": ["!"]}"#,
                "{}",
                "the requirements of its build are not available: `!` is not a valid requirement",
            ),
            (r#"{"requires": ["nowhere"]}"#, "{}", "the requirements of its build are not available"),
            (r#"{"requires": ["a @ http://127.0.0.1:1/a-1-py3-none-any.whl"]}"#, "{}", "names a URL"),
        ] {
            let engine = Arc::new(engine(inspected, Script::returning(build)));
            let (_, _place, error) = install(&engine, "").await;
            assert!(error.contains(part), "{build}: {error}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_policy_holds_for_source_distributions_and_for_what_builds_them() {
        let engine = Arc::new(engine(r#"{"requires": ["setuptools"]}"#, Script::silent()));
        for (text, part, machines) in [
            ("deny = ['acme']", "`deny` has `acme`", 0),
            ("max-wheel-size = 3", "max-wheel-size", 0),
            ("allow = ['acme']", "`setuptools`", 1),
        ] {
            let before = engine.made();
            let (_, _place, error) = install(&engine, text).await;
            assert!(error.contains(part), "{text}: {error}");
            assert_eq!(engine.made() - before, machines, "{text}");
        }
    }

    #[test]
    fn output_is_kept_within_bounds() {
        let mut output = String::new();
        for number in 0..10_000 {
            keep_end(&mut output, &format!("line {number} é\n"));
        }
        assert!(output.len() <= 2 * MAX_LOG);
        let lines = last_lines(&output);
        assert_eq!(lines.lines().count(), MAX_LINES);
        assert!(lines.ends_with("line 9999 é"), "{lines}");
        assert_eq!(last_lines(&"x".repeat(1000)).len(), MAX_LINE);
        assert_eq!(one_line(&format!(" a\u{1b}[2J{}", "b".repeat(MAX_REASON))).chars().count(), MAX_REASON);
    }
}
