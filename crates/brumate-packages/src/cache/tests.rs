use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::blob::record_path;
use super::*;
use crate::wheel::tests::builder::{Entry, FILE_NAME, Wheel};
use crate::wheel::{WheelFileName, WheelProblem};

fn name() -> WheelFileName {
    FILE_NAME.parse().unwrap()
}

/// Makes a sound wheel that differs by `seed`, of about `size` bytes.
fn wheel(seed: u8, size: usize) -> (Vec<u8>, Sha256Hash) {
    let bytes = Wheel::new(vec![Entry::stored("demo/data.bin", &vec![seed; size])]).build();
    let hash = Sha256Hash(Sha256::digest(&bytes).into());
    (bytes, hash)
}

fn cache(directory: &Path) -> Cache {
    Cache::open(directory, CacheSettings::default()).unwrap()
}

fn private() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn put(cache: &Cache, bytes: &[u8], hash: &Sha256Hash) -> CachedWheel {
    let fetched: Result<_, FetchError<CacheError>> = cache.fetch(hash, &name(), |fill| fill.write(bytes));
    fetched.unwrap()
}

fn files_below(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Overwrites one byte in place.
fn damage(path: &Path, offset: u64) {
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut byte, offset).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[byte[0] ^ 1], offset).unwrap();
}

#[test]
fn a_wheel_is_fetched_once_and_then_there() {
    let directory = private();
    let (bytes, hash) = wheel(1, 10_000);
    let cache = cache(directory.path());
    assert!(cache.get(&hash, &name()).unwrap().is_none());
    let put = put(&cache, &bytes, &hash);
    assert_eq!(put.summary().import_names, Vec::<String>::new());
    let again = cache.fetch(&hash, &name(), |_| Err("not fetched again")).unwrap();
    assert_eq!(again.read().unwrap(), bytes);
    assert_eq!(again.summary(), put.summary());
    assert_eq!(again.files().unwrap().len(), 4);
    assert_eq!(again.hash(), &hash);
    again.check().unwrap();
    let verified = crate::wheel::verify(&bytes[..], &name()).unwrap();
    assert_eq!((again.summary(), again.files().unwrap()), (&verified.summary, verified.files));
    for file in files_below(directory.path()) {
        assert_eq!(file.metadata().unwrap().mode() & 0o077, 0, "{}", file.display());
    }
    assert_eq!(files_below(directory.path()).len(), 2, "the wheel and its record");
}

#[test]
fn what_is_wrong_is_not_kept() {
    let directory = private();
    let (bytes, hash) = wheel(1, 1000);
    let cache = cache(directory.path());
    let refused = |result: Result<CachedWheel, FetchError<CacheError>>| match result {
        Err(FetchError::Cache(CacheError::Wheel(error)) | FetchError::Download(CacheError::Wheel(error))) => {
            error.problem
        }
        other => panic!("{other:?}"),
    };
    let cut = cache.fetch(&hash, &name(), |fill| fill.write(&bytes[..500]));
    assert!(matches!(refused(cut), WheelProblem::WrongHash { .. }));
    let nonsense = b"<html>not found</html>";
    let page = cache.fetch(&Sha256Hash(Sha256::digest(nonsense).into()), &name(), |fill| fill.write(nonsense));
    assert!(matches!(refused(page), WheelProblem::NotAnArchive(_)));
    let failed: Result<_, FetchError<&str>> = cache.fetch(&hash, &name(), |fill| {
        fill.write(&bytes[..500]).unwrap();
        Err("the connection broke")
    });
    assert_eq!(failed.unwrap_err().to_string(), "the connection broke");
    let settings = CacheSettings { max_wheel_bytes: 999, ..CacheSettings::default() };
    let small = Cache::open(directory.path(), settings).unwrap();
    assert!(matches!(refused(small.fetch(&hash, &name(), |fill| fill.write(&bytes))), WheelProblem::TooMuch { .. }));
    assert_eq!(files_below(directory.path()), Vec::<PathBuf>::new());
}

