//! Source distributions become wheels, in `exec`; from a directory of files, without a network.

use std::io::{Cursor, Write};
use std::path::Path;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::brumate;

/// Names a directory with the wheels of build backends; `cargo xtask test` makes it.
const BACKENDS: &str = "BRUMATE_TEST_BACKENDS";

/// A source distribution of these files, as `.zip`.
fn zipped(project: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, content) in files {
        writer.start_file(format!("{project}-1.0/{path}"), SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A source distribution of these files, as `.tar.gz`. Paths are taken as they are.
fn tarred(files: &[(&str, &[u8])]) -> Vec<u8> {
    let compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(compressed);
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, *content).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

/// `pyproject.toml` of a project whose build backend is the module `backend` beside it.
const OWN_BACKEND: &[u8] = b"[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n";

/// A backend that writes a wheel with the module NAME, whose `value` is random.
const GOOD_BACKEND: &str = "import base64, hashlib, os, zipfile\n\
    def build_wheel(directory, settings=None, metadata=None):\n\
    \x20   info = 'NAME-1.0.dist-info'\n\
    \x20   files = {'NAME.py': f'value = {os.urandom(8).hex()!r}\\n',\n\
    \x20            f'{info}/METADATA': 'Metadata-Version: 2.1\\nName: NAME\\nVersion: 1.0\\n',\n\
    \x20            f'{info}/WHEEL': 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'}\n\
    \x20   hashed = lambda text: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')\n\
    \x20   record = ''.join(f'{name},sha256={hashed(text)},{len(text)}\\n' for name, text in files.items())\n\
    \x20   files[f'{info}/RECORD'] = record + f'{info}/RECORD,,\\n'\n\
    \x20   with zipfile.ZipFile(os.path.join(directory, 'NAME-1.0-py3-none-any.whl'), 'w') as wheel:\n\
    \x20       for name, text in files.items():\n\
    \x20           wheel.writestr(name, text)\n\
    \x20   return 'NAME-1.0-py3-none-any.whl'\n";

/// A project with a backend of its own.
fn own(project: &str, backend: &str) -> Vec<u8> {
    zipped(project, &[("pyproject.toml", OWN_BACKEND), ("backend.py", backend.as_bytes())])
}

/// Runs code with the packages `deps`, which come from `directory`.
fn exec(directory: &Path, deps: &str, options: &[&str], code: &str) -> (Option<i32>, String, String) {
    let script = directory.join("script.py");
    std::fs::write(&script, code).unwrap();
    let start = ["exec", "--offline", "--infer", "none", "--find-links", directory.to_str().unwrap()];
    let deps = if deps.is_empty() { vec![] } else { vec!["--deps", deps] };
    brumate(&[&start[..], &deps, options, &[script.to_str().unwrap()]].concat())
}

#[test]
fn a_source_distribution_is_built_once_and_locked() {
    let directory = tempfile::tempdir().unwrap();
    // Another name for each run of the test: the cache is shared, and keeps what it has.
    let archive = own("acmebuilt", &format!("# {:?}\n{}", directory.path(), GOOD_BACKEND.replace("NAME", "acmebuilt")));
    std::fs::write(directory.path().join("acmebuilt-1.0.zip"), &archive).unwrap();
    let code = "import acmebuilt\nprint(acmebuilt.value, acmebuilt.__file__)\n";

    let (status, _, stderr) = exec(directory.path(), "acmebuilt", &["--only-binary", ":all:"], code);
    assert_eq!(status, Some(1), "{stderr}");
    assert!(
        stderr.contains("`acmebuilt` comes as source code only, and `--only-binary` allows wheels only"),
        "{stderr}"
    );

    let (status, first, stderr) = exec(directory.path(), "acmebuilt", &[], code);
    assert_eq!(status, Some(0), "{stderr}");
    assert!(first.ends_with(" /usr/lib/python3.14/dist-packages/acmebuilt.py\n"), "{first}");
    // A second build would have another value.
    assert_eq!(exec(directory.path(), "acmebuilt", &[], code).1, first);

    let lock = directory.path().join("pylock.toml");
    let (links, output) = (directory.path().to_str().unwrap(), lock.to_str().unwrap());
    let (status, _, stderr) = brumate(&["lock", "acmebuilt", "--offline", "--find-links", links, "-o", output]);
    assert_eq!(status, Some(0), "{stderr}");
    let text = std::fs::read_to_string(&lock).unwrap();
    let sha256 = brumate_packages::cache::Sha256Hash::of(&archive).to_string();
    assert!(text.contains("[packages.sdist]") && text.contains(&sha256), "{text}");
    let (status, locked, stderr) = exec(directory.path(), "", &["--locked", output], code);
    assert_eq!((status, locked), (Some(0), first), "{stderr}");
}

#[test]
fn each_backend_builds_in_the_sandbox() {
    let backends = std::env::var_os(BACKENDS).unwrap_or_else(|| panic!("{BACKENDS}: run `cargo xtask test`"));
    let directory = tempfile::tempdir().unwrap();
    let projects = [
        ("ahatch", "hatchling.build", "hatchling"),
        ("aflit", "flit_core.buildapi", "flit_core"),
        ("apoetry", "poetry.core.masonry.api", "poetry-core"),
        ("apdm", "pdm.backend", "pdm-backend"),
        ("asetup", "setuptools.build_meta", "setuptools"),
    ];
    for (name, backend, requires) in projects {
        let project = format!(
            "[build-system]\nrequires = ['{requires}']\nbuild-backend = '{backend}'\n\
             [project]\nname = '{name}'\nversion = '1.0'\ndescription = 'A test'\n"
        );
        let module = format!("'''A test.'''\nname = '{name}'\n");
        let paths = [format!("{name}-1.0/pyproject.toml"), format!("{name}-1.0/{name}/__init__.py")];
        let files = [(paths[0].as_str(), project.as_bytes()), (paths[1].as_str(), module.as_bytes())];
        std::fs::write(directory.path().join(format!("{name}-1.0.tar.gz")), tarred(&files)).unwrap();
    }
    // Without `pyproject.toml`, with a compiled part that may be left out.
    let setup = b"from setuptools import Extension, setup\n\
        setup(name='aold', version='1.0', py_modules=['aold'], ext_modules=[Extension('_aold', ['a.c'], optional=True)])\n";
    let old: &[(&str, &[u8])] = &[("setup.py", setup), ("aold.py", b"name = 'aold'\n"), ("a.c", b"int x;\n")];
    std::fs::write(directory.path().join("aold-1.0.zip"), zipped("aold", old)).unwrap();
    let setup = b"from setuptools import Extension, setup\n\
        setup(name='acompiled', version='1.0', ext_modules=[Extension('acompiled._part', ['a.c'])])\n";
    let compiled: &[(&str, &[u8])] = &[("setup.py", setup), ("a.c", b"int x;\n")];
    std::fs::write(directory.path().join("acompiled-1.0.zip"), zipped("acompiled", compiled)).unwrap();

    let links = ["--find-links", backends.to_str().unwrap()];
    let code = "import ahatch, aflit, apoetry, apdm, asetup, aold\n\
                print(*(module.name for module in (ahatch, aflit, apoetry, apdm, asetup, aold)))\n";
    let (status, stdout, stderr) = exec(directory.path(), "ahatch,aflit,apoetry,apdm,asetup,aold", &links, code);
    assert_eq!((status, stdout.as_str()), (Some(0), "ahatch aflit apoetry apdm asetup aold\n"), "{stderr}");
    let (status, _, stderr) = exec(directory.path(), "acompiled", &links, code);
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("has parts that the sandbox cannot compile (`acompiled._part`)"), "{stderr}");
}

#[test]
fn hostile_builds_end_as_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let keep = |file: &str, bytes: &[u8]| std::fs::write(directory.path().join(file), bytes).unwrap();
    keep("abomb-1.0.zip", &zipped("abomb", &[("setup.py", &vec![0; 40 << 20])]));
    keep("aclimber-1.0.tar.gz", &tarred(&[("aclimber-1.0/setup.py", b""), ("aclimber-1.0/../../x", b"x")]));
    keep("another-1.0.zip", &own("another", &GOOD_BACKEND.replace("NAME", "stranger")));
    let rust = b"[build-system]\nrequires = ['maturin']\nbuild-backend = 'maturin'\n";
    keep("arusty-1.0.zip", &zipped("arusty", &[("pyproject.toml", rust)]));
    keep(
        "aplatform-1.0.zip",
        &own("aplatform", &GOOD_BACKEND.replace("NAME", "aplatform").replace("none-any.whl", "none-linux_x86_64.whl")),
    );
    let forged = "import sys\nsys.modules['_brumate.building'].build = lambda: {'name': '../../../etc/passwd'}\n";
    keep("aforger-1.0.zip", &own("aforger", forged));
    let curious = "import os, socket\n\
        def build_wheel(*arguments):\n\
        \x20   print('one line', [name for name in os.environ if 'BRUMATE' in name or 'CARGO' in name])\n\
        \x20   try:\n\
        \x20       socket.create_connection(('127.0.0.1', 80), 1)\n\
        \x20   except OSError:\n\
        \x20       print('no network')\n\
        \x20   raise RuntimeError('nothing to see')\n";
    keep("acurious-1.0.zip", &own("acurious", curious));
    keep("adamaged-1.0.tar.gz", b"no archive");
    for (name, parts) in [
        ("abomb", &["its build failed: the archive unpacks to more than"][..]),
        ("aclimber", &["the archive cannot be unpacked", "outside"]),
        ("another", &["it made the wheel `stranger-1.0-py3-none-any.whl` of another package or version"]),
        ("arusty", &["has parts that the sandbox cannot compile (its build backend is `maturin`)"]),
        (
            "aplatform",
            &["has parts that the sandbox cannot compile (its wheel is `aplatform-1.0-py3-none-linux_x86_64.whl`)"],
        ),
        ("aforger", &["it made no wheel"]),
        ("acurious", &["RuntimeError: nothing to see", "The last lines of its build:\none line []\nno network"]),
        ("adamaged", &["the archive cannot be unpacked"]),
    ] {
        let (status, stdout, stderr) = exec(directory.path(), name, &[], "print('it ran')\n");
        assert_eq!((status, stdout.as_str()), (Some(1), ""), "{name}: {stderr}");
        for part in parts {
            assert!(stderr.contains(part), "{name}: {part:?} is missing in {stderr}");
        }
        assert!(stderr.contains(&format!("`{name}` 1.0")) || stderr.contains(&format!("`{name} 1.0`")), "{stderr}");
    }
}

