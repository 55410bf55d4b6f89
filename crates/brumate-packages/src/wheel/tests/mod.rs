//! Wheels as they should be, as they should not be, and damaged ones.

pub(crate) mod builder;
mod damage;
mod hostile;
mod sound;

use super::{WheelContents, WheelError, WheelFileName, WheelProblem, verify};
use builder::{FILE_NAME, Wheel};

fn name() -> WheelFileName {
    FILE_NAME.parse().unwrap()
}

fn accept(wheel: &Wheel) -> WheelContents {
    verify(&wheel.build()[..], &name()).unwrap()
}

fn refuse(wheel: &Wheel) -> WheelError {
    let error = verify(&wheel.build()[..], &name()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(&format!("`{FILE_NAME}` is refused: ")), "{text}");
    assert!(text.ends_with('.') && text.contains(error.problem.hint()), "{text}");
    error
}

/// Returns the file that the error names, and its problem.
fn problem(wheel: &Wheel) -> (Option<String>, WheelProblem) {
    let error = refuse(wheel);
    (error.file, error.problem)
}