#[test]
fn an_unknown_hash_is_found_on_the_way() {
    let directory = private();
    let (bytes, hash) = wheel(1, 1000);
    let cache = cache(directory.path());
    for _ in 0..2 {
        let mut fill = cache.writer_without_hash(&name()).unwrap();
        bytes.chunks(7).for_each(|chunk| fill.write(chunk).unwrap());
        assert_eq!(fill.bytes(), bytes.len() as u64);
        assert_eq!(fill.finish().unwrap().hash(), &hash);
    }
    assert!(cache.get(&hash, &name()).unwrap().is_some());
}

#[test]
fn damage_is_noticed_and_fetched_again() {
    let directory = private();
    let (bytes, hash) = wheel(1, 100_000);
    let cache = cache(directory.path());
    let path = put(&cache, &bytes, &hash).path().clone();
    let original = record_path(&path);
    let changes: [(&str, &dyn Fn()); 6] = [
        ("a byte at the end", &|| damage(&path, bytes.len() as u64 - 1)),
        ("a byte at the start", &|| damage(&path, 10)),
        ("a byte in the middle, by an ordinary write", &|| damage(&path, 50_000)),
        ("cut off", &|| {
            std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            File::options().write(true).open(&path).unwrap().set_len(10).unwrap();
        }),
        ("empty", &|| {
            std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            std::fs::write(&path, b"").unwrap();
        }),
        ("gone", &|| std::fs::remove_file(&path).unwrap()),
    ];
    for (what, change) in changes {
        change();
        assert!(cache.get(&hash, &name()).unwrap().is_none(), "{what}");
        let mut fetched = false;
        let again: Result<_, FetchError<CacheError>> = cache.fetch(&hash, &name(), |fill| {
            fetched = true;
            fill.write(&bytes)
        });
        again.unwrap().check().unwrap();
        assert!(fetched, "{what}");
    }
    // A damaged or missing record costs reading the wheel, not fetching it.
    let length = std::fs::metadata(&original).unwrap().len();
    for at in [0, 9, 30, length / 2] {
        damage(&original, at);
        let again = cache.fetch(&hash, &name(), |_| Err("fetched"));
        let files = again.unwrap().files();
        assert!(files.is_ok() || at > 30, "{at}");
    }
    for change in [&|| std::fs::remove_file(&original).unwrap(), &|| std::fs::write(&original, b"").unwrap() as ()]
        as [&dyn Fn(); 2]
    {
        change();
        assert!(cache.get(&hash, &name()).unwrap().is_none());
        assert!(cache.fetch(&hash, &name(), |_| Err("fetched")).is_ok());
        assert!(cache.get(&hash, &name()).unwrap().is_some());
    }
}

#[test]
fn a_full_check_finds_what_the_quick_one_cannot() {
    let directory = private();
    let (bytes, hash) = wheel(1, 100_000);
    let cache = cache(directory.path());
    let wheel = put(&cache, &bytes, &hash);
    let time = wheel.file().metadata().unwrap().modified().unwrap();
    damage(wheel.path(), 50_000);
    File::options().write(true).open(wheel.path()).unwrap().set_modified(time).unwrap();
    let quick = cache.get(&hash, &name()).unwrap().expect("length, time and ends are as before");
    assert!(matches!(quick.check(), Err(CacheError::Wheel(error)) if error.to_string().contains(&hash.to_string())));
    assert!(cache.get(&hash, &name()).unwrap().is_none());
    assert!(matches!(cache.claim(&hash, &name()).unwrap(), Claim::Missing(_)));
}

#[test]
fn a_damaged_list_of_files_is_forgotten_by_a_check() {
    let directory = private();
    let (bytes, hash) = wheel(1, 100);
    let cache = cache(directory.path());
    let path = put(&cache, &bytes, &hash).path().clone();
    let record = record_path(&path);
    damage(&record, std::fs::metadata(&record).unwrap().len() - 1);
    let wheel = cache.get(&hash, &name()).unwrap().unwrap();
    assert!(wheel.files().is_err());
    wheel.check().unwrap();
    let recovered = cache.fetch(&hash, &name(), |_| Err("fetched")).unwrap();
    assert!(recovered.files().is_ok());
}

