//! Source distributions in a search, with builders that build nothing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use brumate_packages::cache::CachedWheel;
use brumate_packages::index::{IndexError, Metadata};
use brumate_packages::resolver::{Policy, Resolver, SourceBuilder, SourceDistribution};
use brumate_packages::{BuildError, BuildProblem};
use futures::future::BoxFuture;
use tokio::sync::oneshot;

use super::sources::foo;
use super::wheels::{names, resolve_with, settings};

type Answer = BoxFuture<'static, Result<Metadata, IndexError>>;

/// A builder to which a function gives the metadata.
struct Builder<F>(F);

fn builder<F>(answer: F) -> Arc<dyn SourceBuilder>
where
    F: Fn(&SourceDistribution) -> Answer + Send + Sync + 'static,
{
    Arc::new(Builder(answer))
}

#[async_trait]
impl<F> SourceBuilder for Builder<F>
where
    F: Fn(&SourceDistribution) -> Answer + Send + Sync,
{
    async fn metadata(&self, source: &SourceDistribution) -> Result<Metadata, IndexError> {
        (self.0)(source).await
    }

    async fn build(&self, _: &SourceDistribution) -> Result<CachedWheel, IndexError> {
        unreachable!("a search fetches nothing")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_that_cannot_be_built_are_passed_over_and_few_are_tried() {
    let sources: Vec<String> = (2..=9).map(|version| format!("foo-{version}.0.tar.gz")).collect();
    let mut files: Vec<(&str, &str)> = sources.iter().map(|file| (&**file, "")).collect();
    files.push(("foo-1.0-py3-none-any.whl", ""));
    let server = foo(&files).await;
    let compiled = BuildProblem::Compiled("`part`".to_owned());
    let requirements = BuildProblem::Requirements("`cmake` has no wheel.\nhint: another".to_owned());
    let broken = BuildProblem::Failed { reason: "why".to_owned(), output: String::new() };
    for (problem, tried, error) in [
        (compiled, 3, "`foo` 9.0 comes as source code and has parts that the sandbox cannot compile (`part`).\n"),
        (
            requirements,
            3,
            "`foo` 9.0 comes as source code and the requirements of its build are not available: `cmake` has no wheel.",
        ),
        (broken, 1, "`foo 9.0` comes as source code and its build failed: why."),
    ] {
        let (builds, is_broken) = (Arc::new(AtomicUsize::new(0)), matches!(problem, BuildProblem::Failed { .. }));
        let counted = Arc::clone(&builds);
        let builder = builder(move |source| {
            counted.fetch_add(1, Ordering::Relaxed);
            let package = format!("{} {}", source.name, source.version);
            let error = IndexError::Build(Box::new(BuildError { package, problem: problem.clone() }));
            Box::pin(async move { Err(error) })
        });
        let resolver = Resolver::new(settings(&server)).expect("settings").with_builder(builder);
        let found = resolve_with(&resolver, &["foo>1"], Policy::default()).await.expect_err("no version").to_string();
        assert!(found.starts_with(error), "{found}");
        assert_eq!(builds.swap(0, Ordering::Relaxed), tried, "{found}");
        let wheel = resolve_with(&resolver, &["foo"], Policy::default()).await;
        assert_eq!(builds.load(Ordering::Relaxed), tried);
        assert_eq!(wheel.map(|wheel| names(&wheel)).ok(), (!is_broken).then(|| vec!["foo==1.0".to_owned()]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_ends_when_nobody_waits_for_it() {
    let server = foo(&[("foo-1.0.tar.gz", "")]).await;
    let ((begin, begun), (alive, ended)) = (oneshot::channel::<()>(), oneshot::channel::<()>());
    let ends = Mutex::new(Some((begin, alive)));
    let builder = builder(move |_| {
        let (begin, alive) = ends.lock().expect("no panic").take().expect("one build");
        Box::pin(async move {
            let _alive = alive;
            begin.send(()).expect("somebody waits");
            std::future::pending().await
        })
    });
    let resolver = Resolver::new(settings(&server)).expect("settings").with_builder(builder);
    tokio::select! {
        found = resolve_with(&resolver, &["foo"], Policy::default()) => panic!("{found:?}"),
        begun = begun => begun.expect("it has begun"),
    }
    ended.await.expect_err("the build was dropped");
}
