//! Prompts with messages, optional arguments and completion.

use brumate_mcp::{Message, ServeError, Server, completion, prompt};

/// Asks for a review of code.
#[prompt(title = "Review")]
async fn review_code(
    /// The code.
    code: String,
    /// The language it is written in.
    language: Option<String>,
) -> String {
    let language = language.unwrap_or_else(|| "this".to_owned());
    format!("Please review {language} code:\n\n{code}")
}

/// Begins to look for an error.
#[prompt]
async fn debug_error(error: String, #[arg(default = 1)] attempts: u32) -> Vec<Message> {
    vec![
        Message::user("I'm seeing this error:"),
        Message::user(error),
        Message::assistant(format!("I'll help debug that. What have you tried so far, besides those {attempts}?")),
    ]
}

/// Languages that begin with what has been typed.
#[completion(prompt = "review_code", argument = "language")]
async fn languages(typed: String) -> Vec<&'static str> {
    ["Perl", "Prolog", "Python", "Rust"].into_iter().filter(|language| language.starts_with(&typed)).collect()
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    Server::new("Prompts").prompt(review_code).prompt(debug_error).completion(languages).run_stdio().await
}
