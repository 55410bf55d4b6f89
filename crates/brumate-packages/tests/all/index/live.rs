//! Real packages on the index of this machine's settings: the same versions as uv's.
//!
//! uv does not know the name of the sandbox's platform yet. It asks a test server, which forwards the index's pages
//! with the name that uv knows.

use std::collections::BTreeSet;
use std::sync::Arc;

use brumate_packages::index::{IndexFile, MetadataFile, Origin, parse_page};
use brumate_packages::resolver::Resolver;
use brumate_packages::settings::Settings;

use super::judge::{ask_us, ask_uv};
use super::server::{Reply, Server};
use super::universe::{PLATFORM, PLATFORM_OF_UV};

fn file(file: &IndexFile) -> serde_json::Value {
    let digest = |sha256: &Option<String>| match sha256 {
        Some(sha256) => serde_json::json!({ "sha256": sha256 }),
        None => serde_json::json!({}),
    };
    serde_json::json!({
        "filename": file.filename.replace(PLATFORM, PLATFORM_OF_UV),
        "url": file.url.as_str(),
        "hashes": digest(&file.sha256),
        "requires-python": file.requires_python.as_ref().map(ToString::to_string),
        "yanked": file.yanked.is_some(),
        "core-metadata": match &file.metadata {
            MetadataFile::Absent => serde_json::Value::Bool(false),
            MetadataFile::Present { sha256 } => digest(sha256),
        },
    })
}

/// Forwards the pages of `index`, with the names of wheels for the sandbox as uv knows them.
async fn in_words_of_uv(index: url::Url) -> Server {
    let client = Arc::new(reqwest_client());
    let handle = tokio::runtime::Handle::current();
    Server::start(move |request| {
        let url = index.join(request.path.trim_start_matches('/')).expect("a URL");
        let accept = "application/vnd.pypi.simple.v1+json";
        let answer = tokio::task::block_in_place(|| {
            handle.block_on(async {
                let response = client.get(url.clone()).header("accept", accept).send().await?;
                let kind = response.headers().get("content-type").and_then(|value| value.to_str().ok());
                let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().to_owned();
                Ok::<_, reqwest::Error>((response.status().as_u16(), kind, response.bytes().await?))
            })
        });
        match answer {
            Ok((200, kind, bytes)) => {
                let files = parse_page(&bytes, &kind, &url, &Arc::new(Origin::Direct)).expect("a page");
                Reply::json(&serde_json::json!({ "files": files.iter().map(file).collect::<Vec<_>>() }).to_string())
            }
            Ok((status, ..)) => Reply::status(status),
            Err(_) => Reply::status(502),
        }
    })
    .await
}

fn reqwest_client() -> reqwest::Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let configuration = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    reqwest::Client::builder().tls_backend_preconfigured(configuration).build().expect("a client")
}

const SETS: [&[&str]; 28] = [
    &["rich<13"],
    &["email-validator"],
    &["httpx"],
    &["fastapi"],
    &["fastapi[standard]"],
    &["flask", "flask-login", "flask-wtf"],
    &["django>=4,<5", "djangorestframework"],
    &["requests[socks]", "requests-oauthlib"],
    &["jinja2", "markdown-it-py[plugins]", "pygments"],
    &["openapi-spec-validator"],
    &["jsonschema[format]"],
    &["sympy", "networkx", "mpmath<1.4"],
    &["beautifulsoup4", "html5lib", "soupsieve<2.5"],
    &["attrs", "cattrs", "hypothesis"],
    &["pytest", "pytest-mock", "pytest-asyncio", "pytest-cov"],
    &["typer", "click<8.2"],
    &["textual"],
    &["openpyxl", "xlsxwriter", "tabulate", "python-docx"],
    &["openai"],
    &["mcp"],
    &["langchain-core"],
    &["google-api-python-client"],
    &["boto3"],
    &["sphinx", "furo"],
    &["black", "isort", "flake8"],
    &["pandas"],
    &["starlette<0.20", "fastapi"],
    &["urllib3<1.26", "requests>=2.32"],
];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long tier: asks the real index"]
async fn real_requirements_resolve_as_with_uv() {
    let settings = Settings::from_environment().expect("settings");
    let index = settings.indexes.last().expect("an index").url.clone();
    let settings = Settings { find_links: Vec::new(), ..settings };
    let resolver = Resolver::new(settings).expect("settings");
    let index = in_words_of_uv(index).await;
    let cache = tempfile::tempdir().expect("temporary directory");
    let mut differences = Vec::new();
    for set in SETS {
        let requirements: Vec<String> = set.iter().map(|text| (*text).to_owned()).collect();
        let theirs = ask_uv(cache.path(), &index.url, &requirements, &[]).await;
        let ours = ask_us(&resolver, &requirements, &[]).await;
        let same = match (&theirs, &ours) {
            (Some(theirs), Ok(ours)) => theirs == ours,
            (None, Err(_)) => true,
            _ => false,
        };
        if !same {
            let (theirs, ours_set) = (theirs.unwrap_or_default(), ours.clone().unwrap_or_default());
            let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
            differences.push(format!(
                "{set:?}: uv only {:?}, ours only {:?} {}",
                only(&theirs, &ours_set),
                only(&ours_set, &theirs),
                ours.err().unwrap_or_default()
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
