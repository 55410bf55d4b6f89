//! Damaged metadata, pages, wheels and locks: reading them never panics. A fixed seed; `fuzz/` goes further.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use brumate_packages::index::{Metadata, Origin, metadata_of, parse_page};
use brumate_packages::lock::Lock;
use url::Url;

use crate::universe::Random;
use crate::wheels::{metadata, page, wheel};

const ROUNDS: usize = 3000;

/// A few bytes changed, dropped, doubled or cut off.
fn damage(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes[at] = *random.pick(b"\0\xff<>\"'&;=,[]{}() \n\\\x80"),
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, bytes[at]),
            3 => bytes[at] ^= 1 << random.below(8),
            _ => bytes.truncate(at),
        }
    }
    bytes
}

/// Gives `read` damaged versions of `sample`; it says whether it could read them.
fn feed(sample: &[u8], read: impl Fn(&[u8]) -> bool) {
    assert!(read(sample), "the sample itself is right");
    let mut random = Random::new(7);
    let refused = (0..ROUNDS).filter(|_| !read(&damage(&mut random, sample))).count();
    // Otherwise the damage would not reach what is read.
    assert!(refused > 0 && refused < ROUNDS, "{refused} of {ROUNDS} refused");
}

#[test]
fn metadata_of_any_kind() {
    let sample = metadata("foo", "1.0", &["bar[x]>=1,<2; python_version >= '3.9' and extra == 'a'", "b @ https://b/c"]);
    feed(sample.as_bytes(), |bytes| Metadata::parse(bytes).is_ok());
}

#[test]
fn pages_of_any_kind() {
    let base = Url::parse("https://index.example/simple/foo/").expect("a URL");
    let origin = Arc::new(Origin::Direct);
    let json = page(&[("foo-1.0-py3-none-any.whl", r#", "requires-python": ">=3.8", "yanked": true, "size": 5"#)]);
    feed(json.as_bytes(), |bytes| parse_page(bytes, "application/json", &base, &origin).is_ok());
    let html = "<!DOCTYPE html><base href='/x/'><a href=\"foo-1.0-py3-none-any.whl#sha256=0\" data-yanked>&lt;</a>";
    // HTML is never wrong; whether links are found is what changes.
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
        std::str::from_utf8(bytes).is_ok_and(|text| Lock::read(text, Path::new("/")).is_ok())
    });
}
