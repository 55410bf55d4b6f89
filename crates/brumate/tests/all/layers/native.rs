//! Native modules and bytecode of wheels, and images that contain wheels.

use brumate_engine::api::Session as _;
use brumate_engine::api::{Image, MachineSpec, PACKAGES};
use brumate_engine::client::{EngineError, layers_of};

use super::{demo, part, sandbox};
use crate::support::sessions::say;
use crate::support::wheels::{keep, layer};

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
    sandbox.compile_layers(&layers).await.unwrap();
    let spec = || MachineSpec { layers: layers.clone(), ..MachineSpec::default() };
    let session = sandbox.session(spec()).await.unwrap();
    say(&session, "from layered import _cext\nv = _cext.Variable('x')").await;
    let file = here.join("session");
    session.write_to(&file).await.unwrap();
    let (resumed, _) = sandbox.resume_session(&file, spec()).await.unwrap();
    let code = "print(v.name(), _cext.Variable('y').name(), _cext.__file__)";
    let expected = format!("x y {PACKAGES}/layered/_cext.cpython-314-wasm32-emscripten.so\n");
    for session in [&session, &resumed] {
        assert_eq!(say(session, code).await, expected);
    }
    // The wheel goes; what is loaded stays, awake and hibernated, and needs the wheel no more.
    resumed.unmount(&["layered".to_owned()]).await.unwrap();
    assert_eq!(say(&resumed, code).await, expected);
    resumed.write_to(&file).await.unwrap();
    assert!(layers_of(&file).await.unwrap().is_empty());
    let (again, _) = sandbox.resume_session(&file, MachineSpec::default()).await.unwrap();
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
    // It may be missing when the session resumes.
    let file = here.join("session");
    session.write_to(&file).await.unwrap();
    coded.bytecode = None;
    let (resumed, _) =
        sandbox.resume_session(&file, MachineSpec { layers: vec![coded], ..MachineSpec::default() }).await.unwrap();
    let again =
        "del sys.modules['coded'], sys.modules['coded.part']\nimport coded.part\nprint(coded.f7(2), coded.part.x)";
    assert_eq!(say(&resumed, again).await, "[9, 'text 7'] ok\n");
}

#[tokio::test]
async fn images_have_wheels() {
    let sandbox = sandbox().await;
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let first = demo(here, "1.0");
    let image = Image::of(["demo"]).with_layers(vec![first.clone(), part(here, "a")]);
    sandbox.build_image(&image).await.unwrap();
    let spec = || MachineSpec { image: image.clone(), layers: vec![first.clone()], ..MachineSpec::default() };
    let session = sandbox.session(spec()).await.unwrap();
    let seen = "import sys\nprint('demo' in sys.modules)\nimport demo, parts.a, importlib.metadata as md\nprint(demo.run(), md.version('demo'))";
    assert_eq!(say(&session, seen).await, "True\nran 1.0 1.0\n");
    session.mount(&[part(here, "b")]).await.unwrap();
    assert_eq!(say(&session, "import parts.b; print(parts.b.here)").await, "parts.b\n");
    let file = here.join("session");
    session.write_to(&file).await.unwrap();
    assert_eq!(layers_of(&file).await.unwrap().len(), 3);
    assert!(matches!(
        sandbox.resume_session(&file, MachineSpec::default()).await,
        Err(EngineError::MissingLayers { layers }) if layers.len() >= 3
    ));
    let layers = session.layers();
    let (resumed, _) = sandbox.resume_session(&file, MachineSpec { layers, ..MachineSpec::default() }).await.unwrap();
    assert_eq!(say(&resumed, "print(demo.run(), parts.b.here)").await, "ran 1.0 parts.b\n");
    // With another version, machines are not of this image.
    let second = demo(here, "2.0");
    assert_eq!(brumate_engine::bundle::replaced_packages(&image, std::slice::from_ref(&second)), ["demo"]);
    let other = MachineSpec { layers: vec![second], ..spec() };
    let session = sandbox.session(other).await.unwrap();
    assert_eq!(say(&session, &seen.replace("True", "False")).await, "False\nran 2.0 2.0\n");
}
