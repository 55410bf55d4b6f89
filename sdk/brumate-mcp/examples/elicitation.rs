//! Questions to the person at the client: a form, and a page to visit.

use brumate_mcp::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

/// What to do about a date without a table.
#[derive(Deserialize, JsonSchema)]
struct Alternative {
    /// Would you like to check another date?
    check_alternative: bool,
    /// Alternative date
    #[serde(default = "next_day")]
    #[schemars(default = "next_day")]
    alternative_date: String,
}

fn next_day() -> String {
    "2026-12-26".to_owned()
}

/// Books a table, and asks if there is none on that date.
#[tool]
async fn book_table(date: String, party_size: u8, context: Context) -> Result<String, Error> {
    if date != "2026-12-25" {
        return Ok(format!("[SUCCESS] Booked a table for {party_size} on {date}"));
    }
    let question = Elicitation::<Alternative>::form(format!("No tables for {party_size} on {date}. Another date?"));
    Ok(match context.elicit(question).await? {
        ElicitationResult::Accepted(Alternative { check_alternative: true, alternative_date }) => {
            format!("[SUCCESS] Booked for {alternative_date}")
        }
        ElicitationResult::Accepted(_) => "[CANCELLED] No booking made".to_owned(),
        ElicitationResult::Declined | ElicitationResult::Cancelled => "[CANCELLED] Booking cancelled".to_owned(),
    })
}

/// Pays for a table. What is secret is asked for on a page of the server's, not by the client.
#[tool]
async fn pay(context: Context) -> Result<String, Error> {
    Ok(match context.elicit_url("Please pay for the table", "https://pay.example.com/table").await? {
        ElicitationResult::Accepted(()) => "The payment page is open".to_owned(),
        ElicitationResult::Declined | ElicitationResult::Cancelled => "[CANCELLED] Not paid".to_owned(),
    })
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    Server::new("Elicitation Example").tools((book_table, pay)).run_stdio().await
}
