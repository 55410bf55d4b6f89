//! Measures how long it takes to open a set of verified wheels in the cache: `cargo run --release -p brumate-packages
//! --example cached_set -- WHEEL...`.
//!
//! Opening checks length, time and ends, locks against removal, and reads name, version, metadata and native modules;
//! a second measurement reads the list of files of every wheel as well.
#![allow(clippy::disallowed_methods, reason = "it reads its own files")]
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brumate_packages::cache::{Cache, CacheSettings, Sha256Hash};
use brumate_packages::wheel::WheelFileName;

const ROUNDS: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let directory = tempfile::tempdir()?;
    let cache = Cache::open(directory.path(), CacheSettings::default())?;
    let started = Instant::now();
    let set = paths.iter().map(|path| store(&cache, path)).collect::<Result<Vec<_>, _>>()?;
    println!("{} wheels hashed, verified and stored in {:?}", set.len(), started.elapsed());
    let mut opening = Vec::new();
    let mut listing = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let cache = Cache::open(directory.path(), CacheSettings::default())?;
        let wheels = set.iter().map(|(hash, name)| cache.get(hash, name)).collect::<Result<Vec<_>, _>>()?;
        opening.push(started.elapsed());
        let mut files = 0;
        for wheel in &wheels {
            files += wheel.as_ref().ok_or("a wheel is not there")?.files()?.len();
        }
        listing.push(started.elapsed());
        assert!(files >= wheels.len());
    }
    println!("opened in {:?} (median of {ROUNDS}), with all lists of files in {:?}", median(opening), median(listing));
    Ok(())
}

fn store(cache: &Cache, path: &Path) -> Result<(Sha256Hash, WheelFileName), Box<dyn Error>> {
    let name: WheelFileName = path.file_name().and_then(|name| name.to_str()).ok_or("no file name")?.parse()?;
    let mut fill = cache.writer_without_hash(&name)?;
    fill.write(&std::fs::read(path)?)?;
    Ok((*fill.finish()?.hash(), name))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
