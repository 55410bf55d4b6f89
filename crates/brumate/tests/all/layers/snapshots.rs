//! Hibernation, forks, roll-backs and crash recovery keep the layers of a session.

use std::path::Path;

use brumate_engine::api::InterruptHandle as _;
use brumate_engine::api::Session as _;
use brumate_engine::api::{Event, Execute, ExecuteMode, GuestAnswer, InstallAnswer, MachineSpec};
use brumate_engine::client::{EngineError, layers_of};

use super::installs::INSTALL;
use super::{names, sandbox};
use crate::support::sessions::{cell, say};
use crate::support::wheels::{layer, module};

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
    let size = session.write_to(&file).await.unwrap();
    assert!(size < 2 << 20, "{size} bytes: the layers are not part of it");
    let wanted = layers_of(&file).await.unwrap();
    assert_eq!(
        wanted.iter().map(|id| &id.name[..]).collect::<Vec<_>>(),
        ["large-1.0-py3-none-any.whl", "small-2.0-py3-none-any.whl"]
    );
    match sandbox.resume_session(&file, MachineSpec { layers: vec![packed.clone()], ..MachineSpec::default() }).await {
        Err(EngineError::MissingLayers { layers }) => assert_eq!(layers, wanted[1..]),
        other => panic!("{other:?}"),
    }
    let layers = session.layers();
    let spec = || MachineSpec { layers: layers.clone(), ..MachineSpec::default() };
    let (resumed, _) = sandbox.resume_session(&file, spec()).await.unwrap();
    let fork = session.fork().await.unwrap();
    let (_, _) = cell(&session, "import os; os._exit(1)").await;
    for session in [&resumed, &fork, &session] {
        assert_eq!(say(session, check).await, expected);
        assert_eq!(session.layers(), layers);
        // A sibling's packages are its own.
        session.mount(&[module(here, "sibling", "1.0")]).await.unwrap();
        assert_eq!(say(session, "import sibling; print(sibling.__version__)").await, "1.0\n");
        session.unmount(&["sibling".to_owned()]).await.unwrap();
    }
    // What was hibernated again wakes again.
    resumed.write_to(&file).await.unwrap();
    let (again, _) = sandbox.resume_session(&file, spec()).await.unwrap();
    assert_eq!(say(&again, check).await, expected);
    assert_eq!(again.layers(), layers);
}

/// Variable with the directory for [`a_server_that_vanishes`].
const DIRECTORY: &str = "BRUMATE_TEST_LAYERS";

#[test]
#[ignore = "played by the processes that the other tests start"]
fn a_server_that_vanishes() {
    let place = std::path::PathBuf::from(std::env::var_os(DIRECTORY).expect("started by the test"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let session = sandbox().await.session(MachineSpec::default()).await.unwrap();
        session.enable_crash_recovery(&place.join("session")).await.unwrap();
        session.mount(&[module(&place, "first", "1.0")]).await.unwrap();
        say(&session, "import first\nx = 5").await;
        println!("\nserver: idle");
        let code =
            format!("{INSTALL}install(['second'])\nimport second\nx = 6\nprint('busy', flush=True)\nwhile True: pass");
        let request = Execute { code, mode: ExecuteMode::Cell, allow_install: true, ..Execute::default() };
        let (sender, mut events) = tokio::sync::mpsc::channel(64);
        let interrupt_handle = session.interrupt_handle();
        let listening = async {
            while let Some(event) = events.recv().await {
                match event {
                    Event::Request(request) => {
                        let layers = vec![module(&place, "second", "1.0")];
                        let answer = Ok(InstallAnswer { layers, ..InstallAnswer::default() });
                        assert!(interrupt_handle.answer(request.id, GuestAnswer::Install(answer)));
                    }
                    Event::Stream { text, .. } if text.contains("busy") => println!("\nserver: busy"),
                    _ => {}
                }
            }
        };
        let _ = tokio::join!(session.execute(request, sender), listening);
    });
}

/// Starts [`a_server_that_vanishes`] and kills it when it prints `moment`.
fn vanish(place: &Path, moment: &str) {
    use std::io::BufRead;
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "layers::snapshots::a_server_that_vanishes", "--ignored", "--nocapture"])
        .env(DIRECTORY, place)
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
        let (resumed, _) =
            sandbox.resume_session(&file, MachineSpec { layers, ..MachineSpec::default() }).await.unwrap();
        // What the last cell had installed when the server vanished never was.
        let state = "import importlib.util as u\nprint(x, first.__version__, u.find_spec('second'))";
        assert_eq!(say(&resumed, state).await, "5 1.0 None\n", "{moment}");
        assert_eq!(names(&resumed.layers()), ["first-1.0"], "{moment}");
    }
}