#[test]
fn another_name_is_verified_anew() {
    let directory = private();
    let (bytes, hash) = wheel(1, 100);
    let cache = cache(directory.path());
    put(&cache, &bytes, &hash);
    let other: WheelFileName = "other-1.2-py3-none-any.whl".parse().unwrap();
    assert!(cache.get(&hash, &other).unwrap().is_none());
    let refused = cache.claim(&hash, &other).unwrap_err();
    assert!(refused.to_string().contains("other-1.2-py3-none-any.whl"), "{refused}");
    let build: WheelFileName = "demo_pkg-1.2-1-py3-none-any.whl".parse().unwrap();
    assert!(matches!(cache.claim(&hash, &build).unwrap(), Claim::Ready(_)));
}

#[test]
fn a_cache_that_others_may_change_is_not_used() {
    let directory = private();
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    let error = Cache::open(directory.path(), CacheSettings::default()).unwrap_err();
    assert!(matches!(error, CacheError::NotPrivate(_)) && error.to_string().contains("chmod 700"), "{error}");
    // A link in the place of an entry is not followed.
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
    let (bytes, hash) = wheel(1, 100);
    let cache = cache(directory.path());
    let path = put(&cache, &bytes, &hash).path().clone();
    let elsewhere = directory.path().join("elsewhere");
    std::fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert!(cache.get(&hash, &name()).is_err());
}

#[test]
fn a_claim_is_exclusive_and_ends_with_its_holder() {
    let directory = private();
    let (bytes, hash) = wheel(1, 100);
    let cache = cache(directory.path());
    let Claim::Missing(mut fill) = cache.claim(&hash, &name()).unwrap() else { panic!("it is not there") };
    assert!(cache.try_claim(&hash, &name()).unwrap().is_none());
    fill.write(&bytes[..50]).unwrap();
    drop(fill);
    assert_eq!(files_below(directory.path()), Vec::<PathBuf>::new());
    let Some(Claim::Missing(mut fill)) = cache.try_claim(&hash, &name()).unwrap() else { panic!("it is free again") };
    fill.write(&bytes).unwrap();
    let waiting = {
        let (cache, hash) = (cache.clone(), hash);
        std::thread::spawn(move || matches!(cache.claim(&hash, &name()).unwrap(), Claim::Ready(_)))
    };
    fill.finish().unwrap();
    assert!(waiting.join().unwrap(), "who waited finds it there");
}

#[test]
fn leftovers_of_killed_processes_are_swept() {
    let directory = private();
    let (bytes, hash) = wheel(1, 100);
    let cache = cache(directory.path());
    std::fs::write(cache.temporary().join("new-abandoned"), b"half a wheel").unwrap();
    std::fs::write(cache.lock_path(&hash, None), b"").unwrap();
    let in_use = super::blob::new_temporary(&cache.temporary()).unwrap();
    drop(put(&cache, &bytes, &hash));
    let left: Vec<PathBuf> = files_below(&cache.temporary());
    assert_eq!(left, [in_use.path()]);
    assert_eq!(files_below(&cache.root.join("locks")), Vec::<PathBuf>::new());
}

