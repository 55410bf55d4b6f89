//! Wheels are mounted at the start and between cells, replaced, and refused when they are hostile.

use brumate_engine::api::{Image, MachineSpec, PACKAGES};
use brumate_engine::client::EngineError;

use super::{demo, names, part, sandbox};
use crate::support::sessions::say;
use crate::support::wheels::{layer_of, module, wheel, zip};

const LOOK: &str = "
import importlib.metadata as md, importlib.resources as res, demo, demo_extra, parts.a
d = md.distribution('demo')
print(demo.__version__, d.version, res.files('demo').joinpath('data/text.txt').read_text(), demo.__file__)
print(md.entry_points(group='console_scripts', name='demo')['demo'].load()(), parts.a.here, d.requires)
print(sorted(str(f) for f in d.files if f.name.endswith('.py')), all(f.locate().exists() for f in d.files))
print(open('/usr/share/demo/file').read())
";

#[tokio::test]
async fn wheels_are_there_from_the_start_and_between_cells() {
    let sandbox = sandbox().await;
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let spec = MachineSpec { layers: vec![demo(here, "1.0"), part(here, "a")], ..MachineSpec::default() };
    let session = sandbox.session(spec).await.unwrap();
    let seen = say(&session, LOOK).await;
    let expected = format!(
        "1.0 1.0 1.0 {PACKAGES}/demo/__init__.py\nran 1.0 parts.a ['part-a>=1']\n\
         ['demo/__init__.py', 'demo/only_1_0.py', 'demo_extra.py'] True\nshared\n"
    );
    assert_eq!(seen, expected);

    // A namespace grows, a module that was not there is, and the script's own directory comes first.
    let missing = "try:\n    import later\nexcept ImportError as error:\n    print(error)\n";
    assert_eq!(say(&session, missing).await, "No module named 'later'\n");
    session.mount(&[part(here, "b"), module(here, "later", "2.0"), module(here, "own", "3")]).await.unwrap();
    let found =
        "import later, parts.b, importlib.metadata as md\nprint(later.__version__, parts.b.here, md.version('later'))";
    assert_eq!(say(&session, found).await, "2.0 parts.b 2.0\n");
    say(&session, "open('own.py', 'w').write('__version__ = \"mine\"')").await;
    assert_eq!(say(&session, "import own; print(own.__version__)").await, "mine\n");
    assert_eq!(names(&session.layers()), ["demo-1.0", "part_a-1.0", "part_b-1.0", "later-2.0", "own-3"]);

    // The guest changes nothing of it, and quietly.
    let writes = format!(
        "import os\ntry:\n    open('{PACKAGES}/later.py', 'w')\nexcept OSError as error:\n    print(error.strerror)\n\
         print(os.statvfs('/').f_files > 0)"
    );
    assert_eq!(say(&session, &writes).await, "Read-only file system\nTrue\n");

    // Another version replaces the one there is; what is imported stays as it is.
    session.mount(&[demo(here, "1.0")]).await.unwrap();
    session.mount(&[demo(here, "2.0")]).await.unwrap();
    let after = "
import os, sys, importlib.metadata as md
print(demo.__version__, md.version('demo'), sorted(os.listdir(os.path.dirname(demo.__file__))))
print([d.version for d in md.distributions() if d.name == 'demo'], os.path.exists('/usr/share/demo/file'))
del sys.modules['demo']
import demo
print(demo.__version__)
";
    let expected = "1.0 2.0 ['__init__.py', 'data', 'only_2_0.py']\n['2.0'] True\n2.0\n";
    assert_eq!(say(&session, after).await, expected);
    assert_eq!(names(&session.layers()), ["part_a-1.0", "part_b-1.0", "later-2.0", "own-3", "demo-2.0"]);
    session.unmount(&["demo".to_owned()]).await.unwrap();
    let gone = "print(os.listdir('/usr/lib/python3.14/dist-packages'), os.path.exists('/usr/share/demo'))";
    let left = say(&session, gone).await;
    assert!(!left.contains("demo") && left.contains("part_b-1.0.dist-info") && left.ends_with("False\n"), "{left}");
}

