//! Files of the cache that change while they are used: what was checked is what runs.
//!
//! Only their owner can do that, so it is no attack; a broken disk, a backup that is being restored or a second program of the
//! same user can. Names are given to other files between the check and the use, which a check by name would not notice.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use brumate_test_support::{Random, cache_directory, count, seed};

use crate::support::caches::{copy, files};

/// Largest compiled module that is exchanged, in bytes: it is compiled again, which takes a moment.
const SMALL: u64 = 300 << 10;

/// Gives the name of a module to something else, at once: another module, a link to one, a part of it, nothing at all.
fn exchange(victim: &Path, genuine: &Path, other: &Path, random: &mut Random) -> std::io::Result<()> {
    let new = victim.with_extension("new");
    let _ = std::fs::remove_file(&new);
    match random.below(5) {
        0 => std::fs::hard_link(other, &new)?,
        1 => std::os::unix::fs::symlink(genuine, &new)?,
        2 => {
            let content = std::fs::read(genuine)?;
            std::fs::write(&new, &content[..random.index(content.len())])?;
        }
        3 => {
            let mut content = std::fs::read(genuine)?;
            let at = random.index(content.len());
            content[at] ^= 1 << random.below(8);
            std::fs::write(&new, content)?;
        }
        _ => std::fs::hard_link(genuine, &new)?,
    }
    match std::fs::rename(&new, victim) {
        // A cache that is full removes files without a record first.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        renamed => renamed,
    }
}

fn computes(cache: &Path, script: &Path) {
    const CODE: &str = "import numpy as np, pandas as pd\nfrom PIL import Image\n\
        print(np.linalg.inv(np.eye(3) * 4)[0, 0], pd.Series([1, 2]).mean(), Image.new('L', (2, 2)).size)";
    std::fs::write(script, CODE).expect("a script");
    let mut command = Command::new(env!("CARGO_BIN_EXE_brumate"));
    let output = command.args(["exec", "--cache-dir"]).args([cache, script]).output().expect("it runs");
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), text.trim()), (Some(0), "0.25 1.5 (2, 2)"), "{errors}");
}

#[test]
fn a_file_that_is_exchanged_between_check_and_use_is_not_used() {
    let directory = tempfile::tempdir().expect("a directory");
    let [cache, genuine, script] = ["cache", "genuine", "script.py"].map(|name| directory.path().join(name));
    // Makes what may be missing of it.
    computes(&cache_directory(), &script);
    copy(&cache_directory(), &cache);
    // Of the same files: other tests may add some to the cache that all share.
    copy(&cache, &genuine);
    let modules = files(&genuine, "cwasm", |size| size <= SMALL);
    let images = files(&genuine, "image", |_| true);
    assert!(modules.len() > 50 && !images.is_empty(), "{} modules, {} images", modules.len(), images.len());

    let (ended, exchanged) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(seed());
            while !ended.load(Ordering::Relaxed) {
                let real = random.pick(&modules).clone();
                let other = random.pick(&modules).clone();
                let victim = cache.join(real.strip_prefix(&genuine).expect("below it"));
                exchange(&victim, &real, &other, &mut random).expect("exchanged");
                exchanged.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(std::time::Duration::from_micros(300));
            }
        });
        let computed = std::panic::catch_unwind(|| (0..count(3, 40)).for_each(|_| computes(&cache, &script)));
        ended.store(true, Ordering::Relaxed);
        if let Err(panic) = computed {
            std::panic::resume_unwind(panic);
        }
    });
    let exchanged = exchanged.into_inner();
    eprintln!("{exchanged} files were exchanged");
    assert!(exchanged > 100, "{exchanged}");
    // What is left of it is mended by whoever opens it next.
    computes(&cache, &script);
}

#[test]
fn an_image_that_is_damaged_is_built_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let [cache, script] = ["cache", "script.py"].map(|name| directory.path().join(name));
    computes(&cache_directory(), &script);
    copy(&cache_directory(), &cache);
    // Of those that are there the runs use two: for a start, and with what is imported.
    let images = files(&cache, "image", |_| true);
    for image in &images {
        let mut content = std::fs::read(image).expect("an image");
        let middle = content.len() / 2;
        content[middle] ^= 1;
        // Not in place: the file is a link to the one that others use.
        std::fs::remove_file(image).expect("ours");
        std::fs::write(image, content).expect("written");
    }
    let damaged: Vec<_> =
        images.iter().map(|image| std::fs::metadata(image).expect("it is there").modified().unwrap()).collect();
    computes(&cache, &script);
    let rebuilt = images.iter().zip(damaged).filter(|(image, before)| {
        std::fs::metadata(image).is_ok_and(|metadata| metadata.modified().unwrap() != *before)
    });
    assert!(rebuilt.count() >= 1, "none of {images:?} was built again");
}
