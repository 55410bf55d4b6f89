//! Writes the stored corpus anew: `cargo run -p brumate-fuzz --example corpus`.
//!
//! Everything comes from this repository: messages and modules from the engine's own tests, wheels from the bundle, and
//! texts from `texts.rs`. Two runs write the same files.

#![allow(clippy::disallowed_methods, reason = "it reads the repository")]

#[path = "../../../crates/brumate/tests/all/support/bombs.rs"]
#[expect(dead_code, reason = "a corpus wants small doses")]
mod bombs;
mod connections;
mod damage;
#[path = "../../../crates/brumate-engine/tests/all/exceptions/generator.rs"]
mod generator;
#[path = "../../../crates/brumate-engine/tests/all/exceptions/programs.rs"]
#[expect(dead_code, reason = "the program with many functions is too large for a corpus")]
mod programs;
#[path = "../../../crates/brumate-engine/tests/all/wire_mutations/samples.rs"]
#[expect(dead_code, reason = "the lists that are too long are too large for a corpus")]
mod samples;
mod servers;
#[path = "../../../crates/brumate-engine/tests/all/exceptions/statements.rs"]
mod statements;
mod texts;
mod wheels;

use std::io;
use std::path::{Path, PathBuf};

/// Messages above this are left out, in bytes.
const LARGEST_MESSAGE: usize = 10_000;

/// An input and the name of its file.
type Input = (String, Vec<u8>);

fn main() -> io::Result<()> {
    write("authorities", connections::authorities())?;
    write("access_tokens", connections::access_tokens())?;
    write("challenges", connections::challenges())?;
    write("compile_gate", small_bombs())?;
    write("env_files", servers::env_files())?;
    write("exceptions", modules())?;
    write("http", connections::connections())?;
    write("packages", [texts::packages(), wheels::for_metadata()?].concat())?;
    write("resumption", connections::steps())?;
    write("server_frames", servers::frames())?;
    write("server_lines", servers::lines())?;
    write("wheel", wheels::whole()?)?;
    write("wheel_files", [texts::wheel_files(), wheels::texts()?].concat())?;
    write("wire", messages())
}

/// The repository's root.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Replaces the corpus of a target.
fn write(target: &str, inputs: Vec<Input>) -> io::Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    if directory.exists() {
        std::fs::remove_dir_all(&directory)?;
    }
    std::fs::create_dir_all(&directory)?;
    for (name, bytes) in inputs {
        std::fs::write(directory.join(name), bytes)?;
    }
    Ok(())
}

/// A small dose of every kind of module that is much work for a compiler, and of those that hold memory; damaged ones.
fn small_bombs() -> Vec<Input> {
    let name = |bomb: &bombs::Bomb| bomb.name.replace(' ', "-");
    // None needs more than a few kilobytes, not even a jump table inside of its blocks.
    let mut inputs: Vec<Input> = bombs::BOMBS.iter().map(|bomb| (name(bomb), (bomb.make)(3))).collect();
    inputs.extend(bombs::BOMBS.iter().map(|bomb| (name(bomb) + "-more", (bomb.make)(40))));
    inputs.push(("own-memory".to_owned(), bombs::own_memory(1)));
    inputs.push(("own-table".to_owned(), bombs::own_table(1)));
    damage::add(&mut inputs, "locals-in-loops");
    damage::add(&mut inputs, "many-imports");
    inputs
}

/// Modules with exception handling of the old form, whole and damaged.
fn modules() -> Vec<Input> {
    let mut inputs = vec![("empty".to_owned(), b"\0asm\x01\0\0\0".to_vec())];
    for seed in 0..4 {
        let module = generator::module(seed, &mut generator::Census::default());
        inputs.push((format!("generated-{seed}"), module));
    }
    let programs = [
        ("across", programs::catch_across_modules()),
        ("destructors", programs::destructors()),
        ("rethrow", programs::rethrow_outer()),
        ("jumps", programs::jumps()),
        ("nested-jumps", programs::nested_jumps()),
        ("callback", programs::callback()),
        ("uncaught", programs::uncaught()),
    ];
    inputs.push(("runtime".to_owned(), programs::runtime()));
    for (name, program) in programs {
        inputs.push((format!("library-{name}"), program.library));
        inputs.push((format!("main-{name}"), program.main));
    }
    damage::add(&mut inputs, "library-jumps");
    damage::add(&mut inputs, "generated-0");
    inputs
}

/// A payload of every kind of message that is small; a whole frame; damaged ones.
fn messages() -> Vec<Input> {
    let small = samples::all().into_iter().filter(|bytes| bytes.len() <= LARGEST_MESSAGE);
    let mut inputs: Vec<Input> =
        (0..).zip(small).map(|(number, bytes)| (format!("message-{number:02}"), bytes)).collect();
    let payload = inputs[0].1.clone();
    let header = [u32::try_from(payload.len()).expect("a small message").to_le_bytes(), [0; 4]].concat();
    inputs.push(("frame".to_owned(), [header, payload].concat()));
    inputs.push(("header-too-long".to_owned(), [0xff; 8].to_vec()));
    inputs.push(("length-too-long".to_owned(), [&[2][..], &[0xff; 9], &[1]].concat()));
    damage::add(&mut inputs, "message-02");
    inputs
}
