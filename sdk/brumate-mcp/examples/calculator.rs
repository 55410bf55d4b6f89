//! What functions may take and return: numbers, defaults, choices, lists, structs, and errors that models can act on.

use brumate_mcp::{Context, Error, ServeError, Server, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Adds two numbers.
#[tool(read_only, idempotent)]
async fn add(
    a: i64,
    /// What is added; one if nothing is said.
    #[arg(default = 1)]
    b: i64,
) -> Result<i64, Error> {
    a.checked_add(b).ok_or_else(|| Error::new("the sum does not fit into 64 bits"))
}

/// An operation.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Calculates with two numbers.
#[tool(read_only)]
async fn calculate(left: f64, operation: Operation, right: f64) -> Result<f64, Error> {
    match operation {
        Operation::Add => Ok(left + right),
        Operation::Subtract => Ok(left - right),
        Operation::Multiply => Ok(left * right),
        Operation::Divide if right == 0.0 => Err(Error::new("division by zero: `right` must be another number")),
        Operation::Divide => Ok(left / right),
    }
}

/// What numbers have in common.
#[derive(Serialize, JsonSchema)]
struct Summary {
    /// How many there are.
    count: usize,
    /// Their arithmetic mean; none of no numbers.
    mean: Option<f64>,
}

/// Summarizes numbers.
#[tool(read_only)]
fn summarize(numbers: Vec<f64>) -> Summary {
    let count = numbers.len();
    #[allow(clippy::cast_precision_loss, reason = "a mean of so many numbers is rounded anyway")]
    let mean = (count > 0).then(|| numbers.iter().sum::<f64>() / count as f64);
    Summary { count, mean }
}

/// The divisors of a number, found in a while and with progress.
#[tool(read_only)]
fn divisors(number: u32, context: Context) -> Vec<u32> {
    let mut found = Vec::new();
    for candidate in 1..=number {
        if context.is_cancelled() {
            break;
        }
        if candidate.is_multiple_of(100_000) {
            context.blocking().progress(f64::from(candidate), Some(f64::from(number)));
        }
        if number.is_multiple_of(candidate) {
            found.push(candidate);
        }
    }
    found
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    Server::new("Calculator")
        .version(env!("CARGO_PKG_VERSION"))
        .instructions("Use `calculate` for two numbers and `summarize` for more.")
        .tool(add)
        .tool(calculate)
        .tool(summarize)
        .tool(divisors)
        .run_stdio()
        .await
}
