//! Random programs: cells that take turns at a few topics.

use brumate_test_support::Random;

/// Topics in one program.
const TOPICS: u64 = 9;

/// Most steps of topics in one cell.
const STEPS_PER_CELL: u64 = 3;

/// One thing that a program does: a beginning, and steps that may follow in any order.
#[derive(Debug)]
struct Topic {
    name: &'static str,
    setup: &'static str,
    steps: Vec<&'static str>,
}

/// A program: its cells in order.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) cells: Vec<String>,
    /// What it is about, for messages.
    pub(crate) topics: Vec<&'static str>,
}

fn topics() -> Vec<Topic> {
    let text = include_str!("topics.py");
    let topics: Vec<Topic> = text
        .split("\n#: ")
        .skip(1)
        .map(|topic| {
            let (name, body) = topic.split_once('\n').expect("a topic has lines");
            let mut parts = body.split("#-\n");
            let setup = parts.next().expect("a topic has a beginning");
            Topic { name, setup, steps: parts.collect() }
        })
        .collect();
    assert!(topics.iter().all(|topic| !topic.steps.is_empty()));
    topics
}

impl Program {
    /// How many programs it takes until every topic has been in one.
    pub(crate) fn until_all_topics() -> u64 {
        (topics().len() as u64).div_ceil(TOPICS)
    }

    /// Program `number` of a run: the topics go round, everything else is chance. `cells` is how many come after the first
    /// of each topic.
    pub(crate) fn random(random: &mut Random, number: u64, cells: u64) -> Program {
        let topics = topics();
        let count = topics.len() as u64;
        let chosen: Vec<&Topic> =
            (0..TOPICS).map(|index| &topics[((number * TOPICS + index) % count) as usize]).collect();
        let mut program = Program { cells: Vec::new(), topics: chosen.iter().map(|topic| topic.name).collect() };
        let mut begun = vec![false; chosen.len()];
        for _ in 0..cells {
            let mut cell = String::new();
            for _ in 0..=random.below(STEPS_PER_CELL) {
                let index = random.below(TOPICS) as usize;
                if !std::mem::replace(&mut begun[index], true) {
                    cell.push_str(&filled(chosen[index].setup, index, random));
                }
                let step = *random.pick(&chosen[index].steps[..]);
                cell.push_str(&filled(step, index, random));
            }
            program.cells.push(cell);
        }
        // What a topic was left in is looked at once more, however long nobody touched it.
        for (index, topic) in chosen.iter().enumerate() {
            let mut cell = if begun[index] { String::new() } else { filled(topic.setup, index, random) };
            for step in &topic.steps {
                cell.push_str(&filled(step, index, random));
            }
            program.cells.push(cell);
        }
        program
    }
}

/// A part of a topic with names of its own and a random number.
fn filled(part: &str, index: usize, random: &mut Random) -> String {
    let number = 2 + random.below(96);
    part.replace("V_", &format!("v{index}_")).replace("N_", &number.to_string())
}
