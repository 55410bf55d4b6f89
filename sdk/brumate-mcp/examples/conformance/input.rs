//! Tools that request input from the client: its user, its model, its roots.

use brumate_mcp::{Content, Context, Elicitation, ElicitationResult, Error, Sampling, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Asks the client's model.
#[tool]
pub(crate) async fn test_sampling(prompt: String, context: Context) -> Result<Content, Error> {
    let sampled = context.sample(Sampling::new(prompt).max_tokens(100)).await?;
    Ok(Content::text(format!("LLM response: {}", sampled.text())))
}

/// Who somebody is.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Person {
    /// User's response
    username: String,
    /// User's email address
    email: String,
}

pub(crate) fn told<T: Serialize>(answer: ElicitationResult<T>) -> String {
    match answer {
        ElicitationResult::Accepted(content) => {
            format!("action=accept, content={}", serde_json::to_string(&content).unwrap_or_default())
        }
        ElicitationResult::Declined => "action=decline, content={}".to_owned(),
        ElicitationResult::Cancelled => "action=cancel, content={}".to_owned(),
    }
}

/// Asks the client's user.
#[tool]
pub(crate) async fn test_elicitation(message: String, context: Context) -> Result<Content, Error> {
    let answer = context.elicit(Elicitation::<Person>::form(message)).await?;
    Ok(Content::text(format!("User response: {}", told(answer))))
}

#[derive(Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "lowercase")]
enum Status {
    #[default]
    Active,
    Inactive,
    Pending,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Defaults {
    name: String,
    age: i32,
    score: f64,
    status: Status,
    verified: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { name: "John Doe".to_owned(), age: 30, score: 95.5, status: Status::Active, verified: true }
    }
}

/// Asks with defaults.
#[tool]
pub(crate) async fn test_elicitation_sep1034_defaults(context: Context) -> Result<Content, Error> {
    let answer = context.elicit(Elicitation::<Defaults>::form("Please confirm")).await?;
    Ok(Content::text(format!("Elicitation completed: {}", told(answer))))
}

/// Asks with all kinds of choices.
#[tool]
pub(crate) async fn test_elicitation_sep1330_enums(context: Context) -> Result<Content, Error> {
    let titled = |titles: [(&str, &str); 3]| titles.map(|(value, title)| json!({"const": value, "title": title}));
    let choices = titled([("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice")]);
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": titled([
                ("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option"),
            ])},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
            "titledMulti": {"type": "array", "items": {"anyOf": choices}},
        },
        "required": [],
    });
    let answer = context.elicit(Elicitation::schema("Please choose", schema)).await?;
    Ok(Content::text(format!("Elicitation completed: {}", told(answer))))
}

/// Needs the client's model.
#[tool]
pub(crate) async fn test_missing_capability(context: Context) -> Result<Content, Error> {
    let sampled = context.sample(Sampling::new("Anything")).await?;
    Ok(Content::text(sampled.text()))
}

#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    ok: bool,
}

/// Reports progress, then asks.
#[tool]
pub(crate) async fn test_streaming_elicitation(context: Context) -> Result<Content, Error> {
    context.progress(1.0, Some(2.0)).await;
    let answer = context.elicit(Elicitation::<Confirmation>::form("Go on?")).await?;
    Ok(Content::text(format!("{:?}", answer.accepted().map(|confirmation| confirmation.ok))))
}

/// The name of a person.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Name {
    pub(crate) name: String,
}

pub(crate) fn ask_name() -> Elicitation<Name> {
    Elicitation::form("What is your name?").key("user_name")
}

/// Asks for a name.
#[tool]
pub(crate) async fn test_input_required_result_elicitation(context: Context) -> Result<Content, Error> {
    let name = context.elicit(ask_name()).await?.accepted();
    Ok(Content::text(format!("Hello, {}!", name.map_or("stranger".to_owned(), |name| name.name))))
}

/// Asks the model.
#[tool]
pub(crate) async fn test_input_required_result_sampling(context: Context) -> Result<Content, Error> {
    let question = Sampling::new("What is the capital of France?").max_tokens(100).key("capital_question");
    Ok(Content::text(context.sample(question).await?.text()))
}

/// Asks for roots.
#[tool]
pub(crate) async fn test_input_required_result_list_roots(context: Context) -> Result<Content, Error> {
    let roots = context.roots_as(Some("client_roots")).await?;
    Ok(Content::text(roots.iter().map(|root| root.uri.clone()).collect::<Vec<_>>().join(", ")))
}

/// Asks, and knows later that it did.
#[tool]
pub(crate) async fn test_input_required_result_request_state(context: Context) -> Result<Content, Error> {
    let state: String = context.once("state", async { Ok("state-ok".to_owned()) }).await?;
    context.elicit(Elicitation::<Confirmation>::form("Please confirm").key("confirm")).await?;
    Ok(Content::text(state))
}

/// Asks three things at once.
#[tool]
pub(crate) async fn test_input_required_result_multiple_inputs(context: Context) -> Result<Content, Error> {
    let greeting = Sampling::new("Generate a greeting").max_tokens(50).key("greeting");
    let (name, greeting, roots) =
        tokio::join!(context.elicit(ask_name()), context.sample(greeting), context.roots_as(Some("client_roots")),);
    let name = name?.accepted().map(|name| name.name).unwrap_or_default();
    Ok(Content::text(format!("{} {name}, {} roots", greeting?.text(), roots?.len())))
}

/// Asks twice.
#[tool]
pub(crate) async fn test_input_required_result_multi_round(context: Context) -> Result<Content, Error> {
    #[derive(Deserialize, JsonSchema)]
    struct Colour {
        color: String,
    }
    let name = context.elicit(Elicitation::<Name>::form("Step 1: What is your name?").key("step1")).await?;
    let colour = Elicitation::<Colour>::form("Step 2: What is your favorite color?").key("step2");
    let colour = context.elicit(colour).await?;
    let (name, colour) = (name.accepted().map(|n| n.name), colour.accepted().map(|c| c.color));
    Ok(Content::text(format!("{name:?} likes {colour:?}")))
}

/// Asks with state nobody may change.
#[tool]
pub(crate) async fn test_input_required_result_tampered_state(context: Context) -> Result<Content, Error> {
    context.elicit(Elicitation::<Confirmation>::form("Please confirm").key("confirm")).await?;
    Ok(Content::text("untouched"))
}

/// Asks what the client can be asked.
#[tool]
pub(crate) async fn test_input_required_result_capabilities(context: Context) -> Result<Content, Error> {
    if context.can_sample() {
        context.sample(Sampling::new("Say something").key("sampled")).await?;
    }
    if context.can_elicit() {
        context.elicit(ask_name()).await?;
    }
    Ok(Content::text("asked"))
}
