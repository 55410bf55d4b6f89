//! A client that uses everything a server offers, whatever it is: `conformance_client [options] URL`. The conformance
//! suite runs it.
//!
//! Tools are called with arguments made from their schemas, or with those that `MCP_CONFORMANCE_CONTEXT` names
//! (`toolCalls`). Credentials come from there, too: a client that has been registered, or a program's own.

use brumate_mcp::client::{
    AuthError, ClientBuilder, ClientCredentials, ClientError, ClientRegistration, HttpTarget, OAuth, SigningAlgorithm,
    ToolInfo,
};
use brumate_mcp::{Client, ElicitationResult, Root, SamplingResult};
use serde_json::{Map, Value, json};
use std::fmt::Debug;
use std::process::ExitCode;

/// Makes a value that fits a schema, for a request to be sent at all.
fn value(schema: &Value) -> Value {
    let given = ["default", "const"].iter().find_map(|key| schema.get(*key));
    if let Some(given) = given.or_else(|| schema.get("enum")?.get(0)) {
        return given.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => Value::Object(arguments(schema)),
        Some("null") => Value::Null,
        _ => json!("text"),
    }
}

fn arguments(schema: &Value) -> Map<String, Value> {
    let fields = schema.get("properties").and_then(Value::as_object);
    fields.into_iter().flatten().map(|(name, field)| (name.clone(), value(field))).collect()
}

/// Returns the calls to make: tool and arguments.
fn calls(tools: &[ToolInfo], context: &Value) -> Vec<(String, Value)> {
    let named = context.get("toolCalls").and_then(Value::as_array);
    let named = named.map(|calls| {
        calls.iter().map(|call| (call["name"].as_str().unwrap_or_default().to_owned(), call["arguments"].clone()))
    });
    match named {
        Some(named) => named.collect(),
        None => {
            tools.iter().map(|tool| (tool.name.clone(), arguments(&tool.input_schema.clone().into()).into())).collect()
        }
    }
}

/// Prints an answer. A JSON-RPC error is an answer too: the client has not failed.
fn show<T: Debug>(what: &str, answer: Result<T, ClientError>) -> Result<(), ClientError> {
    match answer {
        Ok(answer) => eprintln!("{what}: {answer:?}"),
        Err(error @ ClientError::Protocol { .. }) => eprintln!("{what}: {error}"),
        Err(error) => return Err(error),
    }
    Ok(())
}

async fn use_everything(client: &Client, context: &Value) -> Result<(), ClientError> {
    let offers = |what: &str| client.capabilities().contains_key(what);
    if offers("tools") {
        let tools = client.tools().await?;
        for (tool, arguments) in calls(&tools, context) {
            show(&tool, client.call(&tool).args(arguments).await)?;
        }
    }
    if offers("resources") {
        for resource in client.resources().await? {
            show(&resource.uri, client.read(&resource.uri).await)?;
        }
    }
    if offers("prompts") {
        for prompt in client.prompts().await? {
            let wanted = prompt.arguments.iter().filter(|argument| argument.required);
            let call = wanted.fold(client.prompt(&prompt.name), |call, argument| call.arg(&argument.name, "text"));
            show(&prompt.name, call.await)?;
        }
    }
    Ok(())
}

/// Visits a page as a browser does, and returns the address it is redirected to.
async fn visit(page: String) -> Result<String, AuthError> {
    let failed = |error: reqwest::Error| AuthError::new(error.to_string());
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().map_err(failed)?;
    let answer = browser.get(page).send().await.map_err(failed)?;
    let target = answer.headers().get("location").and_then(|target| target.to_str().ok());
    target.map(str::to_owned).ok_or_else(|| AuthError::new(format!("the page sends nowhere: {}", answer.status())))
}

/// Gives the client the credentials that there are.
fn with_credentials(client: ClientBuilder<HttpTarget>, scenario: &str, context: &Value) -> ClientBuilder<HttpTarget> {
    let text = |key: &str| context.get(key).and_then(Value::as_str);
    let id = text("client_id").unwrap_or_default();
    if let Some(key) = text("private_key_pem") {
        return client.auth(ClientCredentials::private_key(id, key, SigningAlgorithm::Es256));
    }
    if let Some(secret) = text("client_secret").filter(|_| scenario.starts_with("auth/client-credentials")) {
        return client.auth(ClientCredentials::secret(id, secret).trust_named_issuer());
    }
    let oauth = OAuth::new("Conformance client")
        .client_metadata_url("https://conformance-test.local/client-metadata.json")
        .on_authorize("http://localhost:3000/callback", visit);
    client.auth(match text("client_secret") {
        Some(secret) => oauth.registration(ClientRegistration::secret(id, secret).trust_named_issuer()),
        None => oauth,
    })
}

#[tokio::main]
async fn main() -> ExitCode {
    let Some(url) = std::env::args().next_back() else { return ExitCode::FAILURE };
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let client = Client::http(url)
        .name("conformance-client", env!("CARGO_PKG_VERSION"))
        .on_form(|_| async { ElicitationResult::Accepted(Map::new()) })
        .on_url(|_| async { ElicitationResult::Accepted(()) })
        .on_sampling(|_| async { Ok::<_, ClientError>(SamplingResult::new("none", "text")) })
        .roots([Root::new("/")]);
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let client = with_credentials(client, &scenario, &context);
    let done = async {
        let client = client.connect().await?;
        let done = use_everything(&client, &context).await;
        client.close().await;
        done
    };
    match done.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
