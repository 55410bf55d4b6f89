//! Wheels as layers of machines: mounted, replaced, refused; asleep, forked, rolled back; asked for from inside.
#![allow(clippy::print_stdout, reason = "one process says to another how far it is; one test measures")]

use std::collections::HashMap;
use std::path::Path;

use brumate_engine::api::{
    Ended, Event, Execute, Image, InstallAnswer, InstallRequest, Layer, Limits, MachineSpec, Outcome, PACKAGES,
};
use brumate_engine::client::{Error, Interrupter, Sandbox, Session, layers_of};

use crate::support::sessions::{cell, say};
use crate::support::wheels::{keep, layer, layer_of, module, wheel, zip};

async fn sandbox() -> Sandbox {
    crate::support::sessions::sandbox(1).await
}

fn names(layers: &[Layer]) -> Vec<&str> {
    layers.iter().map(|layer| layer.name.split("-py3").next().unwrap()).collect()
}

/// A package with everything that people look up.
fn demo(directory: &Path, version: &str) -> Layer {
    let code = format!("__version__ = '{version}'\ndef run(): return 'ran {version}'\n");
    let info = format!("demo-{version}.dist-info/entry_points.txt");
    let own = format!("demo/only_{}.py", version.replace('.', "_"));
    let files: [(&str, &[u8]); 7] = [
        ("demo/__init__.py", code.as_bytes()),
        ("demo/data/text.txt", version.as_bytes()),
        (&own, b""),
        (&format!("demo-{version}.data/purelib/demo_extra.py"), b"x = 1\n"),
        (&format!("demo-{version}.data/data/share/demo/file"), b"shared"),
        (&format!("demo-{version}.data/scripts/demo"), b"#!python\n"),
        (&info, b"[console_scripts]\ndemo = demo:run\n"),
    ];
    layer(directory, "demo", version, &files, "Requires-Dist: part-a>=1\nSummary: shows\n")
}

/// Part of the namespace `parts`.
fn part(directory: &Path, name: &str) -> Layer {
    let file = format!("parts/{name}.py");
    layer(directory, &format!("part_{name}"), "1.0", &[(&file, b"here = __name__\n")], "")
}

const LOOK: &str = "
import importlib.metadata as md, importlib.resources as res, demo, demo_extra, parts.a
d = md.distribution('demo')
print(demo.__version__, d.version, res.files('demo').joinpath('data/text.txt').read_text(), demo.__file__)
print(md.entry_points(group='console_scripts', name='demo')['demo'].load()(), parts.a.here, d.requires)
print(sorted(str(f) for f in d.files if f.name.endswith('.py')), all(f.locate().exists() for f in d.files))
print(open('/share/demo/file').read())
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
print([d.version for d in md.distributions() if d.name == 'demo'], os.path.exists('/share/demo/file'))
del sys.modules['demo']
import demo
print(demo.__version__)
";
    let expected = "1.0 2.0 ['__init__.py', 'data', 'only_2_0.py']\n['2.0'] True\n2.0\n";
    assert_eq!(say(&session, after).await, expected);
    assert_eq!(names(&session.layers()), ["part_a-1.0", "part_b-1.0", "later-2.0", "own-3", "demo-2.0"]);
    session.unmount(&["demo".to_owned()]).await.unwrap();
    let gone = "print(os.listdir('/lib/python3.14/packages'), os.path.exists('/share/demo'))";
    let left = say(&session, gone).await;
    assert!(!left.contains("demo") && left.contains("part_b-1.0.dist-info") && left.ends_with("False\n"), "{left}");
}

