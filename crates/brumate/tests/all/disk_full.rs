//! A cache directory on a disk that is full: an error that names it, and never a signal.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use brumate_engine::api::Image;
use brumate_engine::client::{Sandbox, SandboxConfig};
use brumate_test_support::cache_directory;

/// Runs `brumate exec` with its images on a new file system in memory of `size` bytes. Its machine code is that of all tests.
fn exec_on(directory: &Path, size: u64) -> Output {
    let script = format!(
        "mount -t tmpfs -o mode=700,size={size} none '{cache}' && mkdir -m 700 '{cache}/modules' && \
         mount --bind '{modules}' '{cache}/modules' && echo 'print(6 * 7)' | exec '{brumate}' --cache-dir '{cache}' exec -",
        cache = directory.display(),
        modules = cache_directory().join("modules").display(),
        brumate = env!("CARGO_BIN_EXE_brumate"),
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]).env_remove("BRUMATE_CACHE_DIR");
    command.output().expect("unshare")
}

/// Whether this host lets a user mount a file system in a namespace of its own.
fn may_mount() -> bool {
    let script = "mount -t tmpfs none /mnt";
    let command = Command::new("unshare").args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).output();
    command.is_ok_and(|output| output.status.success())
}

#[tokio::test]
async fn a_full_disk_is_an_error_that_names_the_cache() {
    if !may_mount() {
        assert!(std::env::var_os("CI").is_none(), "this host cannot mount a file system in a namespace; CI must");
        eprintln!("SKIPPED: this host cannot mount a file system in a namespace");
        return;
    }
    // The image, as it is when there is room.
    let roomy = tempfile::tempdir().expect("a directory");
    std::os::unix::fs::symlink(cache_directory().join("modules"), roomy.path().join("modules")).expect("a link");
    let config = SandboxConfig {
        cache_dir: roomy.path().to_owned(),
        program: Some(env!("CARGO_BIN_EXE_brumate").into()),
        ready: 0,
        ..SandboxConfig::default()
    };
    let sandbox = Sandbox::start(config).await.expect("a sandbox");
    assert!(sandbox.has_image(&Image::plain()));
    drop(sandbox);
    let mut images = std::fs::read_dir(roomy.path().join("images")).expect("images").filter_map(Result::ok);
    let image = images.find(|file| file.path().extension().is_some_and(|ending| ending == "image"));
    let image = image.expect("an image").path();
    let metadata = std::fs::metadata(&image).expect("it is there");
    assert!(metadata.blocks() * 512 >= metadata.len(), "it has holes");
    let content = std::fs::read(&image).expect("it is there");
    let filled = content.chunks(4096).filter(|page| page.iter().any(|&byte| byte != 0)).count() as u64 * 4096;
    assert!(filled < metadata.len(), "zeros are where holes could be");

    let directory = tempfile::tempdir().expect("a directory");
    let between = filled.midpoint(metadata.len());
    for size in [64 << 10, filled / 2, filled + (64 << 10), between, metadata.len() - 4096] {
        let output = exec_on(directory.path(), size);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.signal().is_none() && output.status.code() < Some(126),
            "{size}: {}: {text}",
            output.status
        );
        assert!(!output.status.success(), "{size} bytes are enough for {}", metadata.len());
        for part in ["no space is left in the cache directory", "--cache-dir", &directory.path().display().to_string()]
        {
            assert!(text.contains(part), "{size}: {part}: {text}");
        }
    }
    let output = exec_on(directory.path(), metadata.len() + (1 << 20));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "42\n", "{}", String::from_utf8_lossy(&output.stderr));
}
