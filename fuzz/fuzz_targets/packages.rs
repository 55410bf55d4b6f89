//! Any bytes as what package indexes and lock files say: reading never panics, and what was read can be used.
//!
//! The first byte chooses the reader.
#![no_main]

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use brumate_packages::index::{Metadata, Origin, metadata_of, parse_page};
use brumate_packages::lock::{self, Lock};
use brumate_packages::{MarkerEnvironment, Requirement};
use libfuzzer_sys::fuzz_target;
use url::Url;

fuzz_target!(|bytes: &[u8]| {
    let Some((reader, bytes)) = bytes.split_first() else { return };
    match reader % 6 {
        0 => {
            let Ok(metadata) = Metadata::parse(bytes) else { return };
            for requirement in &metadata.requires {
                requirement.applies_in(&MarkerEnvironment::default());
            }
        }
        kind @ (1 | 2) => {
            let base = Url::parse("https://index.example/simple/foo/").expect("a URL");
            let content_type = if kind == 1 { "application/json" } else { "text/html" };
            let Ok(files) = parse_page(bytes, content_type, &base, &Arc::new(Origin::Direct)) else { return };
            assert!(files.iter().all(|file| file.sha256.as_ref().is_none_or(|sha256| sha256.len() == 64)));
        }
        3 => {
            let _ = metadata_of(Cursor::new(bytes));
        }
        4 => {
            let Ok(text) = std::str::from_utf8(bytes) else { return };
            let Ok(lock) = Lock::read(text, Path::new("/")) else { return };
            let text = lock::write(&lock.resolution, &[]).expect("what was read can be written");
            let again = Lock::read(&text, Path::new("/")).expect("what was written can be read");
            assert_eq!(again.resolution.packages.len(), lock.resolution.packages.len());
        }
        _ => {
            let Ok(text) = std::str::from_utf8(bytes) else { return };
            if let Ok(requirement) = text.parse::<Requirement>() {
                requirement.to_string().parse::<Requirement>().expect("what was shown can be read");
            }
        }
    }
});
