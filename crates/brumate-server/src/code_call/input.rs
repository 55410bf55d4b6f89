//! Input for running code (`input()`, `getpass()`) from the person at the client, by MCP's elicitation.

use std::time::Duration;

use brumate_mcp::{Context, Elicitation, ElicitationResult, Error, InputError};
use brumate_session::units::format_duration;
use brumate_session::{InputReply, InputRequest};
use brumate_setting::Setting;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::OutputSender;

/// Name of the one input request of a call, in `inputRequests` and `inputResponses`.
const KEY: &str = "input";
/// Name of the form's field.
const FIELD: &str = "value";
/// Longest prompt that is shown to a person, in characters.
const MAX_SHOWN: usize = 2000;
/// Longest error of a client that the code's output repeats, in characters.
const MAX_REASON: usize = 200;

/// Answers the input requests of a run, one after the other. Each waits for at most `timeout`.
pub(super) async fn answer(
    mut asked: mpsc::Receiver<InputRequest>,
    context: &Context,
    timeout: Duration,
    output: &OutputSender<'_>,
) {
    while let Some(question) = asked.recv().await {
        let (message, schema) = form(&question);
        // Some clients leave out an empty field, and send numbers.
        let form = Elicitation::schema(message, schema).key(KEY).unchecked().timeout(timeout);
        let mut code_waits = question.reply;
        // Since 2026-07-28 a question is the answer to the request, and its answer comes with another one.
        let changes_request = context.is_stateless_protocol() && !context.is_task();
        let ask = async {
            if changes_request {
                output.flush().await;
            }
            context.elicit(form).await
        };
        let reply = tokio::select! {
            answer = ask => reply(answer, timeout),
            () = code_waits.closed() => InputReply::End,
        };
        // The code may have stopped waiting.
        let _ = code_waits.send(reply);
    }
}

/// Returns the message and the schema of an input request's form. The message first says that code asks: the code
/// chooses the prompt, and could pretend to be somebody else.
fn form(question: &InputRequest) -> (String, Value) {
    let prompt: String = question.prompt.trim().chars().take(MAX_SHOWN).collect();
    let asks = if question.password { "Python code asks for a password" } else { "Python code asks for input" };
    let message = if prompt.is_empty() { format!("{asks}.") } else { format!("{asks}: {prompt}") };
    let (title, description) = if question.password {
        let description = "A password for the code that is running in the sandbox. It goes to that code, and to no log or \
                           output of the server; the form may show what is typed.";
        ("Password", description)
    } else {
        ("Input", "One line for the code that is running in the sandbox")
    };
    let field = json!({"type": "string", "title": title, "description": description});
    (message, json!({"type": "object", "properties": {FIELD: field}, "required": [FIELD]}))
}

/// Returns the reply for the code. A declined form means the end of the input; a dismissed form stops the code.
fn reply(answer: Result<ElicitationResult<Value>, Error>, timeout: Duration) -> InputReply {
    let error = match answer {
        Ok(ElicitationResult::Accepted(content)) => {
            return match content.get(FIELD) {
                Some(Value::String(line)) => InputReply::Line(line.clone()),
                None | Some(Value::Null) => InputReply::Line(String::new()),
                Some(other) => InputReply::Line(other.to_string()),
            };
        }
        Ok(ElicitationResult::Declined) => return InputReply::End,
        Ok(ElicitationResult::Cancelled) => return InputReply::Stop("[the question was dismissed]\n".to_owned()),
        Err(error) => error,
    };
    let reason = match error.input_error() {
        Some(InputError::TimedOut(_)) => {
            let time = format_duration(timeout);
            return InputReply::Stop(format!("[nobody answered within {time} (set by {})]\n", Setting::InputTimeout));
        }
        Some(error @ InputError::TooManyCalls) => return InputReply::Stop(format!("[{error}]\n")),
        // The error does not repeat the answer: it may contain a password.
        Some(InputError::Malformed(_)) => "it gave another answer".to_owned(),
        Some(InputError::Refused { code, message }) => format!("Mcp error: {code}: {message}"),
        Some(InputError::Unreachable(reason) | InputError::TaskEnds(reason)) => reason.clone(),
        _ => error.to_string(),
    };
    let reason: String = reason.chars().take(MAX_REASON).collect();
    InputReply::Stop(format!("[the client could not ask: {reason}]\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(prompt: &str, password: bool) -> (String, Value) {
        let (questions, mut asked) = brumate_session::input_requests();
        let (sender, _receiver) = tokio::sync::oneshot::channel();
        questions.try_send(InputRequest::new(prompt, password, sender)).unwrap();
        form(&asked.try_recv().unwrap())
    }

    #[test]
    fn a_question_is_a_form() {
        let (message, schema) = shown(" name? ", false);
        assert_eq!(message, "Python code asks for input: name?");
        assert_eq!(schema["required"], json!(["value"]));
        assert_eq!(schema["properties"]["value"]["type"], "string");
        let (message, schema) = shown("", true);
        assert_eq!(message, "Python code asks for a password.");
        assert!(schema["properties"]["value"]["description"].as_str().unwrap().contains("password"));
        assert!(shown(&"x".repeat(100_000), false).0.len() < 3000);
    }

    #[test]
    fn answers_are_lines_or_none() {
        let reply = |answer| reply(answer, Duration::from_secs(1));
        for (content, line) in [
            (json!({"value": "a"}), "a"),
            (json!({"value": ""}), ""),
            (json!({}), ""),
            (json!({"value": 3}), "3"),
            (json!(null), ""),
        ] {
            assert!(reply(Ok(ElicitationResult::Accepted(content))) == InputReply::Line(line.to_owned()));
        }
        assert!(reply(Ok(ElicitationResult::Declined)) == InputReply::End);
        assert!(matches!(reply(Ok(ElicitationResult::Cancelled)), InputReply::Stop(_)));
        assert!(
            matches!(reply(Err(Error::new("gone"))), InputReply::Stop(text) if text.contains("could not ask: gone"))
        );
        assert_eq!(format!("{:?}", InputReply::Line("secret".to_owned())), "Line(..)");
    }
}
