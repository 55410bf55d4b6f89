//! Two tenants whose machines are forks of one image: nothing that one writes, anywhere, can be found by the other.
//!
//! The first leaves canaries in its memory, live and deleted, in files, descriptors, names and its environment. The second
//! reads all of its own linear memory and everything else it can open. All canaries begin alike; the scan knows only that
//! beginning, and tells what follows.

use crate::support::sessions::{cell, sandbox, say};
use brumate_engine::api::{Image, MachineSpec};
use brumate_engine::client::{Sandbox, Session};

/// What all canaries begin with. The guests put it together from two parts.
const PREFIX: &str = "PREFIX = ''.join(('cana', 'ry-of-a-ten', 'ant:'))\n";

const PLANT: &str = include_str!("tenants/plant.py");
const SCAN: &str = include_str!("tenants/scan.py");

async fn tenant(sandbox: &Sandbox) -> Session {
    sandbox.session(MachineSpec { image: Image::data(), ..MachineSpec::default() }).await.expect("a session")
}

/// The canaries of a guest: what follows the common beginning.
async fn plant(session: &Session) -> Vec<String> {
    let told = say(session, &format!("{PREFIX}{PLANT}")).await;
    let tokens: Vec<String> = told.split_whitespace().map(str::to_owned).collect();
    assert!(tokens.len() > 20 && tokens.iter().all(|token| token.len() == 32), "{told}");
    tokens
}

/// Which of `tokens` a guest finds, and where.
async fn scan(session: &Session, everything: bool, tokens: &[String]) -> Vec<(String, String)> {
    let (outcome, _) = cell(session, "pass").await;
    let memory = outcome.expect("an outcome").peak_memory_bytes;
    assert!(memory > 16 << 20, "{memory}");
    let everything = if everything { "True" } else { "False" };
    let told = say(session, &format!("{PREFIX}END = {memory}\nEVERYTHING = {everything}\n{SCAN}")).await;
    let mut lines = told.lines();
    let files = lines.next().and_then(|line| line.strip_prefix("scanned ")).expect("a summary");
    assert!(files.parse::<u64>().expect("a number") > 0, "{told}");
    lines
        .filter_map(|line| {
            let mut words = line.splitn(3, ' ').skip(1);
            let (after, place) = (words.next()?, words.next()?);
            let token = tokens.iter().find(|token| hex(token) == after)?;
            Some((token.clone(), place.to_owned()))
        })
        .collect()
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_finds_what_another_wrote() {
    let sandbox = sandbox(2).await;
    sandbox.build_image(&Image::data()).await.expect("an image");
    let earlier = tenant(&sandbox).await;
    say(&earlier, "pass").await;
    let first = tenant(&sandbox).await;
    let tokens = plant(&first).await;

    // The control: the scan finds what is there, in each kind of place.
    let own = scan(&first, true, &tokens).await;
    let places = |part: &str| own.iter().filter(|(_, place)| place.contains(part)).count();
    for part in ["memory", "kept", "link", "base", "descriptor", "environment"] {
        assert!(places(part) > 0, "the control finds nothing in {part}: {own:?}");
    }
    let lost: Vec<_> = tokens.iter().filter(|token| !own.iter().any(|(found, _)| found == *token)).collect();
    // What was deleted may be overwritten by chance; most is not.
    assert!(lost.len() * 4 < tokens.len(), "the control misses {lost:?} of {tokens:?}");

    // And across processes, where it should: what a session forks from itself.
    let child = first.fork().await.expect("a fork");
    assert!(!scan(&child, false, &tokens).await.is_empty(), "the scan of another process finds nothing");
    drop(child);

    let beside = tenant(&sandbox).await;
    // A machine's end gives nothing away either: neither one that is dropped nor one that crashes.
    let (outcome, _) = cell(&first, "import os; os.abort()").await;
    outcome.expect_err("the machine ends");
    drop(first);
    let after = tenant(&sandbox).await;
    let fork = after.fork().await.expect("a fork");
    for (name, session) in [("earlier", &earlier), ("beside", &beside), ("after", &after), ("a fork", &fork)] {
        let found = scan(session, name == "after", &tokens).await;
        assert!(found.is_empty(), "the tenant {name} finds {found:?}");
    }
}
