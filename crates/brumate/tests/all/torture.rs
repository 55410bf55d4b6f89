//! Random programs print the same in each of these cases: run straight through, forked at every cell, hibernated and resumed in another
//! process tree at every cell, or with cells in between that destroy the state and end the machine.
//!
//! `BRUMATE_TEST_SEED` is the random seed (default: 1). With `BRUMATE_TEST_LONG` there are 25 times as many programs, each twelve times
//! as long.

mod program;

use std::time::Duration;

use crate::support::sessions::{cell, sandbox, say};
use brumate_engine::api::InterruptHandle as _;
use brumate_engine::api::Session as _;
use brumate_engine::api::{Ended, Image, Limits, MachineSpec, Outcome};
use brumate_engine::client::{EngineError, Sandbox, Session};
use brumate_test_support::{Random, count, seed};
use program::Program;

/// Parts of the random numbers: programs, and transitions of their sessions.
const PROGRAMS: u64 = 1 << 32;
const TRANSITIONS: u64 = 1 << 33;

/// Two sandboxes with their own process trees.
struct SandboxPair {
    sandboxes: [Sandbox; 2],
    directory: tempfile::TempDir,
}

/// A transition of a session between two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transition {
    Stay,
    Fork,
    Sleep,
    /// A cell destroys the state and ends the machine.
    Wreck,
}

fn spec() -> MachineSpec {
    // Far longer than any cell takes: only what is meant to end a machine ends it.
    let long = Duration::from_secs(300);
    let limits = Limits { wall: long, cpu: long, ..Limits::default() };
    MachineSpec { image: Image::data(), limits, ..MachineSpec::default() }
}

impl SandboxPair {
    async fn new() -> SandboxPair {
        let sandboxes = [sandbox(2).await, sandbox(2).await];
        for sandbox in &sandboxes {
            sandbox.build_image(&Image::data()).await.expect("an image");
        }
        SandboxPair { sandboxes, directory: tempfile::tempdir().expect("a directory") }
    }

    /// Returns the session after the transition number `number`.
    async fn apply(&self, session: Session, transition: Transition, number: usize, random: &mut Random) -> Session {
        match transition {
            Transition::Stay => session,
            Transition::Fork => session.fork().await.expect("a fork"),
            Transition::Sleep => {
                let file = self.directory.path().join(format!("{:x}", random.next()));
                session.write_to(&file).await.expect("it sleeps");
                drop(session);
                let (resumed, revoked) =
                    self.sandboxes[(number + 1) % 2].resume_session(&file, spec()).await.expect("it resumes");
                assert!(revoked.is_empty(), "{revoked:?}");
                std::fs::remove_file(&file).expect("the file stays");
                resumed
            }
            Transition::Wreck => {
                wreck(&session, random).await;
                session
            }
        }
    }

    /// Runs a program; `transition` chooses the transition before each cell. Returns the output of each cell, and what
    /// went wrong.
    async fn run(
        &self,
        program: &Program,
        random: &mut Random,
        transition: impl Fn(&mut Random) -> Transition,
    ) -> Vec<String> {
        let mut session = self.sandboxes[0].session(spec()).await.expect("a session");
        let mut told = Vec::new();
        for (number, code) in program.cells.iter().enumerate() {
            let next = transition(random);
            session = self.apply(session, next, number, random).await;
            told.push(match cell(&session, code).await {
                (Ok(Outcome { ended: Ended::Returned(_), .. }), text) => text,
                (other, text) => format!("{text}{other:?}"),
            });
        }
        told
    }
}

/// Code that destroys everything that the programs use.
const DAMAGE: &str = "import os, sys, gc, decimal, random, builtins, signal, shutil
for _name in [name for name in globals() if name[0] == 'v' and '_' in name]:
    _thing = globals()[_name]
    for _method in ('clear', 'close', 'sort', 'rollback', 'commit', 'cancel', 'fill', 'release'):
        try:
            getattr(_thing, _method)(*((0,) if _method == 'fill' else ()))
        except BaseException:
            pass
    try:
        next(_thing)
    except BaseException:
        pass
    del globals()[_name], _thing
os.umask(0o777); os.chdir('/'); os.environ.clear(); decimal.getcontext().prec = 1; random.seed(0)
for _file in os.listdir('/workspace'):
    _file = os.path.join('/workspace', _file)
    shutil.rmtree(_file) if os.path.isdir(_file) and not os.path.islink(_file) else os.remove(_file)
shutil.rmtree('/tmp', ignore_errors=True)
for _fd in range(3, 1000):
    try:
        os.close(_fd)
    except OSError:
        pass
sys.path.clear(); sys.setrecursionlimit(10000); signal.signal(signal.SIGUSR2, signal.SIG_IGN)
for _module in [name for name in sys.modules if name.startswith(('v', 'pandas', 'matplotlib'))]:
    del sys.modules[_module]
import ctypes
";

/// Code that ends the machine. The last one is ended from outside.
const ENDINGS: &[&str] = &[
    "os._exit(3)",
    "os.abort()",
    "ctypes.CDLL(None).exit(0)",
    "ctypes.string_at(0xfffffff0)",
    "ctypes.memset(1024, 0xab, 16 << 20)",
    "ctypes.CFUNCTYPE(None)(12345678)()",
    FOR_EVER,
];

const FOR_EVER: &str = "while True: pass";

/// Runs a cell that destroys the state and ends the machine. The session must report a roll-back.
async fn wreck(session: &Session, random: &mut Random) {
    let ending = *random.pick(ENDINGS);
    let interrupt_handle = session.interrupt_handle();
    let after = Duration::from_millis(20 + random.below(200));
    let killer = async {
        if ending == FOR_EVER {
            tokio::time::sleep(after).await;
            interrupt_handle.kill();
        }
    };
    let code = format!("{DAMAGE}{ending}");
    let ((outcome, text), ()) = tokio::join!(cell(session, &code), killer);
    assert!(matches!(outcome, Err(EngineError::RolledBack { .. })), "{ending}: {outcome:?}; printed {text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_programs_do_not_notice_what_becomes_of_their_session() {
    let world = SandboxPair::new().await;
    let seed = seed();
    let programs = count(1, 25) * Program::until_all_topics();
    let cells = count(5, 60);
    for number in 0..programs {
        let program = Program::random(&mut Random::part(seed, PROGRAMS + number), number, cells);
        let random = |part| Random::part(seed, TRANSITIONS + 8 * number + part);
        let session = world.sandboxes[0].session(spec()).await.expect("a session");
        let mut straight = Vec::new();
        for code in &program.cells {
            straight.push(say(&session, code).await);
        }
        let mut always_fork = random(1);
        let mut always_sleep = random(2);
        let mut often_wreck = random(3);
        let mut anything = random(4);
        let results = tokio::join!(
            world.run(&program, &mut always_fork, |_| Transition::Fork),
            world.run(&program, &mut always_sleep, |_| Transition::Sleep),
            world.run(&program, &mut often_wreck, |random| *random.pick(&[Transition::Stay, Transition::Wreck])),
            world.run(&program, &mut anything, |random| {
                *random.pick(&[Transition::Stay, Transition::Fork, Transition::Sleep, Transition::Wreck])
            }),
        );
        let results = [
            ("forked at every cell", results.0),
            ("slept at every cell", results.1),
            ("wrecked", results.2),
            ("anything", results.3),
        ];
        for (way, told) in results {
            for (index, code) in program.cells.iter().enumerate() {
                assert_eq!(
                    told[index], straight[index],
                    "seed {seed}, program {number} ({:?}), {way}, cell {index}:\n{code}",
                    program.topics
                );
            }
        }
    }
}
