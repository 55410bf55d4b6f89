//! Real packages on the index that this machine's settings name: the same versions as uv's.

use std::collections::BTreeSet;

use brumate_packages::resolver::Resolver;
use brumate_packages::settings::Settings;

use crate::judge::{ask_us, ask_uv};

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
#[ignore = "asks the real index; run with --run-ignored"]
async fn real_requirements_resolve_as_with_uv() {
    let settings = Settings::from_environment().expect("settings");
    let index = settings.indexes.last().expect("an index").url.clone();
    let settings = Settings { find_links: Vec::new(), ..settings };
    let resolver = Resolver::new(settings).expect("settings");
    let mut differences = Vec::new();
    for set in SETS {
        let requirements: Vec<String> = set.iter().map(|text| (*text).to_owned()).collect();
        let theirs = ask_uv(&index, &requirements, &[]).await;
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
