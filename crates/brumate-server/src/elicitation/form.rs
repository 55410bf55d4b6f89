//! An input request as a form with one field, and the reply that an answer means.

use brumate_session::{InputReply, InputRequest};
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, PrimitiveSchemaDefinition, StringSchema,
};
use serde_json::Value;

/// Name of the form's field.
const FIELD: &str = "value";
/// Longest prompt that is shown to a person, in characters.
const MAX_SHOWN: usize = 2000;

/// Returns the form of an input request. The message begins with who asks: the code chooses the prompt, and could pretend to be
/// somebody else.
pub(crate) fn form(question: &InputRequest) -> ElicitRequestParams {
    let prompt: String = question.prompt.trim().chars().take(MAX_SHOWN).collect();
    let asks = if question.password { "Python code asks for a password" } else { "Python code asks for input" };
    let message = if prompt.is_empty() { format!("{asks}.") } else { format!("{asks}: {prompt}") };
    let field = if question.password {
        StringSchema::new().title("Password").description(
            "A password for the code that is running in the sandbox. It goes to that code, and to no log or output of the \
             server; the form may show what is typed.",
        )
    } else {
        StringSchema::new().title("Input").description("One line for the code that is running in the sandbox")
    };
    let properties = [(FIELD.to_owned(), PrimitiveSchemaDefinition::String(field))].into();
    let requested_schema = ElicitationSchema::new(properties).with_required(vec![FIELD.to_owned()]);
    ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema }
}

/// Returns the reply for the code. A declined form means the end of the input; a dismissed form stops the code.
pub(crate) fn reply(result: ElicitResult) -> InputReply {
    match result.action {
        ElicitationAction::Accept => {
            let content = result.content.unwrap_or_default();
            match content.get(FIELD) {
                Some(Value::String(line)) => InputReply::Line(line.clone()),
                // Some clients leave out an empty field, and parse numbers.
                None | Some(Value::Null) => InputReply::Line(String::new()),
                Some(other) => InputReply::Line(other.to_string()),
            }
        }
        ElicitationAction::Decline => InputReply::End,
        _ => InputReply::Stop("[the question was dismissed]\n".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(prompt: &str, password: bool) -> Value {
        let (questions, mut asked) = brumate_session::input_requests();
        let (sender, _receiver) = tokio::sync::oneshot::channel();
        questions.try_send(InputRequest::new(prompt, password, sender)).unwrap();
        serde_json::to_value(form(&asked.try_recv().unwrap())).unwrap()
    }

    #[test]
    fn a_question_is_a_form() {
        let form = shown(" name? ", false);
        assert_eq!(
            (form["mode"].as_str(), form["message"].as_str()),
            (Some("form"), Some("Python code asks for input: name?"))
        );
        assert_eq!(form["requestedSchema"]["required"], json!(["value"]));
        assert_eq!(form["requestedSchema"]["properties"]["value"]["type"], "string");
        let form = shown("", true);
        assert_eq!(form["message"], "Python code asks for a password.");
        assert!(form["requestedSchema"]["properties"]["value"]["description"].as_str().unwrap().contains("password"));
        assert!(shown(&"x".repeat(100_000), false).to_string().len() < 3000);
    }

    #[test]
    fn answers_are_lines_or_none() {
        let reply = |value: Value| reply(serde_json::from_value(value).unwrap());
        for (content, line) in [
            (json!({"value": "a"}), "a"),
            (json!({"value": ""}), ""),
            (json!({}), ""),
            (json!({"value": 3}), "3"),
            (json!(null), ""),
        ] {
            assert!(reply(json!({"action": "accept", "content": content})) == InputReply::Line(line.to_owned()));
        }
        assert!(reply(json!({"action": "decline"})) == InputReply::End);
        assert!(matches!(reply(json!({"action": "cancel"})), InputReply::Stop(_)));
        assert_eq!(format!("{:?}", InputReply::Line("secret".to_owned())), "Line(..)");
    }
}
