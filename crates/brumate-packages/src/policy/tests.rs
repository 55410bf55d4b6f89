use super::*;

const INDEX: &str = "https://example.org/simple/";

fn name(text: &str) -> DistributionName {
    DistributionName::new(text).unwrap()
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn policy(text: &str) -> Policy {
    Policy::new([PolicyLayer::from_toml(text, RuleOrigin::CommandLine).unwrap()])
}

/// Returns the rule that refuses `package` (`name version`), which must be the same for each request reason.
fn reason(policy: &Policy, package: &str, provenance: Provenance<'_>) -> Option<RefusalReason> {
    let (name_text, version_text) = package.split_once(' ').unwrap();
    let (name, version) = (name(name_text), version(version_text));
    let ways = [
        RequestReason::Requested,
        RequestReason::Imported("m"),
        RequestReason::RequiredBy("other"),
        RequestReason::Locked,
    ];
    let answers = ways.map(|way| {
        let candidate = Candidate::new(&name, provenance, way).version(&version);
        let alone = policy.check(&candidate).err().map(|refusal| refusal.reason);
        assert_eq!(policy.check_set(&[candidate]).err().map(|refusal| refusal.reason), alone);
        alone
    });
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
    answers.into_iter().next().flatten()
}

fn is_allowed(policy: &Policy, package: &str) -> bool {
    reason(policy, package, Provenance::Index(INDEX)).is_none()
}

#[test]
fn without_rules_everything_is_allowed() {
    for provenance in [Provenance::Bundle, Provenance::Index(INDEX), Provenance::Url("https://example.org/a.whl")] {
        assert_eq!(reason(&Policy::default(), "a 1", provenance), None);
        assert_eq!(reason(&policy(""), "a 1", provenance), None);
    }
}

#[test]
fn deny_lists() {
    let policy = policy("deny = ['Evil_*', 'urllib3<2', 'b?d', 'exact']");
    for refused in ["evil-thing 1", "evil-x 2", "urllib3 1.26", "bad 1", "exact 1"] {
        assert!(!is_allowed(&policy, refused), "{refused}");
    }
    for allowed in ["devil 1", "urllib3 2.0", "bd 1", "baad 1", "exact-not 1", "evil 1"] {
        assert!(is_allowed(&policy, allowed), "{allowed}");
    }
    assert!(
        matches!(reason(&policy, "evil.thing 1", Provenance::Bundle), Some(RefusalReason::Denied { pattern }) if pattern == "Evil_*")
    );
    assert!(reason(&policy, "exact 1", Provenance::Url("https://example.org/exact.whl")).is_some());
}

#[test]
fn allow_lists() {
    let policy = policy("allow = ['requests>=2,<3', 'my-*']\ndeny = ['my-secret']");
    assert!(is_allowed(&policy, "requests 2.5") && is_allowed(&policy, "my-tool 1"));
    assert!(
        !is_allowed(&policy, "requests 3.0") && !is_allowed(&policy, "numpy 1") && !is_allowed(&policy, "my-secret 1")
    );
    assert_eq!(reason(&policy, "numpy 2", Provenance::Bundle), None, "the bundle is part of the program");
    assert!(!is_allowed(&self::policy("allow = []"), "a 1"));
    // Before the version is known, only what no version could make right is refused.
    let (requests, other) = (name("requests"), name("other"));
    let of = |name| policy.check(&Candidate::new(name, Provenance::Index(INDEX), RequestReason::Requested));
    assert!(of(&requests).is_ok() && of(&other).is_err());
}

#[test]
fn a_deny_rule_for_versions_waits_for_the_version() {
    let policy = policy("deny = ['urllib3<2']");
    let urllib3 = name("urllib3");
    let candidate = Candidate::new(&urllib3, Provenance::Index(INDEX), RequestReason::Requested);
    assert!(policy.check(&candidate).is_ok());
    assert!(policy.check(&candidate.version(&version("1.9"))).is_err());
}

#[test]
fn places() {
    let given = policy("indexes = ['https://Example.org/simple']");
    for same in
        ["https://example.org/simple/", "https://user:secret@example.org:443/simple", "HTTPS://EXAMPLE.ORG/simple"]
    {
        assert_eq!(reason(&given, "a 1", Provenance::Index(same)), None, "{same}");
    }
    for other in [
        "http://example.org/simple/",
        "https://example.org/simple/../other/",
        "https://example.org.evil.net/simple/",
        "https://example.org@evil.net/simple/",
        "https://example.org/simple2/",
        "not a url",
    ] {
        assert!(
            matches!(reason(&given, "a 1", Provenance::Index(other)), Some(RefusalReason::Index { .. })),
            "{other}"
        );
    }
    let url = Provenance::Url("https://user:secret@example.org/simple/a-1-py3-none-any.whl?token=x#sha256=1");
    assert!(matches!(reason(&given, "a 1", url), Some(RefusalReason::Index { .. })));
    let Some(RefusalReason::Url { url: shown }) = reason(&policy("no-urls = true"), "a 1", url) else {
        panic!("a URL")
    };
    assert_eq!(shown, "https://example.org/simple/a-1-py3-none-any.whl");
    assert!(is_allowed(&policy("no-urls = true"), "a 1"));
    assert_eq!(
        reason(&policy("only-bundled = true"), "a 1", Provenance::Index(INDEX)),
        Some(RefusalReason::OnlyBundled)
    );
    assert_eq!(reason(&policy("only-bundled = true"), "a 1", Provenance::Bundle), None);
    assert!(policy("only-bundled = true").is_only_bundled());
}

#[test]
fn hashes_and_sizes() {
    let policy =
        policy("require-hashes = true\nmax-wheel-size = '1 MiB'\nmax-total-size = 2_500_000\nmax-packages = 3");
    let (a, one) = (name("a"), version("1"));
    let wheel = |bytes| Candidate::new(&a, Provenance::Index(INDEX), RequestReason::Locked).version(&one).bytes(bytes);
    let refused = |candidate| policy.check(&candidate).unwrap_err().reason;
    assert_eq!(refused(wheel(1).hash_known(false)), RefusalReason::NoHash);
    assert!(policy.check(&wheel(1 << 20).hash_known(true)).is_ok());
    assert_eq!(
        refused(wheel((1 << 20) + 1)),
        RefusalReason::WheelSize { bytes: (1 << 20) + 1, limit: ByteSize(1 << 20) }
    );
    assert_eq!(policy.max_wheel_bytes(), Some(1 << 20));
    let set = |wheels: &[Candidate<'_>]| policy.check_set(wheels).map_err(|refusal| refusal.reason);
    assert_eq!(set(&[wheel(1 << 20); 2]), Ok(()));
    assert_eq!(set(&[wheel(1 << 20); 3]), Err(RefusalReason::TotalSize { bytes: 3 << 20, limit: ByteSize(2_500_000) }));
    assert_eq!(set(&[wheel(1); 4]), Err(RefusalReason::Packages { count: 4, limit: 3 }));
    let bundled = Candidate::new(&a, Provenance::Bundle, RequestReason::Requested).bytes(1 << 30);
    assert_eq!(set(&[bundled; 3]), Ok(()), "the bundle is there already");
}

#[test]
fn layers_only_narrow() {
    let file = RuleOrigin::File("/etc/brumate/policy.toml".into());
    let mut policy =
        Policy::new([PolicyLayer::from_toml("allow = ['a', 'b']\nmax-wheel-size = 10", file.clone()).unwrap()]);
    policy.add(PolicyLayer::from_toml("allow = ['*']\nmax-wheel-size = 20", RuleOrigin::CommandLine).unwrap());
    assert!(is_allowed(&policy, "a 1") && !is_allowed(&policy, "c 1"));
    assert_eq!(policy.max_wheel_bytes(), Some(10));
    policy.add(PolicyLayer::from_toml("deny = ['a']", RuleOrigin::Environment).unwrap());
    let (a, one) = (name("a"), version("1"));
    let refusal = policy
        .check(&Candidate::new(&a, Provenance::Index(INDEX), RequestReason::Imported("a")).version(&one))
        .unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "`a 1` (for `import a`) is not allowed: `deny` has `a` (environment). Use another version or package, or ask \
         whoever runs this Brumate to change that rule."
    );
    let c = name("c");
    let refusal = policy.check(&Candidate::new(&c, Provenance::Index(INDEX), RequestReason::Requested)).unwrap_err();
    assert_eq!((refusal.origin.clone(), refusal.package.as_deref()), (file, Some("c")));
    assert!(refusal.to_string().contains("(/etc/brumate/policy.toml)"), "{refusal}");
}

#[test]
fn a_policy_that_is_not_understood_is_an_error() {
    for text in [
        "denny = ['a']",
        "deny = 'a'",
        "deny = ['a b c']",
        "deny = ['ä']",
        "deny = ['']",
        "deny = ['a<x']",
        "max-wheel-size = '10 bananas'",
        "max-wheel-size = '99999999999 GiB'",
        "max-wheel-size = -1",
        "max-packages = 'many'",
        "indexes = ['not a url']",
        "indexes = ['mailto:a@example.org']",
        "[packages]\ndeny = []",
        "deny = [",
    ] {
        let error = PolicyLayer::from_toml(text, RuleOrigin::CommandLine).unwrap_err();
        assert!(error.to_string().starts_with("the package policy (command line) cannot be used: "), "{error}");
    }
    let long = format!("# {}", "x".repeat(1 << 20));
    assert!(PolicyLayer::from_toml(&long, RuleOrigin::CommandLine).is_err());
}

#[test]
fn patterns() {
    let matches = |pattern: &str, text: &str| pattern.parse::<PackagePattern>().unwrap().matches_name(&name(text));
    for (pattern, text) in [
        ("*", "a"),
        ("a*", "a"),
        ("a*", "abc"),
        ("*c", "abc"),
        ("a*c*e", "abcde"),
        ("**", "a"),
        ("a?c", "abc"),
        ("A.B", "a-b"),
        ("a__b", "a-b"),
        ("*-*", "a-b"),
        ("*a*a*a*", "banana-a"),
    ] {
        assert!(matches(pattern, text), "{pattern} {text}");
    }
    for (pattern, text) in [("a", "ab"), ("?", "ab"), ("a*c", "abcd"), ("*-", "a"), ("a*b*c", "acb"), ("b*", "ab")] {
        assert!(!matches(pattern, text), "{pattern} {text}");
    }
    // Would take forever if every star were tried again.
    let stars = "*a".repeat(100) + "b";
    assert!(!matches(&stars, &"a".repeat(199)));
    assert_eq!(" numpy >= 2 ".parse::<PackagePattern>().unwrap().to_string(), "numpy >= 2");
}

#[test]
fn sizes() {
    for (text, bytes) in [("0", 0), ("10", 10), ("10B", 10), ("2 KiB", 2048), ("3MB", 3_000_000), ("1GiB", 1 << 30)] {
        assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
    }
    for text in ["", "MiB", "1.5MiB", "-1", "1 TiBi", "99999999999999999999"] {
        assert!(text.parse::<ByteSize>().is_err(), "{text}");
    }
    assert_eq!([1 << 30, 5 << 20, 3000].map(|bytes| ByteSize(bytes).to_string()), ["1 GiB", "5 MiB", "3000 bytes"]);
}
