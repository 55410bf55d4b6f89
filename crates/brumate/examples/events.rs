//! Prints the output of code while it runs, and answers `input()`.
//!
//!     cargo run --release -p brumate --example events

#![allow(clippy::print_stdout, reason = "it is a program")]

use brumate::{Event, Sandbox};

const CODE: &str = "import time
for number in range(3):
    print(number)
    time.sleep(0.1)
print('hello,', input('Who? '))";

#[tokio::main]
async fn run() -> Result<(), brumate::Error> {
    let sandbox = Sandbox::new()?;
    let code = sandbox.run(CODE).on_input(|question| (question.prompt == "Who? ").then(|| "Ada".to_owned()));
    let show = |event| {
        if let Event::Stdout(text) = event {
            print!("{text}");
        }
    };
    code.on_event(show).await?.ok()?;
    Ok(())
}

fn main() -> Result<(), brumate::Error> {
    brumate::init();
    run()
}