#[tokio::test]
async fn an_installed_package_wins_over_the_bundles() {
    let sandbox = sandbox().await;
    sandbox.build_image(&Image::data()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let six = module(directory.path(), "six", "99.0");
    let code = "import six, importlib.metadata as md\nprint(six.__version__, md.version('six'), [d.version for d in md.distributions() if d.name == 'six'][0])";
    // `six` is imported in this image: a machine with another one is not forked from it.
    let spec = MachineSpec { image: Image::data(), layers: vec![six.clone()], ..MachineSpec::default() };
    let session = sandbox.session(spec).await.unwrap();
    assert_eq!(say(&session, code).await, "99.0 99.0 99.0\n");
    assert_eq!(brumate_engine::bundle::replaced_packages(&Image::data(), &[six]), ["six"]);
}

#[tokio::test]
async fn hostile_archives_are_refused_and_the_machine_goes_on() {
    let sandbox = sandbox().await;
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    say(&session, "x = 1").await;
    let good = wheel("good", "1", &[("good.py", b"y = 2\n")], "");
    let mut traversal = zip(&[("NNNNNNN", b"data")]);
    for at in 0..traversal.len() - 7 {
        if traversal[at..].starts_with(b"NNNNNNN") {
            traversal[at..at + 7].copy_from_slice(b"../../x");
        }
    }
    let bad: [(&str, Vec<u8>); 6] = [
        ("empty-1-py3-none-any.whl", Vec::new()),
        ("nonsense-1-py3-none-any.whl", b"not a zip archive at all, just some text".to_vec()),
        ("cut-1-py3-none-any.whl", good[..good.len() / 2].to_vec()),
        ("traversal-1-py3-none-any.whl", traversal),
        ("doubled-1-py3-none-any.whl", [&good[..], &good[..]].concat()),
        ("inside_a_file-1-py3-none-any.whl", zip(&[("present.py/x.py", b"")])),
    ];
    session.mount(&[module(here, "present", "1")]).await.unwrap();
    for (name, bytes) in bad {
        // One that is whole beside it is not mounted either.
        let fine = layer_of(here, "good-1-py3-none-any.whl", &good);
        let error = session.mount(&[fine, layer_of(here, name, &bytes)]).await.unwrap_err();
        assert!(matches!(&error, EngineError::Layer { name: named, .. } if named == name), "{name}: {error:?}");
        assert_eq!(names(&session.layers()), ["present-1"], "{name}");
        let state = "import importlib.util as u\nprint(x, u.find_spec('good'), u.find_spec('present') is not None)";
        assert_eq!(say(&session, state).await, "1 None True\n", "{name}");
    }
    let fresh = MachineSpec { layers: vec![layer_of(here, "b-1-py3-none-any.whl", b"junk")], ..MachineSpec::default() };
    assert!(matches!(sandbox.session(fresh).await, Err(EngineError::Layer { .. })));
    // A file whose data is damaged is found when it is read.
    let mut damaged = good.clone();
    let at = damaged.windows(4).position(|window| window == b"y = ").unwrap_or(40);
    damaged[at] ^= 0xff;
    session.mount(&[layer_of(here, "good-1-py3-none-any.whl", &damaged)]).await.unwrap();
    let broken =
        "try:\n    import good\n    print('whole')\nexcept Exception as error:\n    print(type(error).__name__)";
    let told = say(&session, broken).await;
    assert!(told.starts_with("OSError") || told.starts_with("SyntaxError"), "{told}");
}

#[tokio::test]
#[ignore = "measures"]
async fn mounting_twenty_wheels() {
    let sandbox = crate::support::sessions::sandbox(2).await;
    let directory = tempfile::tempdir().unwrap();
    let wheels = brumate_engine::bundle::wheels().iter().filter(|wheel| wheel.file.ends_with("-none-any.whl"));
    let layers: Vec<_> =
        wheels.take(20).map(|wheel| layer_of(directory.path(), wheel.file, wheel.content.bytes())).collect();
    let mut times = Vec::new();
    for _ in 0..30 {
        let session = sandbox.session(MachineSpec::default()).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let begin = std::time::Instant::now();
        session.mount(&layers).await.unwrap();
        times.push(begin.elapsed());
        drop(session);
    }
    times.sort();
    println!("{} wheels: {:?} in the middle, {:?} at best", layers.len(), times[15], times[0]);
}