#[test]
fn the_least_recently_used_goes_unless_it_is_in_use() {
    let directory = private();
    let size = wheel(0, 10_000).0.len() as u64;
    let settings = CacheSettings { max_bytes: 3 * size + 100, ..CacheSettings::default() };
    let cache = Cache::open(directory.path(), settings).unwrap();
    let used_ago = |path: &Path, hours: u64| {
        let time = SystemTime::now() - Duration::from_secs(hours * 3600);
        File::open(record_path(path)).unwrap().set_modified(time).unwrap();
    };
    let wheels: Vec<_> = (0..4).map(|seed| wheel(seed, 10_000)).collect();
    let held: Vec<CachedWheel> = wheels[..3].iter().map(|(bytes, hash)| put(&cache, bytes, hash)).collect();
    for (wheel, hours) in held.iter().zip([30, 20, 10]) {
        used_ago(wheel.path(), hours);
    }
    let is_there = |index: usize| cache.get(&wheels[index].1, &name()).unwrap().is_some();
    // The oldest is opened, which counts as a use; the next is held by a duplicate of its descriptor alone.
    assert!(is_there(0));
    let duplicate = held[1].file().try_clone().unwrap();
    drop(held);
    drop(put(&cache, &wheels[3].0, &wheels[3].1));
    assert_eq!([0, 1, 2, 3].map(is_there), [true, true, false, true]);
    assert!(cache.usage().0 <= settings.max_bytes);
    drop(duplicate);
    let tight = Cache::open(directory.path(), CacheSettings { max_bytes: 0, ..settings }).unwrap();
    let kept = cache.get(&wheels[0].1, &name()).unwrap().unwrap();
    tight.trim();
    assert_eq!([0, 1, 2, 3].map(is_there), [true, false, false, false]);
    drop(kept);
    tight.trim();
    assert_eq!(files_below(directory.path()), Vec::<PathBuf>::new());
    // What is removed while it is open can still be read.
    let open = put(&cache, &wheels[0].0, &wheels[0].1);
    std::fs::remove_file(open.path()).unwrap();
    assert_eq!(open.read().unwrap(), wheels[0].0);
}

const BYTECODE: DerivedKind = DerivedKind::new("bytecode", 1);

#[test]
fn derived_files_are_made_once() {
    let directory = private();
    let hash = Sha256Hash([7; 32]);
    let cache = cache(directory.path());
    assert!(cache.get_derived(&hash, &BYTECODE).unwrap().is_none());
    let failed = cache.derive(&hash, &BYTECODE, |_| Err("no compiler"));
    assert_eq!(failed.unwrap_err().to_string(), "no compiler");
    let content = |derived: &DerivedFile| {
        let mut bytes = vec![0; derived.size() as usize];
        std::os::unix::fs::FileExt::read_exact_at(derived.file(), &mut bytes, 0).unwrap();
        bytes
    };
    let made = cache.derive(&hash, &BYTECODE, |output| output.write_all(b"code")).unwrap();
    assert_eq!(content(&made), b"code");
    let again = cache.derive(&hash, &BYTECODE, |_| Err("made twice")).unwrap();
    assert_eq!(content(&again), b"code");
    // Another version, and another wheel, are others.
    assert!(cache.get_derived(&hash, &DerivedKind::new("bytecode", 2)).unwrap().is_none());
    assert!(cache.get_derived(&Sha256Hash([8; 32]), &BYTECODE).unwrap().is_none());
    let path = cache.derived_path(&hash, &BYTECODE);
    damage(&path, 1);
    assert!(cache.get_derived(&hash, &BYTECODE).unwrap().is_none());
    let remade = cache.derive(&hash, &BYTECODE, |output| output.write_all(b"new code")).unwrap();
    assert_eq!(content(&remade), b"new code");
}

#[test]
fn derived_files_are_bounded() {
    let directory = private();
    let settings = CacheSettings { max_derived_bytes: 10, ..CacheSettings::default() };
    let cache = Cache::open(directory.path(), settings).unwrap();
    let large = cache.derive(&Sha256Hash([1; 32]), &BYTECODE, |output| output.write_all(&[0; 11]));
    assert!(matches!(large, Err(DeriveError::Cache(CacheError::DerivedTooLarge { limit: 10 }))));
    for byte in 1..5 {
        cache.derive(&Sha256Hash([byte; 32]), &BYTECODE, |output| output.write_all(&[0; 4])).unwrap();
    }
    cache.trim();
    assert!(cache.usage().1 <= 10);
}

#[test]
fn hashes_are_64_digits() {
    let hash = Sha256Hash(Sha256::digest(b"").into());
    let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(hash.to_string(), text);
    assert_eq!(text.to_uppercase().parse(), Ok(hash));
    for bad in ["", "e3", &text[1..], &text.replace('e', "g"), &format!("{text}0"), &"é".repeat(32)] {
        assert_eq!(bad.parse::<Sha256Hash>(), Err(InvalidHash));
    }
}
