//! Popular wheels: all of them must be accepted.
//!
//! Needs `pip` and an index, so it runs in the long tier: `cargo xtask test --long --only ignored`.
//! `BRUMATE_TEST_POPULAR_WHEELS` names a directory with wheels to use instead of downloading.

#![allow(clippy::print_stdout)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use brumate_packages::wheel::{WheelFileName, verify};

/// Pure wheels among the most downloaded ones of PyPI.
const PACKAGES: &str = "requests urllib3 certifi charset-normalizer idna setuptools six python-dateutil packaging \
    typing-extensions botocore boto3 s3transfer jmespath click pip wheel attrs pytz jinja2 importlib-metadata zipp \
    platformdirs filelock virtualenv pluggy pytest iniconfig tomli colorama rsa pyasn1 pyasn1-modules cachetools \
    google-auth google-api-core googleapis-common-protos oauthlib requests-oauthlib rich pygments markdown-it-py mdurl \
    tqdm jsonschema jsonschema-specifications referencing beautifulsoup4 soupsieve werkzeug flask itsdangerous blinker \
    httpx httpcore h11 anyio sniffio tenacity pathspec docutils tabulate networkx decorator ipython fsspec openpyxl \
    et-xmlfile pyparsing cycler joblib";

fn download(directory: &Path) {
    let status = Command::new("pip")
        .args(["download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", "3.14"])
        .args(["--platform", "any", "--implementation", "py", "--abi", "none", "--dest"])
        .arg(directory)
        .args(PACKAGES.split_whitespace())
        .status()
        .expect("pip is installed");
    assert!(status.success(), "pip download: {status}");
}

#[test]
#[ignore = "long tier: downloads about 60 MB from the configured index"]
fn popular_wheels_are_accepted() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = match std::env::var_os("BRUMATE_TEST_POPULAR_WHEELS") {
        Some(given) => PathBuf::from(given),
        None => {
            download(temporary.path());
            temporary.path().to_owned()
        }
    };
    let mut refused = Vec::new();
    let (mut count, mut files, mut bytes) = (0, 0, 0);
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name: WheelFileName = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
        match verify(&File::open(&path).unwrap(), &name) {
            Ok(contents) => {
                count += 1;
                files += contents.summary.file_count;
                bytes += contents.summary.unpacked_bytes;
                println!("{name}: {:?}", contents.summary.import_names);
            }
            Err(error) => refused.push(error.to_string()),
        }
    }
    println!("{count} wheels, {files} files, {bytes} bytes");
    assert!(refused.is_empty() && count >= 50, "{count} accepted, refused:\n{}", refused.join("\n"));
}
