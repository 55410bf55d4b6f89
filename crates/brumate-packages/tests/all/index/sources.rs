//! Sources of packages: their order and their rules.

use std::collections::HashMap;
use std::sync::Arc;

use brumate_packages::index::Origin;
use brumate_packages::lock::{self, Lock};
use brumate_packages::resolver::{Policy, ResolutionProgress, Resolver};
use brumate_packages::settings::{FindLinks, IndexStrategy, Prerelease, Settings};
use brumate_packages::{Bundle, Distribution, DistributionName, Requirement};

use super::server::{Reply, Request, Server};
use super::wheels::{digest, index, metadata, names, page, resolve, resolve_with, settings, wheel};

/// Starts a server of `foo` with these files, which have no dependencies.
pub(super) async fn foo(files: &[(&str, &str)]) -> Server {
    let files: Vec<(&str, String)> =
        files.iter().map(|(name, more)| (*name, format!("{more}, \"core-metadata\": true"))).collect();
    let page = page(&files.iter().map(|(name, more)| (*name, more.as_str())).collect::<Vec<_>>());
    Server::start(move |request| answer_foo(request, &page)).await
}

fn answer_foo(request: &Request, page: &str) -> Reply {
    match request.path.as_str() {
        "/simple/foo/" => Reply::json(page),
        path => match path.strip_prefix("/files/foo-").and_then(|rest| rest.strip_suffix(".whl.metadata")) {
            Some(rest) => Reply::new(200, "", metadata("foo", rest.split('-').next().unwrap_or_default(), &[])),
            None => Reply::status(404),
        },
    }
}

fn name(text: &str) -> DistributionName {
    DistributionName::new(text).expect("a name")
}