#[tokio::test]
async fn an_installed_package_wins_over_the_bundles() {
    let sandbox = sandbox().await;
    sandbox.warm(&Image::data()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let six = module(directory.path(), "six", "99.0");
    let code = "import six, importlib.metadata as md\nprint(six.__version__, md.version('six'), [d.version for d in md.distributions() if d.name == 'six'][0])";
    // `six` is imported in this image: a machine with another one is not forked from it.
    let spec = MachineSpec { image: Image::data(), layers: vec![six.clone()], ..MachineSpec::default() };
    let session = sandbox.session(spec).await.unwrap();
    assert_eq!(say(&session, code).await, "99.0 99.0 99.0\n");
    assert_eq!(brumate_engine::bundle::replaced(&Image::data(), &[six]), ["six"]);
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
        assert!(matches!(&error, Error::Layer { name: named, .. } if named == name), "{name}: {error:?}");
        assert_eq!(names(&session.layers()), ["present-1"], "{name}");
        let state = "import importlib.util as u\nprint(x, u.find_spec('good'), u.find_spec('present') is not None)";
        assert_eq!(say(&session, state).await, "1 None True\n", "{name}");
    }
    let fresh = MachineSpec { layers: vec![layer_of(here, "b-1-py3-none-any.whl", b"junk")], ..MachineSpec::default() };
    assert!(matches!(sandbox.session(fresh).await, Err(Error::Layer { .. })));
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
async fn sleep_forks_and_roll_backs_keep_layers() {
    let sandbox = sandbox().await;
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    let large: Vec<u8> = (0..4 << 20).map(|number: u32| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let packed = layer(here, "large", "1.0", &[("large/blob.bin", &large), ("large/__init__.py", b"n = 5\n")], "");
    session.mount(&[packed.clone(), module(here, "small", "1.0")]).await.unwrap();
    say(&session, "import large, small").await;
    session.mount(&[module(here, "small", "2.0")]).await.unwrap();
    let check = "
import importlib.metadata as md, os
print(large.n, small.__version__, md.version('small'), os.path.getsize(os.path.dirname(large.__file__) + '/blob.bin'))
";
    let expected = "5 1.0 2.0 4194304\n";
    let file = here.join("session");
    let size = session.hibernate(&file).await.unwrap();
    assert!(size < 2 << 20, "{size} bytes: the layers are not part of it");
    let wanted = layers_of(&file).await.unwrap();
    assert_eq!(
        wanted.iter().map(|id| &id.name[..]).collect::<Vec<_>>(),
        ["large-1.0-py3-none-any.whl", "small-2.0-py3-none-any.whl"]
    );
    match sandbox.wake_session(&file, MachineSpec { layers: vec![packed.clone()], ..MachineSpec::default() }).await {
        Err(Error::MissingLayers { layers }) => assert_eq!(layers, wanted[1..]),
        other => panic!("{other:?}"),
    }
    let layers = session.layers();
    let spec = || MachineSpec { layers: layers.clone(), ..MachineSpec::default() };
    let (woken, _) = sandbox.wake_session(&file, spec()).await.unwrap();
    let fork = session.fork().await.unwrap();
    let (_, _) = cell(&session, "import os; os._exit(1)").await;
    for session in [&woken, &fork, &session] {
        assert_eq!(say(session, check).await, expected);
        assert_eq!(session.layers(), layers);
        // A sibling's packages are its own.
        session.mount(&[module(here, "sibling", "1.0")]).await.unwrap();
        assert_eq!(say(session, "import sibling; print(sibling.__version__)").await, "1.0\n");
        session.unmount(&["sibling".to_owned()]).await.unwrap();
    }
    // What was put to sleep again wakes again.
    woken.hibernate(&file).await.unwrap();
    let (again, _) = sandbox.wake_session(&file, spec()).await.unwrap();
    assert_eq!(say(&again, check).await, expected);
    assert_eq!(again.layers(), layers);
}

/// Runs a cell whose wishes for packages `answer` answers; what became of it, and what it printed.
async fn installing(
    session: &Session,
    code: &str,
    mut answer: impl FnMut(&InstallRequest, &Interrupter),
) -> (Result<Outcome, Error>, String) {
    let (sender, mut events) = tokio::sync::mpsc::channel(64);
    let interrupter = session.interrupter();
    let request = Execute { code: code.to_owned(), session: true, allow_install: true, ..Execute::default() };
    let listening = async {
        let mut printed = String::new();
        while let Some(event) = events.recv().await {
            match event {
                Event::Stream { text, .. } => printed.push_str(&text),
                Event::Install(request) => answer(&request, &interrupter),
                _ => {}
            }
        }
        printed
    };
    tokio::join!(session.execute(request, sender), listening)
}

const INSTALL: &str = "from _brumate.packages import install, uninstall, InstallError, Nobody\n";

#[tokio::test]
async fn packages_are_installed_from_inside() {
    let sandbox = sandbox().await;
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    let shelf: HashMap<&str, Layer> =
        [("small", module(here, "small", "1.0")), ("small>1", module(here, "small", "2.0"))].into();
    let mut asked = Vec::new();
    let mut serve = |request: &InstallRequest, interrupter: &Interrupter| {
        asked.push(request.clone());
        let found = request.requirements.iter().map(|text| shelf.get(&text[..]).cloned().ok_or(text));
        let answer = match found.collect::<Result<Vec<_>, _>>() {
            Ok(layers) => {
                let installed = layers.iter().map(|layer| ("small".to_owned(), layer.name[6..9].to_owned())).collect();
                Ok(InstallAnswer { layers, installed, satisfied: vec![("six".to_owned(), "1.17".to_owned())] })
            }
            Err(text) => Err(format!("no {text:?} here")),
        };
        assert!(!interrupter.answer(Some("a line".to_owned())), "that is no line of input");
        assert!(interrupter.install(answer.clone()));
        assert!(!interrupter.install(answer), "it has its answer");
    };
    let code = format!(
        "{INSTALL}print(install(['small'], constraints=['a<1'], upgrade=True))\nimport small\nprint(small.__version__)\n\
         try:\n    install(['unheard \\u00fc'], pre=True, no_deps=True)\nexcept InstallError as error:\n    print(error)"
    );
    let (outcome, text) = installing(&session, &code, &mut serve).await;
    let expected = "([('small', '1.0')], [('six', '1.17')])\n1.0\nno \"unheard ü\" here\n";
    assert_eq!(text, expected, "{outcome:?}");
    let first = InstallRequest {
        requirements: vec!["small".to_owned()],
        constraints: vec!["a<1".to_owned()],
        upgrade: true,
        ..InstallRequest::default()
    };
    let second = InstallRequest {
        requirements: vec!["unheard ü".to_owned()],
        pre: true,
        no_deps: true,
        ..InstallRequest::default()
    };
    assert_eq!(asked, [first, second]);
    assert_eq!(names(&session.layers()), ["small-1.0"]);

    // A cell that ends the machine has installed nothing; one that only raises has.
    let mut serve = |request: &InstallRequest, interrupter: &Interrupter| {
        let layers = vec![shelf[&request.requirements[0][..]].clone()];
        assert!(interrupter.install(Ok(InstallAnswer { layers, ..InstallAnswer::default() })));
    };
    let version = "import importlib.metadata as md; print(md.version('small'))";
    let ends = format!("{INSTALL}install(['small>1']); import os; os._exit(1)");
    assert!(matches!(installing(&session, &ends, &mut serve).await.0, Err(Error::RolledBack { .. })));
    assert_eq!(say(&session, version).await, "1.0\n");
    assert_eq!(names(&session.layers()), ["small-1.0"]);
    let (raised, _) = installing(&session, &format!("{INSTALL}install(['small>1']); 1 / 0"), &mut serve).await;
    assert!(matches!(raised.unwrap().ended, Ended::Raised { .. }));
    assert_eq!(say(&session, version).await, "2.0\n");
    assert_eq!(names(&session.layers()), ["small-2.0"]);

    // Taken away again, by the guest itself; nobody is asked.
    let nobody = |_: &InstallRequest, _: &Interrupter| panic!("nobody is asked");
    let (_, text) = installing(&session, &format!("{INSTALL}print(uninstall(['small', 'other']))"), nobody).await;
    assert_eq!(text, "[('small', '2.0')]\n");
    assert!(session.layers().is_empty());
}

#[tokio::test]
async fn without_anyone_to_ask_there_is_what_there_is() {
    let sandbox = sandbox().await;
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    let code = format!("{INSTALL}try:\n    install(['small'])\nexcept Nobody as error:\n    print(error)");
    assert_eq!(say(&session, &code).await, "nobody installs packages here\n");
    // Whoever listened goes away while the guest waits.
    let (sender, mut events) = tokio::sync::mpsc::channel(64);
    let request = Execute { code, session: true, allow_install: true, ..Execute::default() };
    let waits = async {
        while let Some(event) = events.recv().await {
            if let Event::Install(_) = event {
                return;
            }
        }
    };
    let running = session.execute(request, sender);
    tokio::pin!(running);
    tokio::select! {
        outcome = &mut running => panic!("{outcome:?}"),
        () = waits => {}
    }
    session.interrupter().interrupt();
    let outcome = running.await.unwrap();
    assert!(matches!(outcome.ended, Ended::Raised { ref ename, .. } if ename == "KeyboardInterrupt"), "{outcome:?}");
    assert_eq!(say(&session, "print('goes on')").await, "goes on\n");
}

#[tokio::test]
async fn a_guest_that_waits_for_packages_can_be_stopped() {
    let sandbox = sandbox().await;
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits { wall: std::time::Duration::from_millis(300), ..Limits::default() };
    let session = sandbox.session(MachineSpec { limits, ..MachineSpec::default() }).await.unwrap();
    let small = module(directory.path(), "small", "1.0");
    // The clock stands still while it waits; the answer to a question that was given up is void.
    let mut count = 0;
    let code = format!(
        "{INSTALL}try:\n    install(['first'])\nexcept KeyboardInterrupt:\n    print('stopped')\nraise KeyboardInterrupt"
    );
    let (outcome, text) = installing(&session, &code, |_, interrupter| {
        count += 1;
        interrupter.interrupt();
    })
    .await;
    assert_eq!((text.as_str(), count), ("stopped\n", 1), "{outcome:?}");
    let wait = std::time::Duration::from_millis(600);
    let code = format!("{INSTALL}install(['small'])\nimport small\nprint(small.__version__)");
    let (outcome, text) = installing(&session, &code, |_, interrupter| {
        std::thread::sleep(wait);
        let layers = vec![small.clone()];
        assert!(interrupter.install(Ok(InstallAnswer { layers, ..InstallAnswer::default() })));
    })
    .await;
    assert_eq!(text, "1.0\n", "{outcome:?}");
}

/// A native module of the bundle's, with a section that makes it another one.
fn native() -> Vec<u8> {
    let bundled = brumate_engine::bundle::wheels().iter().find(|wheel| wheel.name == "kiwisolver").unwrap();
    let archive = brumate_vfs::Archive::new(std::sync::Arc::new(bundled.content.bytes())).unwrap();
    let (path, _) = archive.files().find(|(path, _)| path.ends_with(b".so")).unwrap();
    let mut bytes = archive.read(path).unwrap().unwrap();
    bytes.extend_from_slice(b"\x00\x06\x05extra");
    bytes
}

#[tokio::test]
async fn native_modules_of_wheels_are_loaded_and_sleep() {
    let sandbox = sandbox().await;
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let files: [(&str, &[u8]); 2] =
        [("layered/__init__.py", b""), ("layered/_cext.cpython-314-wasm32-emscripten.so", &native())];
    let layers = vec![layer(here, "layered", "1.0", &files, "")];
    sandbox.prepare_layers(&layers).await.unwrap();
    let spec = || MachineSpec { layers: layers.clone(), ..MachineSpec::default() };
    let session = sandbox.session(spec()).await.unwrap();
    say(&session, "from layered import _cext\nv = _cext.Variable('x')").await;
    let file = here.join("session");
    session.hibernate(&file).await.unwrap();
    let (woken, _) = sandbox.wake_session(&file, spec()).await.unwrap();
    let code = "print(v.name(), _cext.Variable('y').name(), _cext.__file__)";
    let expected = format!("x y {PACKAGES}/layered/_cext.cpython-314-wasm32-emscripten.so\n");
    for session in [&session, &woken] {
        assert_eq!(say(session, code).await, expected);
    }
    // The wheel goes; what is loaded stays, awake and asleep, and needs the wheel no more.
    woken.unmount(&["layered".to_owned()]).await.unwrap();
    assert_eq!(say(&woken, code).await, expected);
    woken.hibernate(&file).await.unwrap();
    assert!(layers_of(&file).await.unwrap().is_empty());
    let (again, _) = sandbox.wake_session(&file, MachineSpec::default()).await.unwrap();
    assert_eq!(say(&again, code).await, expected);
}

#[tokio::test]
async fn bytecode_is_made_once_and_used() {
    let sandbox = sandbox().await;
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let long: String =
        (0..200).map(|number| format!("def f{number}(a, b={number}): return [a + b, 'text {number}']\n")).collect();
    let files: [(&str, &[u8]); 4] = [
        ("coded/__init__.py", long.as_bytes()),
        ("coded/part/__init__.py", b"x = 'ok'\n"),
        ("coded/broken.py", b"def (:\n"),
        ("coded/zeros.py", b"x = 1\0\n"),
    ];
    let mut coded = layer(here, "coded", "1.0", &files, "");
    let bytes = sandbox.bytecode(&coded).await.unwrap();
    assert_eq!(bytes, sandbox.bytecode(&coded).await.unwrap(), "the same every time");
    let archive = brumate_vfs::Archive::new(std::sync::Arc::new(bytes.clone())).unwrap();
    let mut made: Vec<_> = archive.files().map(|(path, _)| String::from_utf8(path.to_vec()).unwrap()).collect();
    made.sort();
    let expected = ["coded/__pycache__/__init__.cpython-314.pyc", "coded/part/__pycache__/__init__.cpython-314.pyc"];
    assert_eq!(made, expected);
    coded.bytecode = Some(keep(here, "coded.bytecode", &bytes));
    let session = sandbox.session(MachineSpec { layers: vec![coded.clone()], ..MachineSpec::default() }).await.unwrap();
    let code = "
import coded.part, sys, inspect
with open(coded.__cached__, 'rb') as file:
    head = file.read(8)
print(coded.f7(1), coded.part.x, head[4:], coded.f7.__code__.co_filename == coded.__file__, 'f7' in inspect.getsource(coded.f7))
";
    assert_eq!(say(&session, code).await, "[8, 'text 7'] ok b'\\x01\\x00\\x00\\x00' True True\n");
    // It may be missing when the session wakes.
    let file = here.join("session");
    session.hibernate(&file).await.unwrap();
    coded.bytecode = None;
    let (woken, _) =
        sandbox.wake_session(&file, MachineSpec { layers: vec![coded], ..MachineSpec::default() }).await.unwrap();
    let again =
        "del sys.modules['coded'], sys.modules['coded.part']\nimport coded.part\nprint(coded.f7(2), coded.part.x)";
    assert_eq!(say(&woken, again).await, "[9, 'text 7'] ok\n");
}

#[tokio::test]
async fn images_have_wheels() {
    let sandbox = sandbox().await;
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let first = demo(here, "1.0");
    let image = Image::of(["demo"]).with_layers(vec![first.clone(), part(here, "a")]);
    sandbox.warm(&image).await.unwrap();
    let spec = || MachineSpec { image: image.clone(), layers: vec![first.clone()], ..MachineSpec::default() };
    let session = sandbox.session(spec()).await.unwrap();
    let seen = "import sys\nprint('demo' in sys.modules)\nimport demo, parts.a, importlib.metadata as md\nprint(demo.run(), md.version('demo'))";
    assert_eq!(say(&session, seen).await, "True\nran 1.0 1.0\n");
    session.mount(&[part(here, "b")]).await.unwrap();
    assert_eq!(say(&session, "import parts.b; print(parts.b.here)").await, "parts.b\n");
    let file = here.join("session");
    session.hibernate(&file).await.unwrap();
    assert_eq!(layers_of(&file).await.unwrap().len(), 3);
    assert!(matches!(
        sandbox.wake_session(&file, MachineSpec::default()).await,
        Err(Error::MissingLayers { layers }) if layers.len() >= 3
    ));
    let layers = session.layers();
    let (woken, _) = sandbox.wake_session(&file, MachineSpec { layers, ..MachineSpec::default() }).await.unwrap();
    assert_eq!(say(&woken, "print(demo.run(), parts.b.here)").await, "ran 1.0 parts.b\n");
    // With another version, machines are not of this image.
    let second = demo(here, "2.0");
    assert_eq!(brumate_engine::bundle::replaced(&image, std::slice::from_ref(&second)), ["demo"]);
    let other = MachineSpec { layers: vec![second], ..spec() };
    let session = sandbox.session(other).await.unwrap();
    assert_eq!(say(&session, &seen.replace("True", "False")).await, "False\nran 2.0 2.0\n");
}

/// Variables of the process that [`a_server_that_vanishes`] is.
const PLACE: &str = "BRUMATE_TEST_LAYERS";

#[test]
#[ignore = "played by the processes that the other tests start"]
fn a_server_that_vanishes() {
    let place = std::path::PathBuf::from(std::env::var_os(PLACE).expect("started by the test"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let session = sandbox().await.session(MachineSpec::default()).await.unwrap();
        session.enable_crash_recovery(&place.join("session")).await.unwrap();
        session.mount(&[module(&place, "first", "1.0")]).await.unwrap();
        say(&session, "import first\nx = 5").await;
        println!("\nserver: idle");
        let code =
            format!("{INSTALL}install(['second'])\nimport second\nx = 6\nprint('busy', flush=True)\nwhile True: pass");
        let request = Execute { code, session: true, allow_install: true, ..Execute::default() };
        let (sender, mut events) = tokio::sync::mpsc::channel(64);
        let interrupter = session.interrupter();
        let listening = async {
            while let Some(event) = events.recv().await {
                match event {
                    Event::Install(_) => {
                        let layers = vec![module(&place, "second", "1.0")];
                        assert!(interrupter.install(Ok(InstallAnswer { layers, ..InstallAnswer::default() })));
                    }
                    Event::Stream { text, .. } if text.contains("busy") => println!("\nserver: busy"),
                    _ => {}
                }
            }
        };
        let _ = tokio::join!(session.execute(request, sender), listening);
    });
}

/// Starts such a server and kills it when it says `moment`.
fn vanish(place: &Path, moment: &str) {
    use std::io::BufRead;
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "layers::a_server_that_vanishes", "--ignored", "--nocapture"])
        .env(PLACE, place)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let said = std::io::BufReader::new(child.stdout.take().unwrap());
    let heard = said.lines().map_while(Result::ok).any(|line| line == format!("server: {moment}"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(heard, "it never said {moment}");
}

#[tokio::test]
async fn last_wills_know_their_layers() {
    let sandbox = sandbox().await;
    for moment in ["idle", "busy"] {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        vanish(here, moment);
        let file = here.join("session");
        let layers = vec![module(here, "first", "1.0"), module(here, "second", "1.0")];
        let wanted = layers_of(&file).await.unwrap();
        assert!(wanted.iter().any(|id| id.name.starts_with("first-")), "{moment}: {wanted:?}");
        let (woken, _) = sandbox.wake_session(&file, MachineSpec { layers, ..MachineSpec::default() }).await.unwrap();
        // What the last cell had installed when the server vanished never was.
        let state = "import importlib.util as u\nprint(x, first.__version__, u.find_spec('second'))";
        assert_eq!(say(&woken, state).await, "5 1.0 None\n", "{moment}");
        assert_eq!(names(&woken.layers()), ["first-1.0"], "{moment}");
    }
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
