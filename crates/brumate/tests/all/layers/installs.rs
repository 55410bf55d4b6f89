//! The guest asks for packages, and gets them while its cell runs.

use std::collections::HashMap;

use brumate_engine::api::InterruptHandle as _;
use brumate_engine::api::Session as _;
use brumate_engine::api::{
    Ended, Event, Execute, ExecuteMode, GuestAnswer, GuestRequest, InstallAnswer, InstallRequest, Layer, Limits,
    MachineSpec, Outcome, RequestBody,
};
use brumate_engine::client::{EngineError, InterruptHandle, Session};

use super::{names, sandbox};
use crate::support::sessions::say;
use crate::support::wheels::module;

/// Answers one request.
struct Answerer {
    handle: InterruptHandle,
    id: u64,
}

impl Answerer {
    fn install(&self, answer: Result<InstallAnswer, String>) -> bool {
        self.handle.answer(self.id, GuestAnswer::Install(answer))
    }
}

/// Runs a cell whose wishes for packages `answer` answers; what became of it, and what it printed.
async fn installing(
    session: &Session,
    code: &str,
    mut answer: impl FnMut(&InstallRequest, &Answerer),
) -> (Result<Outcome, EngineError>, String) {
    let (sender, mut events) = tokio::sync::mpsc::channel(64);
    let interrupt_handle = session.interrupt_handle();
    let request = Execute { code: code.to_owned(), mode: ExecuteMode::Cell, allow_install: true, ..Execute::default() };
    let listening = async {
        let mut printed = String::new();
        while let Some(event) = events.recv().await {
            match event {
                Event::Stream { text, .. } => printed.push_str(&text),
                Event::Request(GuestRequest { id, body: RequestBody::Install(request) }) => {
                    answer(&request, &Answerer { handle: interrupt_handle.clone(), id });
                }
                _ => {}
            }
        }
        printed
    };
    tokio::join!(session.execute(request, sender), listening)
}

pub(crate) const INSTALL: &str = "from _brumate.packages import install, uninstall, InstallError, Nobody\n";

#[tokio::test]
async fn packages_are_installed_from_inside() {
    let sandbox = sandbox().await;
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let session = sandbox.session(MachineSpec::default()).await.unwrap();
    let shelf: HashMap<&str, Layer> =
        [("small", module(here, "small", "1.0")), ("small>1", module(here, "small", "2.0"))].into();
    let mut asked = Vec::new();
    let mut serve = |request: &InstallRequest, answerer: &Answerer| {
        asked.push(request.clone());
        let found = request.requirements.iter().map(|text| shelf.get(&text[..]).cloned().ok_or(text));
        let answer = match found.collect::<Result<Vec<_>, _>>() {
            Ok(layers) => {
                let installed = layers.iter().map(|layer| ("small".to_owned(), layer.name[6..9].to_owned())).collect();
                Ok(InstallAnswer { layers, installed, satisfied: vec![("six".to_owned(), "1.17".to_owned())] })
            }
            Err(text) => Err(format!("no {text:?} here")),
        };
        let line = GuestAnswer::Input(Some("a line".to_owned()));
        assert!(!answerer.handle.answer(answerer.id, line), "it asks for packages");
        let other = GuestAnswer::Install(answer.clone());
        assert!(!answerer.handle.answer(answerer.id + 1, other), "that request has not been made");
        assert!(answerer.install(answer.clone()));
        assert!(!answerer.install(answer), "it has its answer");
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
    let mut serve = |request: &InstallRequest, answerer: &Answerer| {
        let layers = vec![shelf[&request.requirements[0][..]].clone()];
        assert!(answerer.install(Ok(InstallAnswer { layers, ..InstallAnswer::default() })));
    };
    let version = "import importlib.metadata as md; print(md.version('small'))";
    let ends = format!("{INSTALL}install(['small>1']); import os; os._exit(1)");
    assert!(matches!(installing(&session, &ends, &mut serve).await.0, Err(EngineError::RolledBack { .. })));
    assert_eq!(say(&session, version).await, "1.0\n");
    assert_eq!(names(&session.layers()), ["small-1.0"]);
    let (raised, _) = installing(&session, &format!("{INSTALL}install(['small>1']); 1 / 0"), &mut serve).await;
    assert!(matches!(raised.unwrap().ended, Ended::Raised { .. }));
    assert_eq!(say(&session, version).await, "2.0\n");
    assert_eq!(names(&session.layers()), ["small-2.0"]);

    // Taken away again, by the guest itself; nobody is asked.
    let nobody = |_: &InstallRequest, _: &Answerer| panic!("nobody is asked");
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
    let request = Execute { code, mode: ExecuteMode::Cell, allow_install: true, ..Execute::default() };
    let waits = async {
        while let Some(event) = events.recv().await {
            if let Event::Request(_) = event {
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
    session.interrupt_handle().interrupt();
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
    let (outcome, text) = installing(&session, &code, |_, answerer| {
        count += 1;
        answerer.handle.interrupt();
    })
    .await;
    assert_eq!((text.as_str(), count), ("stopped\n", 1), "{outcome:?}");
    let wait = std::time::Duration::from_millis(600);
    let code = format!("{INSTALL}install(['small'])\nimport small\nprint(small.__version__)");
    let (outcome, text) = installing(&session, &code, |_, answerer| {
        std::thread::sleep(wait);
        let layers = vec![small.clone()];
        assert!(answerer.install(Ok(InstallAnswer { layers, ..InstallAnswer::default() })));
    })
    .await;
    assert_eq!(text, "1.0\n", "{outcome:?}");
}
