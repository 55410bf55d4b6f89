//! Explanations of requirements that cannot be met.

use super::server::{Reply, Server};
use super::sources::foo;
use super::wheels::{metadata, names, page, resolve, settings};

#[tokio::test(flavor = "multi_thread")]
async fn conflicts_are_explained() {
    let server = Server::start(|request| match request.path.as_str() {
        "/simple/a/" => Reply::json(&page(&[("a-1.0-py3-none-any.whl", r#", "core-metadata": true"#)])),
        "/simple/b/" => Reply::json(&page(&[("b-1.0-py3-none-any.whl", r#", "core-metadata": true"#)])),
        "/simple/c/" => Reply::json(&page(&[
            ("c-1.0-py3-none-any.whl", r#", "core-metadata": true"#),
            ("c-2.0-py3-none-any.whl", r#", "core-metadata": true"#),
        ])),
        "/files/a-1.0-py3-none-any.whl.metadata" => Reply::new(200, "", metadata("a", "1.0", &["c<2"])),
        "/files/b-1.0-py3-none-any.whl.metadata" => Reply::new(200, "", metadata("b", "1.0", &["c>=2"])),
        "/files/c-1.0-py3-none-any.whl.metadata" => Reply::new(200, "", metadata("c", "1.0", &[])),
        _ => Reply::new(200, "", metadata("c", "2.0", &[])),
    })
    .await;
    let error = resolve(settings(&server), &["a", "b"]).await.expect_err("a conflict").to_string();
    assert!(error.contains("a requires c<2") && error.contains("b requires c>=2"), "{error}");
    assert!(error.contains("your requirements cannot be met"), "{error}");
    let error = resolve(settings(&server), &["c>=3"]).await.expect_err("no such version").to_string();
    assert_eq!(error, "there is no `c>=3`: the newest version that can be used is 2.0.");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_every_way_ends_at_one_package_that_is_the_reason() {
    let server = Server::start(|request| match request.path.as_str() {
        "/simple/web/" => Reply::json(&page(&[("web-3.1-py3-none-any.whl", r#", "core-metadata": true"#)])),
        "/simple/templates/" => Reply::json(&page(&[
            ("templates-2.0-py3-none-any.whl", r#", "core-metadata": true"#),
            ("templates-3.0-py3-none-any.whl", r#", "core-metadata": true"#),
        ])),
        "/simple/escapes/" => Reply::json(&page(&[
            ("escapes-1.0.tar.gz", ""),
            ("escapes-1.1-cp314-cp314-manylinux_2_17_x86_64.whl", ""),
            ("escapes-2.0-cp314-cp314-manylinux_2_17_x86_64.whl", ""),
        ])),
        "/simple/old/" => Reply::json(&page(&[("old-1.0.tar.gz", "")])),
        "/files/web-3.1-py3-none-any.whl.metadata" => Reply::new(200, "", metadata("web", "3.1", &["templates>=2"])),
        "/files/templates-2.0-py3-none-any.whl.metadata" => {
            Reply::new(200, "", metadata("templates", "2.0", &["escapes<2"]))
        }
        "/files/templates-3.0-py3-none-any.whl.metadata" => {
            Reply::new(200, "", metadata("templates", "3.0", &["escapes>=1.1", "nobody"]))
        }
        _ => Reply::new(404, "", ""),
    })
    .await;
    let refused = async |wanted: &str| resolve(settings(&server), &[wanted]).await.expect_err(wanted).to_string();
    let wheels = "`escapes` has no wheel for this sandbox (none in pure Python, none for pyemscripten_2026_0_wasm32)";
    let error = refused("web").await;
    let (sentence, hints) = error.split_once('\n').expect("hints");
    assert_eq!(sentence, format!("{wheels}; required by templates 3.0, required by web 3.1."));
    assert!(hints.contains("(`find_links`)") && !hints.contains("`escapes`"), "{hints}");
    let error = refused("templates==2").await;
    assert!(error.starts_with(&format!("{wheels}; required by templates 2.0.\n")), "{error}");
    assert!(refused("escapes>1").await.starts_with(&format!("{wheels}.\n")));
    assert!(refused("old").await.starts_with("`old` comes as source code only, which the sandbox cannot build"));
    // Once.
    assert_eq!(refused("absent").await.trim_end(), "no source has a package `absent`: is the name right?");
}

/// Runs in the long tier only: it takes ten thousand requests.
#[tokio::test(flavor = "multi_thread")]
async fn packages_that_require_others_without_end_are_given_up() {
    if brumate_test_support::count(0, 1) == 0 {
        return;
    }
    let server = Server::start(|request| {
        let path = request.path.as_str();
        if let Some(name) = path.strip_prefix("/simple/").and_then(|rest| rest.strip_suffix('/')) {
            return Reply::json(&page(&[(&format!("{name}-1.0-py3-none-any.whl"), r#", "core-metadata": true"#)]));
        }
        let number = path.strip_prefix("/files/p").and_then(|rest| rest.split('-').next()?.parse::<u64>().ok());
        let Some(number) = number.filter(|_| path.ends_with(".metadata")) else { return Reply::status(404) };
        let next: Vec<String> = (1..=20).map(|child| format!("p{}", number * 20 + child)).collect();
        let next: Vec<&str> = next.iter().map(String::as_str).collect();
        Reply::new(200, "", metadata(&format!("p{number}"), "1.0", &next))
    })
    .await;
    let error = resolve(settings(&server), &["p0"]).await.expect_err("there is no end of it").to_string();
    assert!(error.contains("more than 5000 distributions"), "{error}");
    let asked = server.requests().len();
    assert!(asked < 3 * 5000, "{asked} requests");
}

#[tokio::test(flavor = "multi_thread")]
async fn source_only_versions_are_passed_over_and_named() {
    let server = foo(&[("foo-2.0.tar.gz", ""), ("foo-1.0-py3-none-any.whl", ""), ("foo-1.0.tar.gz", "")]).await;
    assert_eq!(names(&resolve(settings(&server), &["foo"]).await.expect("older")), ["foo==1.0"]);
    let error = resolve(settings(&server), &["foo>=2"]).await.expect_err("no wheel").to_string();
    assert!(error.starts_with("`foo>=2` comes as source code only"), "{error}");
    assert!(error.contains("; 1.0 is the newest version that can be used.\n"), "{error}");
    assert!(error.contains("`find_links`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reason_is_that_of_final_versions() {
    let server = foo(&[
        ("foo-4.0rc1-cp314-cp314-win_amd64.whl", ""),
        ("foo-3.0-py3-none-any.whl", r#", "requires-python": "<3""#),
        ("foo-2.9-py3-none-any.whl", r#", "yanked": "broken""#),
        ("foo-2.8-py3-none-any.whl", r#", "requires-python": "<3""#),
    ])
    .await;
    let error = resolve(settings(&server), &["foo>2"]).await.expect_err("for an old Python").to_string();
    assert!(error.starts_with("`foo` 3.0 needs Python <3; "), "{error}");
    assert!(!error.contains("withdrawn version"), "a version that is not withdrawn is there: {error}");
    let error = resolve(settings(&server), &["foo==2.9.*"]).await.expect_err("withdrawn").to_string();
    assert!(error.contains("to use a withdrawn version all the same, pin it"), "{error}");
}
