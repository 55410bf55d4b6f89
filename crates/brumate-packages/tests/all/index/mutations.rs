//! Damaged metadata, pages, wheels, locks and scripts: reading them never panics. With `BRUMATE_TEST_LONG` each is
//! damaged in 800 times as many ways; `fuzz/` does more.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use brumate_packages::index::{Metadata, Origin, metadata_of, parse_page};
use brumate_packages::lock::{self, Lock};
use brumate_packages::policy::{PackagePattern, PolicyLayer, RuleOrigin};
use brumate_packages::wheel::{Record, WheelFileName, WheelInfo, parse_entry_points};
use brumate_packages::{MarkerEnvironment, Requirement, ScriptMetadata};
use brumate_test_support::{Random, count, seed};
use url::Url;

use super::wheels::{metadata, page, wheel};

fn rounds() -> u64 {
    count(750, 600_000)
}

/// Changes, drops, doubles or cuts off a few bytes.
fn damage(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.index(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.index(bytes.len());
        match random.index(5) {
            0 => bytes[at] = *random.pick(b"\0\xff<>\"'&;=,[]{}() \n\\\x80"),
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, bytes[at]),
            3 => bytes[at] ^= 1 << random.index(8),
            _ => bytes.truncate(at),
        }
    }
    bytes
}

/// Calls `read` with damaged versions of `sample`; it returns whether it could read them.
fn feed(sample: &[u8], read: impl Fn(&[u8]) -> bool) {
    assert!(read(sample), "the sample itself is right");
    let mut random = Random::new(seed());
    let rounds = rounds();
    let refused = (0..rounds).filter(|_| !read(&damage(&mut random, sample))).count() as u64;
    // Otherwise the damage would not affect what is read.
    assert!(refused > 0 && refused < rounds, "{refused} of {rounds} refused");
}

#[test]
fn metadata_of_any_kind() {
    let sample = metadata("foo", "1.0", &["bar[x]>=1,<2; python_version >= '3.9' and extra == 'a'", "b @ https://b/c"]);
    feed(sample.as_bytes(), |bytes| {
        let Ok(metadata) = Metadata::parse(bytes) else { return false };
        // Both answers are right.
        metadata.requires.iter().for_each(|one| {
            let _ = one.applies_in(&MarkerEnvironment::default());
        });
        true
    });
}

#[test]
fn pages_of_any_kind() {
    let base = Url::parse("https://index.example/simple/foo/").expect("a URL");
    let origin = Arc::new(Origin::Direct);
    let json = page(&[("foo-1.0-py3-none-any.whl", r#", "requires-python": ">=3.8", "yanked": true, "size": 5"#)]);
    feed(json.as_bytes(), |bytes| parse_page(bytes, "application/json", &base, &origin).is_ok());
    let html = "<!DOCTYPE html><base href='/x/'><a href=\"foo-1.0-py3-none-any.whl#sha256=0\" data-yanked>&lt;</a>";
    // HTML is never invalid; only the links that are found change.
    feed(html.as_bytes(), |bytes| parse_page(bytes, "text/html", &base, &origin).is_ok_and(|files| !files.is_empty()));
}

#[test]
fn wheels_of_any_kind() {
    feed(&wheel("foo", "1.0", &["bar"], 20), |bytes| metadata_of(Cursor::new(bytes)).is_ok());
}

#[test]
fn locks_of_any_kind() {
    let lock = format!(
        "lock-version = \"1.0\"\ncreated-by = \"x\"\nenvironments = [\"sys_platform == 'emscripten'\"]\n[[packages]]\n\
         name = \"foo\"\nversion = \"1.0\"\nwheels = [{{ url = \"https://f.example/foo-1.0-py3-none-any.whl\", \
         hashes = {{ sha256 = \"{}\" }} }}]\n",
        "a".repeat(64)
    );
    feed(lock.as_bytes(), |bytes| {
        let Some(lock) = std::str::from_utf8(bytes).ok().and_then(|text| Lock::read(text, Path::new("/")).ok()) else {
            return false;
        };
        let text = lock::write(&lock.resolution, &[]).expect("what was read can be written");
        let again = Lock::read(&text, Path::new("/")).expect("what was written can be read");
        again.resolution.packages.len() == lock.resolution.packages.len()
    });
}

/// Calls `read` with damaged versions of a text that are valid UTF-8.
fn feed_text(sample: &str, read: impl Fn(&str) -> bool) {
    feed(sample.as_bytes(), |bytes| std::str::from_utf8(bytes).is_ok_and(&read));
}

#[test]
fn scripts_of_any_kind() {
    let sample = "# /// script\n# requires-python = \">=3.12,<4\"\n# dependencies = [\"foo[x]>=1; os_name == 'posix'\"]\n#\n\
        # [tool.uv]\n# exclude-newer = \"2026-01-01T00:00:00Z\"\n# ///\nimport foo\n";
    feed_text(sample, |text| match ScriptMetadata::parse(text) {
        Ok(Some(metadata)) => {
            // The result does not matter here.
            let _ = metadata.allows_sandbox_python();
            true
        }
        _ => false,
    });
}

#[test]
fn requirements_of_any_kind() {
    feed_text("foo-bar[a,b]>=1.0.post1,!=1.5.*,<2; python_version >= '3.9' and extra == 'a'", |text| {
        let Ok(requirement) = text.parse::<Requirement>() else { return false };
        requirement.to_string().parse::<Requirement>().expect("what was shown can be read");
        true
    });
}

#[test]
fn files_of_wheels_of_any_kind() {
    let record = "a/b.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n\"c,d\",,\na-1.dist-info/RECORD,,\n";
    feed(record.as_bytes(), |bytes| Record::parse(bytes).is_ok());
    let info =
        "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py2-none-any\nTag: py3-none-any\nBuild: 1\n";
    feed(info.as_bytes(), |bytes| WheelInfo::parse(bytes).is_ok());
    let points = "[console_scripts]\na = b.c:d [x]\n# c\n[other.group]\nname = module\n";
    feed(points.as_bytes(), |bytes| parse_entry_points(bytes).is_ok());
    feed_text("foo_bar-1.0.post1-2a-cp312.cp313-abi3-manylinux_2_17_x86_64.any.whl", |text| {
        let Ok(name) = text.parse::<WheelFileName>() else { return false };
        assert!(name.tags().count() >= 1 && name.to_string() == text);
        true
    });
}

#[test]
fn rules_of_any_kind() {
    feed_text("acme-*>=1,<2", |text| {
        let Ok(pattern) = text.parse::<PackagePattern>() else { return false };
        assert_eq!(pattern.to_string().parse(), Ok(pattern));
        true
    });
    let policy =
        "allow = ['a', 'b-*<2']\ndeny = ['c']\nrequire-hashes = true\nmax-wheel-size = '10 MiB'\nmax-packages = 5\n";
    feed_text(policy, |text| PolicyLayer::from_toml(text, RuleOrigin::CommandLine).is_ok());
}
