//! Inputs that are texts: of indexes, of wheels, of users.

use brumate_fuzz::packages::Reader;

use crate::{Input, damage};

/// Inputs of `packages`: the byte that chooses the reader, and a text.
pub(crate) fn packages() -> Vec<Input> {
    let sha256 = "0123456789abcdef".repeat(4);
    let texts = [
        ("metadata", Reader::Metadata, METADATA.to_owned()),
        ("metadata-headers-folded", Reader::Metadata, "Name: a\nVersion: 1\n  2\nRequires-Dist:\n b\n".to_owned()),
        ("page-json", Reader::JsonPage, JSON_PAGE.replace("SHA256", &sha256)),
        ("page-json-nested", Reader::JsonPage, "[".repeat(300)),
        ("page-json-types", Reader::JsonPage, r#"{"meta": 1, "files": [{"filename": [], "url": {}}]}"#.to_owned()),
        ("page-html", Reader::HtmlPage, HTML_PAGE.replace("SHA256", &sha256)),
        ("page-html-open", Reader::HtmlPage, "<a href=\"a-1-py3-none-any.whl<a href='&#x110000;&lt'>".to_owned()),
        ("lock", Reader::Lock, LOCK.replace("SHA256", &sha256)),
        ("lock-version", Reader::Lock, "lock-version = \"9.9\"\n".to_owned()),
        (
            "requirement",
            Reader::Requirement,
            "requests[security,tests]>=2.8.1,==2.8.*; python_version<'3.9'".to_owned(),
        ),
        ("requirement-url", Reader::Requirement, "a @ https://files.example/a-1-py3-none-any.whl#sha256=0".to_owned()),
        ("requirement-parentheses", Reader::Requirement, format!("a; {}", "(".repeat(500))),
        ("requirement-unicode", Reader::Requirement, "ä==1️⃣ ; os_name == '\u{202e}'".to_owned()),
    ];
    let mut inputs: Vec<Input> = Vec::new();
    for (name, reader, text) in texts {
        inputs.push((name.to_owned(), [&[reader as u8][..], text.as_bytes()].concat()));
    }
    for name in ["page-json", "page-html", "lock"] {
        damage::add(&mut inputs, name);
    }
    inputs
}

/// Inputs of `wheel_files` that no wheel of the bundle has.
pub(crate) fn wheel_files() -> Vec<Input> {
    [
        ("name", "numpy-2.4.6-1local-cp314-cp314-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl".to_owned()),
        ("name-many-tags", format!("a-1-{}-none-any.whl", vec!["py3"; 200].join("."))),
        ("name-path", "../a-1-py3-none-any.whl".to_owned()),
        ("pattern", "acme-*>=1,<2".to_owned()),
        (
            "policy",
            "allow = ['a', 'b-*<2']\ndeny = ['c']\nrequire-hashes = true\nmax-wheel-size = '10 MiB'\n".to_owned(),
        ),
        ("policy-unknown-key", "allow = 5\nother = {}\n".to_owned()),
        ("script", SCRIPT.to_owned()),
        ("script-open", "# /// script\n# dependencies = [\n".to_owned()),
        ("script-twice", format!("{SCRIPT}{SCRIPT}")),
        ("entry-points", "[console_scripts]\na = b.c:d.e [extra]\n[other]\n x=y\n".to_owned()),
        ("record-quotes", "\"a,b\"\"c.py\",sha256=AA,\n\"open".to_owned()),
    ]
    .map(|(name, text)| (name.to_owned(), text.into_bytes()))
    .to_vec()
}

const METADATA: &str = "Metadata-Version: 2.4\nName: Foo.Bar\nVersion: 1.0.post1\nRequires-Python: >=3.9,!=3.9.7\n\
    Provides-Extra: all\nRequires-Dist: bar[x]>=1,<2; python_version >= '3.9' and extra == 'all'\n\
    Requires-Dist: b @ https://files.example/b-1-py3-none-any.whl\nDynamic: License\n\nA description.\n";

const JSON_PAGE: &str = r#"{"meta": {"api-version": "1.1"}, "name": "foo", "versions": ["1.0", "1.1"], "files": [
{"filename": "foo-1.0.tar.gz", "url": "../../files/foo-1.0.tar.gz", "hashes": {"sha256": "SHA256"}, "size": 1000},
{"filename": "foo-1.1-py3-none-any.whl", "url": "https://files.example/foo-1.1-py3-none-any.whl",
 "hashes": {"md5": "0", "sha256": "SHA256"}, "requires-python": ">=3.8,<4", "yanked": "broken", "size": 20000,
 "upload-time": "2026-10-01T12:00:00.123456Z", "core-metadata": {"sha256": "SHA256"}, "provenance": null}]}
"#;

const HTML_PAGE: &str = r#"<!DOCTYPE html>
<html><head><meta name="pypi:repository-version" content="1.1"><base href="/files/"><title>Links for foo</title></head>
<body><h1>Links for foo</h1>
<a href="foo-1.0.tar.gz#sha256=SHA256">foo-1.0.tar.gz</a><br>
<a href="foo-1.1-py3-none-any.whl#sha256=SHA256" data-requires-python="&gt;=3.8,&lt;4" data-yanked=""
   data-core-metadata="sha256=SHA256" data-dist-info-metadata='true'>foo-1.1-py3-none-any.whl</a><br/>
<A HREF=foo-1.2-py3-none-any.whl>foo &amp; co</A></body></html>
"#;

const LOCK: &str = r#"lock-version = "1.0"
created-by = "a tool"
requires-python = ">=3.14"
environments = ["sys_platform == 'emscripten'"]

[[packages]]
name = "foo"
version = "1.0"
marker = "python_version >= '3.9'"
dependencies = [{ name = "bar" }]
wheels = [{ url = "https://files.example/foo-1.0-py3-none-any.whl", size = 20000, hashes = { sha256 = "SHA256" } }]

[[packages]]
name = "bar"
version = "2.0"
wheels = [{ name = "bar-2.0-py3-none-any.whl", url = "https://files.example/bar", hashes = { sha256 = "SHA256" } }]
"#;

const SCRIPT: &str = "# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n#   \"requests<3\",\n#   \"rich\",\n# ]\n\
    # ///\n\nimport requests\n";
