//! Random programs: cells with steps of a few topics.

use brumate_test_support::Random;

/// Number of topics in one program.
const TOPICS: u64 = 9;

/// Most steps of topics in one cell.
const STEPS_PER_CELL: u64 = 3;

/// A subject of programs: a beginning, and steps that may follow in any order.
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
    /// Names of its topics, for messages.
    pub(crate) topics: Vec<&'static str>,
}

fn topics() -> Vec<Topic> {
    let files = [include_str!("topics/objects.py"), include_str!("topics/process.py")];
    let topics: Vec<Topic> = files
        .iter()
        .flat_map(|text| text.split("\n#: ").skip(1))
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
    /// Returns the number of programs after which every topic was used.
    pub(crate) fn until_all_topics() -> u64 {
        (topics().len() as u64).div_ceil(TOPICS)
    }

    /// Returns the program `number` of a run. Topics are used in turn; everything else is random. `cells`: number of random cells, before
    /// those that check each topic.
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
        // Finally, all steps of each topic check its state.
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

/// Replaces the placeholders of a topic's part by a prefix and a random number.
fn filled(part: &str, index: usize, random: &mut Random) -> String {
    let number = 2 + random.below(96);
    part.replace("V_", &format!("v{index}_")).replace("N_", &number.to_string())
}