/// Projects whose newest release is a source distribution in pure Python, and a module of each.
const PUBLISHED: &[(&str, &str)] = &[
    ("apyori", "apyori"),
    ("barnum", "barnum"),
    ("clint", "clint"),
    ("colormath", "colormath"),
    ("crcmod", "crcmod"),
    ("docopt", "docopt"),
    ("fpdf", "fpdf"),
    ("hexdump", "hexdump"),
    ("ibm-cos-sdk", "ibm_boto3"),
    ("iso-639", "iso639"),
    ("jieba", "jieba"),
    ("jsonpath", "jsonpath"),
    ("jsonpath-rw", "jsonpath_rw"),
    ("langdetect", "langdetect"),
    ("names", "names"),
    ("odfpy", "odf"),
    ("pyaes", "pyaes"),
    ("pybars3", "pybars"),
    ("pyqrcode", "pyqrcode"),
    ("pyshorteners", "pyshorteners"),
    ("python-louvain", "community"),
    ("ratelimit", "ratelimit"),
    ("sgmllib3k", "sgmllib"),
    ("ta", "ta"),
    ("timeout-decorator", "timeout_decorator"),
    ("tinysegmenter", "tinysegmenter"),
    ("unicodecsv", "unicodecsv"),
    ("vincenty", "vincenty"),
    ("visitor", "visitor"),
    ("wget", "wget"),
    ("wikipedia", "wikipedia"),
    ("word2number", "word2number"),
];

#[test]
#[ignore = "needs the network: the long tier"]
fn published_source_distributions_install() {
    let mut failed = Vec::new();
    for (project, module) in PUBLISHED {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script.py");
        let code = format!("import importlib.metadata, {module}\nprint(importlib.metadata.version('{project}'))\n");
        std::fs::write(&script, code).unwrap();
        let (status, _, stderr) = brumate(&["exec", "--deps", project, script.to_str().unwrap()]);
        if status != Some(0) {
            failed.push(format!("{project}: {stderr}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
