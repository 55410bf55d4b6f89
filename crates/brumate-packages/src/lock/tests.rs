use super::*;

const DIGEST: &str = "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd";

fn locked(name: &str, origin: Origin, requires: &[&str]) -> LockedPackage {
    let distribution = |name: &str| DistributionName::new(name).expect("a name");
    let is_bundled = matches!(origin, Origin::Bundle(_));
    let file_name = format!("{name}-1.0-py3-none-any.whl");
    LockedPackage {
        name: distribution(name),
        version: Version::new([1, 0]),
        extras: Vec::new(),
        url: (!is_bundled).then(|| Url::parse(&format!("https://files.example/{file_name}")).expect("a URL")),
        sha256: (!is_bundled).then(|| DIGEST.to_owned()),
        size: (!is_bundled).then_some(5),
        file_name: if is_bundled { name.to_owned() } else { file_name },
        origin,
        requires: requires.iter().map(|name| distribution(name)).collect(),
        yanked: None,
    }
}

fn requirements(texts: &[&str]) -> Vec<Requirement> {
    texts.iter().map(|text| text.parse().expect("a requirement")).collect()
}

#[test]
fn what_is_written_is_read_back() {
    let resolution = Resolution {
        packages: vec![
            locked("b", Origin::Bundle("b".to_owned()), &[]),
            locked("c", Origin::Direct, &[]),
            locked("a", Origin::Index("https://index.example/simple/".to_owned()), &["b", "c"]),
        ],
    };
    let text = write(&resolution, &requirements(&["a[x]>=1"])).expect("written");
    assert!(text.starts_with("lock-version = \"1.0\"\n"), "{text}");
    let lock = Lock::read(&text, Path::new("/")).expect("read");
    for (before, after) in resolution.packages.iter().zip(&lock.resolution.packages) {
        assert_eq!((&before.name, &before.version), (&after.name, &after.version));
        assert_eq!((&before.origin, &before.url), (&after.origin, &after.url));
        assert_eq!((&before.sha256, &before.size), (&after.sha256, &after.size));
        assert_eq!((&before.file_name, &before.requires), (&after.file_name, &after.requires));
    }
    assert_eq!(lock.resolution.packages.len(), 3);
    assert_eq!(lock.check(&requirements(&["a[x]>=1", "b", "z; sys_platform == 'win32'"])), Ok(()));
    for (stale, part) in [("a>=2", "a 1.0"), ("d", "not in the lock"), ("a[y]", "extras")] {
        let error = lock.check(&requirements(&[stale])).expect_err(stale);
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_wheel_without_a_digest_is_not_locked() {
    let mut package = locked("a", Origin::FindLinks("/wheels".to_owned()), &[]);
    package.sha256 = None;
    let error = write(&Resolution { packages: vec![package] }, &[]).expect_err("refused");
    assert!(error.to_string().contains("SHA-256"), "{error}");
}

#[test]
fn locks_of_other_tools_are_read() {
    let text = format!(
        r#"
lock-version = "1.0"
created-by = "other"
environments = ["sys_platform == 'win32'", "sys_platform == 'emscripten'"]
requires-python = ">=3.9"
[[packages]]
name = "a"
version = "1.0"
sdist = {{ name = "a-1.0.tar.gz", url = "https://files.example/a-1.0.tar.gz", hashes = {{ sha256 = "{DIGEST}" }} }}
wheels = [
  {{ name = "a-1.0-cp314-cp314-win_amd64.whl", url = "https://files.example/a-1.whl", hashes = {{ sha256 = "{DIGEST}" }} }},
  {{ path = "wheels/a-1.0-py3-none-any.whl", upload-time = 2025-01-25T11:30:10Z, hashes = {{ sha256 = "{DIGEST}" }} }},
]
[[packages]]
name = "w"
marker = "sys_platform == 'win32'"
version = "1.0"
"#
    );
    let lock = Lock::read(&text, Path::new("/project")).expect("read");
    let [only] = lock.resolution.packages.as_slice() else { panic!("{lock:?}") };
    assert_eq!(only.url.as_ref().map(Url::as_str), Some("file:///project/wheels/a-1.0-py3-none-any.whl"));
}

#[test]
fn what_cannot_be_used_is_refused() {
    let head = "lock-version = \"1.0\"\ncreated-by = \"x\"\n";
    let wheel = |name: &str, hashes: &str| {
        format!(
            "{head}[[packages]]\nname = \"a\"\nwheels = [{{ url = \"https://f.example/{name}\", hashes = {{ {hashes} }} }}]\n"
        )
    };
    let good = format!("sha256 = \"{DIGEST}\"");
    for (text, part) in [
        ("".to_owned(), "missing field"),
        ("lock-version = \"2.0\"\ncreated-by = \"x\"".to_owned(), "2.0"),
        (format!("{head}requires-python = \"<3.14\""), "Python <3.14"),
        (format!("{head}environments = [\"sys_platform == 'win32'\"]"), "win32"),
        (wheel("a-1-cp314-cp314-win_amd64.whl", &good), "no wheel for the sandbox"),
        (wheel("a-1-py3-none-any.whl", "md5 = \"0\""), "no SHA-256"),
        (wheel("b-1-py3-none-any.whl", &good), "wheel of b"),
        (format!("{head}[[packages]]\nname = \"a\"\nmarker = \"'x' in extras\""), "marker"),
    ] {
        let error = Lock::read(&text, Path::new("/")).expect_err(&text);
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
}

#[test]
fn source_distributions_are_locked_by_their_hash_and_wheels_come_first() {
    let mut package = locked("a", Origin::Index("https://index.example/simple/".to_owned()), &[]);
    package.file_name = "a-1.0.tar.gz".to_owned();
    package.url = Some(Url::parse("https://files.example/a-1.0.tar.gz").expect("a URL"));
    let text = write(&Resolution { packages: vec![package] }, &[]).expect("written");
    assert!(text.contains("[packages.sdist]\nname = \"a-1.0.tar.gz\"\n"), "{text}");
    let read = |text: &str| Lock::read(text, Path::new("/")).map(|lock| lock.resolution.packages[0].clone());
    let package = read(&text).expect("read");
    assert_eq!((package.file_name.as_str(), package.is_source()), ("a-1.0.tar.gz", true));
    assert_eq!((package.version.to_string().as_str(), package.sha256.as_deref()), ("1.0", Some(DIGEST)));

    let lock = |file: &str, wheels: &str| {
        let file = format!(
            r#"{{ name = "{file}", url = "https://files.example/{file}", hashes = {{ sha256 = "{DIGEST}" }} }}"#
        );
        let head = "lock-version = '1.0'\ncreated-by = 'another'\n[[packages]]\nname = 'a'\nversion = '1.0'\n";
        format!("{head}sdist = {file}\nwheels = [{wheels}]\n")
    };
    let wheel = |tags: &str| {
        format!(r#"{{ url = "https://files.example/a-1.0-{tags}.whl", hashes = {{ sha256 = "{DIGEST}" }} }}"#)
    };
    assert!(!read(&lock("a-1.0.tar.gz", &wheel("py3-none-any"))).expect("read").is_source());
    assert!(read(&lock("a-1.0.tar.gz", &wheel("cp314-cp314-win_amd64"))).expect("read").is_source());
    for file in ["b-1.0.tar.gz", "a-1.0.tar.bz2"] {
        let error = read(&lock(file, "")).expect_err(file);
        assert!(error.to_string().contains("no source distribution"), "{error}");
    }
}