#[tokio::test(flavor = "multi_thread")]
async fn wheels_for_the_sandbox_come_before_pure_ones() {
    let native = "foo-1.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl";
    let server =
        foo(&[("foo-1.0-py3-none-any.whl", ""), (native, ""), ("foo-1.1-cp314-cp314-win_amd64.whl", "")]).await;
    let resolution = resolve(settings(&server), &["foo"]).await.expect("found");
    assert_eq!(resolution.packages[0].file_name, native);
    let error = resolve(settings(&server), &["foo>1"]).await.expect_err("for others").to_string();
    assert!(error.contains("has no wheel for this sandbox"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn yanked_versions_need_a_pin() {
    let server =
        foo(&[("foo-2.0-py3-none-any.whl", r#", "yanked": "broken""#), ("foo-1.0-py3-none-any.whl", "")]).await;
    assert_eq!(names(&resolve(settings(&server), &["foo"]).await.expect("older")), ["foo==1.0"]);
    let pinned = resolve(settings(&server), &["foo==2.0"]).await.expect("pinned");
    assert_eq!(pinned.packages[0].yanked.as_deref(), Some("broken"));
    let error = resolve(settings(&server), &["foo>=2"]).await.expect_err("yanked").to_string();
    assert!(error.contains("yanked: broken") && error.contains("pin it (`==`)"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn early_versions_follow_the_setting() {
    let server = foo(&[("foo-2.0rc1-py3-none-any.whl", ""), ("foo-1.0-py3-none-any.whl", "")]).await;
    let with = |prerelease| Settings { prerelease, ..settings(&server) };
    for (prerelease, requirement, expected) in [
        (Prerelease::IfNecessary, "foo", Some("foo==1.0")),
        (Prerelease::IfNecessary, "foo>1", Some("foo==2.0rc1")),
        (Prerelease::Allow, "foo", Some("foo==2.0rc1")),
        (Prerelease::Disallow, "foo>1", None),
    ] {
        let found = resolve(with(prerelease), &[requirement]).await.ok().map(|resolution| names(&resolution).remove(0));
        assert_eq!(found.as_deref(), expected, "{prerelease:?} {requirement}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_files_and_files_without_a_time_are_left_out() {
    let server = foo(&[
        ("foo-3.0-py3-none-any.whl", ""),
        ("foo-2.0-py3-none-any.whl", r#", "upload-time": "2025-02-01T00:00:00Z""#),
        ("foo-1.0-py3-none-any.whl", r#", "upload-time": "2025-01-01T00:00:00Z""#),
    ])
    .await;
    let mut settings = settings(&server);
    settings.exclude_newer = Some("2025-02-01T00:00:00Z".parse().expect("a moment"));
    assert_eq!(names(&resolve(settings, &["foo"]).await.expect("older")), ["foo==1.0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pythons_and_hashes_are_heeded() {
    let (good, bad) = ("a".repeat(64), "b".repeat(64));
    let file = |version: &str, digest: &str, more: &str| {
        let name = format!("foo-{version}-py3-none-any.whl");
        format!(
            r#"{{"filename": "{name}", "url": "/files/{name}", "core-metadata": true, "hashes": {{"sha256": "{digest}"}}{more}}}"#
        )
    };
    let files = [file("3.0", &good, r#", "requires-python": "<3.14""#), file("2.0", &bad, ""), file("1.0", &good, "")];
    let page = format!(r#"{{"files": [{}]}}"#, files.join(","));
    let server = Server::start(move |request| answer_foo(request, &page)).await;
    assert_eq!(names(&resolve(settings(&server), &["foo"]).await.expect("older")), ["foo==2.0"]);
    let error = resolve(settings(&server), &["foo>=3"]).await.expect_err("another Python").to_string();
    assert!(error.contains("needs Python <3.14; the sandbox has 3.14.2"), "{error}");
    let resolver = Resolver::new(settings(&server)).expect("settings");
    let policy = Policy { hashes: HashMap::from([(name("foo"), vec![good.clone()])]), ..Policy::default() };
    let resolution = resolve_with(&resolver, &["foo"], policy).await.expect("allowed");
    assert_eq!(resolution.packages[0].sha256, Some(good));
    assert_eq!(names(&resolution), ["foo==1.0"]);
    let policy = Policy {
        forbids: Arc::new(|name, version| {
            (*version > "1.5".parse().expect("a version")).then(|| format!("no new {name}"))
        }),
        ..Policy::default()
    };
    assert_eq!(names(&resolve_with(&resolver, &["foo"], policy.clone()).await.expect("allowed")), ["foo==1.0"]);
    let error = resolve_with(&resolver, &["foo>=2"], policy).await.expect_err("forbidden").to_string();
    assert!(error.contains("is not allowed: no new foo"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_index_that_has_a_package_counts() {
    let first = foo(&[("foo-1.0-py3-none-any.whl", "")]).await;
    let second = foo(&[("foo-9.0-py3-none-any.whl", "")]).await;
    let empty = Server::start(|_| Reply::status(404)).await;
    let mut settings = settings(&first);
    settings.indexes = vec![index(&empty.url), index(&first.url), index(&second.url)];
    assert_eq!(names(&resolve(settings.clone(), &["foo"]).await.expect("found")), ["foo==1.0"]);
    assert!(second.requests().is_empty());
    settings.index_strategy = IndexStrategy::UnsafeBestMatch;
    assert_eq!(names(&resolve(settings, &["foo"]).await.expect("found")), ["foo==9.0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_are_sources_and_are_hashed() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let write = |name: &str, version: &str, requires: &[&str]| {
        let bytes = wheel(name, version, requires, 10);
        let path = directory.path().join(format!("{name}-{version}-py3-none-any.whl"));
        std::fs::write(path, &bytes).expect("written");
        digest(&bytes)
    };
    let foo = write("foo", "1.0", &["bar>=1"]);
    write("bar", "1.0", &[]);
    let settings = Settings {
        indexes: Vec::new(),
        find_links: vec![FindLinks::Directory(directory.path().to_owned())],
        ..Settings::default()
    };
    let resolution = resolve(settings.clone(), &["foo"]).await.expect("found");
    assert_eq!(names(&resolution), ["bar==1.0", "foo==1.0"]);
    assert_eq!(resolution.packages[1].sha256, Some(foo));
    assert!(resolve(settings, &["absent"]).await.is_err());

    let requirements: Vec<Requirement> = vec!["foo".parse().expect("a requirement")];
    let text = lock::write(&resolution, &requirements).expect("written");
    let lock = Lock::read(&text, directory.path()).expect("read");
    assert_eq!(names(&lock.resolution), names(&resolution));
    assert_eq!(lock.check(&requirements), Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bundle_is_preferred_and_pages_of_links_count() {
    let server = Server::start(|request| match request.path.as_str() {
        "/links.html" => Reply::html(
            "<a href='files/foo-2.0-py3-none-any.whl' data-core-metadata='true'>a</a>\
             <a href='files/bar-1.0-py3-none-any.whl' data-core-metadata='true'>b</a>",
        ),
        "/files/foo-2.0-py3-none-any.whl.metadata" => Reply::new(200, "", metadata("foo", "2.0", &[])),
        "/files/bar-1.0-py3-none-any.whl.metadata" => Reply::new(200, "", metadata("bar", "1.0", &["foo"])),
        _ => Reply::status(404),
    })
    .await;
    let bundle = Bundle::new([Distribution::new("foo", "1.0").provides(["foo"])]).expect("a bundle");
    let mut settings = settings(&server);
    settings.find_links = vec![FindLinks::Page(server.url.join("links.html").expect("a URL"))];
    let resolver = Resolver::new(settings).expect("settings").with_bundle(Arc::new(bundle));
    let preferred = resolve_with(&resolver, &["bar"], Policy::default()).await.expect("found");
    assert_eq!(names(&preferred), ["foo==1.0", "bar==1.0"]);
    assert_eq!(preferred.packages[0].origin, Origin::Bundle("foo".to_owned()));
    let other = resolve_with(&resolver, &["bar", "foo>1"], Policy::default()).await.expect("found");
    assert_eq!(names(&other), ["foo==2.0", "bar==1.0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_source_is_asked_for_what_the_bundle_has() {
    let server = Server::start(|request| match request.path.as_str() {
        "/simple/bar/" => Reply::json(&page(&[("bar-1.0-py3-none-any.whl", r#", "core-metadata": true"#)])),
        path if path.ends_with(".metadata") => Reply::new(200, "", metadata("bar", "1.0", &["foo>=1"])),
        _ => Reply::status(403),
    })
    .await;
    let bundle = Bundle::new([Distribution::new("foo", "1.0").provides(["foo"])]).expect("a bundle");
    let resolver = Resolver::new(settings(&server)).expect("settings").with_bundle(Arc::new(bundle));
    let resolution = resolve_with(&resolver, &["bar", "foo"], Policy::default()).await.expect("found");
    assert_eq!(names(&resolution), ["foo==1.0", "bar==1.0"]);
    let error = resolve_with(&resolver, &["foo>1"], Policy::default()).await.expect_err("the index is asked");
    assert!(error.to_string().contains("403"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pyodide_distribution_is_the_last_source() {
    let native = "foo-1.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl";
    let digest = "c".repeat(64);
    let lock = format!(
        r#"{{"info": {{"python": "3.14.2"}}, "packages": {{"foo": {{"name": "foo", "version": "1.0",
        "file_name": "{native}", "sha256": "{digest}", "package_type": "package", "depends": [], "imports": ["foo"]}}}}}}"#
    );
    let server = Server::start(move |request| match request.path.as_str() {
        "/dist/pyodide-lock.json" => Reply::new(200, "application/json", lock.clone()),
        "/simple/foo/" => Reply::json(&page(&[("foo-2.0.tar.gz", ""), ("foo-1.0-cp314-cp314-win_amd64.whl", "")])),
        _ => Reply::status(404),
    })
    .await;
    let mut settings = settings(&server);
    settings.pyodide = Some(server.url.join("dist/").expect("a URL"));
    let resolution = resolve(settings, &["foo"]).await.expect("found");
    assert_eq!(resolution.packages[0].url.as_ref().map(|url| url.path().to_owned()), Some(format!("/dist/{native}")));
    assert_eq!(resolution.packages[0].sha256, Some(digest));
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_go_to_their_server_alone() {
    let files = Server::start(|request| answer_foo(request, "")).await;
    let elsewhere = files.url.clone();
    let server = Server::start(move |request| {
        if request.header("authorization").is_empty() {
            return Reply::status(401);
        }
        let file = "foo-1.0-py3-none-any.whl";
        Reply::json(&format!(
            r#"{{"files": [{{"filename": "{file}", "url": "{elsewhere}files/{file}", "hashes": {{}}, "core-metadata": true}}]}}"#
        ))
    })
    .await;
    let error = resolve(settings(&server), &["foo"]).await.expect_err("no credentials").to_string();
    assert!(error.contains("401"), "{error}");
    let mut settings = settings(&server);
    settings.credentials.add(&server.url, "user".to_owned(), Some("hush".to_owned()));
    assert_eq!(names(&resolve(settings, &["foo"]).await.expect("known")), ["foo==1.0"]);
    assert!(files.requests().iter().all(|request| request.header("authorization").is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_is_asked_for_everything() {
    let proxy = Server::start(|request| {
        let path = request.path.strip_prefix("http://index.invalid").expect("the absolute form").to_owned();
        let request = Request { path, headers: request.headers.clone() };
        answer_foo(&request, &page(&[("foo-1.0-py3-none-any.whl", r#", "core-metadata": true"#)]))
    })
    .await;
    let mut settings = settings(&proxy);
    settings.indexes = vec![index(&"http://index.invalid/".parse().expect("a URL"))];
    settings.proxy = Some(proxy.url.to_string());
    assert_eq!(names(&resolve(settings, &["foo"]).await.expect("found")), ["foo==1.0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_that_the_index_has_is_fetched_alone() {
    let server = foo(&[("foo-1.0-py3-none-any.whl", "")]).await;
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = seen.clone();
    let resolver = Resolver::new(settings(&server)).expect("settings").with_progress(Arc::new(move |progress| {
        let line = match progress {
            ResolutionProgress::Listing { name } => format!("listing {name}"),
            ResolutionProgress::Metadata { name, version } => format!("metadata {name} {version}"),
            _ => "other".to_owned(),
        };
        log.lock().expect("not poisoned").push(line);
    }));
    resolve_with(&resolver, &["foo"], Policy::default()).await.expect("found");
    assert_eq!(server.paths(), ["/simple/foo/", "/files/foo-1.0-py3-none-any.whl.metadata"]);
    assert_eq!(*seen.lock().expect("not poisoned"), ["listing foo", "metadata foo 1.0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn urls_need_permission_and_come_from_the_user() {
    let bytes = wheel("foo", "1.0", &["bar"], 10);
    let sha256 = digest(&bytes);
    let server = Server::start(move |request| match request.path.as_str() {
        "/here/foo-1.0-py3-none-any.whl" => Reply::file(request, &bytes),
        "/simple/bar/" => Reply::json(&page(&[("bar-1.0-py3-none-any.whl", r#", "core-metadata": true"#)])),
        "/simple/evil/" => Reply::json(&page(&[("evil-1.0-py3-none-any.whl", r#", "core-metadata": true"#)])),
        "/files/bar-1.0-py3-none-any.whl.metadata" => Reply::new(200, "", metadata("bar", "1.0", &[])),
        "/files/evil-1.0-py3-none-any.whl.metadata" => {
            Reply::new(200, "", metadata("evil", "1.0", &["foo @ http://elsewhere.invalid/foo-1.0-py3-none-any.whl"]))
        }
        _ => Reply::status(404),
    })
    .await;
    let url = format!("foo @ {}here/foo-1.0-py3-none-any.whl#sha256={sha256}", server.url);
    let error = resolve(settings(&server), &[&url]).await.expect_err("not allowed").to_string();
    assert!(error.contains("not allowed"), "{error}");
    let allowed = || Policy { url: Arc::new(|_| Ok(())), ..Policy::default() };
    let resolver = Resolver::new(settings(&server)).expect("settings");
    let resolution = resolve_with(&resolver, &[&url], allowed()).await.expect("allowed");
    assert_eq!(names(&resolution), ["bar==1.0", "foo==1.0"]);
    assert_eq!((&resolution.packages[1].origin, &resolution.packages[1].sha256), (&Origin::Direct, &Some(sha256)));
    for (requirement, part) in [
        ("evil".to_owned(), "evil 1.0 asks for it"),
        (format!("foo @ {}foo-1.0.tar.gz", server.url), "`foo-1.0.tar.gz` comes as source code only"),
        (format!("foo @ {}foo-1.0.tar.bz2", server.url), "neither a wheel nor a source distribution"),
        ("foo @ file:///etc/foo-1.0-py3-none-any.whl".to_owned(), "not http"),
        (format!("bar @ {}here/foo-1.0-py3-none-any.whl", server.url), "a wheel of foo"),
    ] {
        let error = resolve_with(&resolver, &[&requirement], allowed()).await.expect_err("refused").to_string();
        assert!(error.contains(part), "{error}");
    }
}
