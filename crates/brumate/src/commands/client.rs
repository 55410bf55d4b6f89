//! `brumate client`: uses the tools, resources and prompts of an MCP server from the command line.

mod authorization;

use std::io::Write as _;
use std::time::Duration;

use authorization::{ConsentSignal, TokenSource, WithTokenSource};
use brumate_mcp::client::{CallToolResult, ClientBuilder, ClientError, GetPromptResult, Target};
use brumate_mcp::{Client, Content, ResourceContents};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{print, print_error, visible};
use crate::cli::{ClientAction, ClientArgs, ServerOptions};
use crate::exit_status;

/// Longest description in a list, in characters.
const DESCRIPTION_WIDTH: usize = 100;

/// Time for a person to authorize the client, in addition to the server's time.
const CONSENT_TIMEOUT: Duration = Duration::from_secs(300);

/// Largest width of the column of names, in characters.
const NAME_WIDTH: usize = 32;

pub(crate) async fn run(arguments: &ClientArgs) -> anyhow::Result<u8> {
    let server = match &arguments.action {
        ClientAction::List { server }
        | ClientAction::Call { server, .. }
        | ClientAction::Read { server, .. }
        | ClientAction::Prompt { server, .. } => server,
        ClientAction::Logout { url } => return log_out(url).await,
    };
    let work = async {
        let client = connect(server).await?;
        let result = perform(&client, &arguments.action).await;
        client.close().await;
        result
    };
    match work.await {
        Ok(status) => Ok(status),
        Err(ActionError::Output(error)) => Err(error.into()),
        Err(ActionError::Server(error)) => {
            print_error(&format!("brumate: {}", visible(&error.to_string())));
            if let Some(advice) = authorization::advice(&error) {
                print_error(advice);
            }
            Ok(exit_status::FAILURE)
        }
        Err(ActionError::Usage(reason)) => {
            print_error(&format!("brumate: {reason}"));
            Ok(exit_status::USAGE)
        }
    }
}

async fn log_out(url: &str) -> anyhow::Result<u8> {
    match authorization::log_out(url).await {
        Ok(true) => print_error(&format!(
            "brumate: the stored tokens for {url} are deleted; they stay valid at the authorization server"
        )),
        Ok(false) => print_error(&format!("brumate: there are no stored tokens for {url}")),
        Err(reason) => {
            print_error(&format!("brumate: {reason}"));
            return Ok(exit_status::FAILURE);
        }
    }
    Ok(exit_status::SUCCESS)
}

/// The reason why an action failed.
enum ActionError {
    Server(ClientError),
    Output(std::io::Error),
    Usage(String),
}

impl From<ClientError> for ActionError {
    fn from(error: ClientError) -> Self {
        Self::Server(error)
    }
}

impl From<std::io::Error> for ActionError {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}

async fn connect(server: &ServerOptions) -> Result<Client, ActionError> {
    let token_source = || {
        let variable = |name: &str| std::env::var(name).ok();
        TokenSource::choose(&server.authorization, &server.headers, variable).map_err(ActionError::Usage)
    };
    if let Some(url) = &server.url {
        let (client, consent) = Client::http(url).headers(server.headers.clone()).with_token_source(token_source()?);
        return finish(client, server, consent).await;
    }
    if let Some(url) = &server.sse {
        let (client, consent) = Client::sse(url).headers(server.headers.clone()).with_token_source(token_source()?);
        return finish(client, server, consent).await;
    }
    let (program, arguments) = server.command.split_first().map_or(("", &[][..]), |(program, rest)| (program, rest));
    finish(Client::stdio(program, arguments).envs(server.env.clone()), server, None).await
}

/// Connects. The time limit is that of the server; when a person is asked for consent, [`CONSENT_TIMEOUT`] is added.
async fn finish<T: Target>(
    client: ClientBuilder<T>,
    server: &ServerOptions,
    consent: Option<ConsentSignal>,
) -> Result<Client, ActionError> {
    let client = client.name("brumate", env!("CARGO_PKG_VERSION")).timeout(server.wait);
    let Some(consent) = consent else { return Ok(client.connect_timeout(server.wait).connect().await?) };
    let timed_out = async {
        if tokio::time::timeout(server.wait, consent.notified()).await.is_ok() {
            std::future::pending::<()>().await;
        }
    };
    let longest = server.wait.saturating_add(CONSENT_TIMEOUT);
    tokio::select! {
        client = client.connect_timeout(longest).connect() => Ok(client?),
        () = timed_out => Err(ClientError::Timeout(server.wait).into()),
    }
}

async fn perform(client: &Client, action: &ClientAction) -> Result<u8, ActionError> {
    match action {
        ClientAction::Logout { .. } => Ok(exit_status::SUCCESS),
        ClientAction::List { server } => list(client, server.json).await,
        ClientAction::Call { tool, arguments, server } => {
            let call = arguments.iter().fold(client.call(tool), |call, (name, text)| call.arg(name, value(text)));
            let result = call.await?;
            show_result(&result, server.json)?;
            Ok(if result.is_error { exit_status::FAILURE } else { exit_status::SUCCESS })
        }
        ClientAction::Read { uri, server } => {
            let contents = client.read(uri).await?;
            show_contents(&contents, server.json)?;
            Ok(exit_status::SUCCESS)
        }
        ClientAction::Prompt { name, arguments, server } => {
            let call = arguments.iter().fold(client.prompt(name), |call, (name, value)| call.arg(name, value));
            show_prompt(&call.await?, server.json)?;
            Ok(exit_status::SUCCESS)
        }
    }
}

/// Returns the value of an argument: JSON as it is written, else a string.
fn value(text: &str) -> Box<RawValue> {
    let string = || Value::from(text).to_string();
    RawValue::from_string(text.trim_ascii().to_owned())
        .or_else(|_| RawValue::from_string(string()))
        .unwrap_or_else(|_| RawValue::NULL.to_owned())
}

async fn list(client: &Client, as_json: bool) -> Result<u8, ActionError> {
    let has = |capability: &str| client.capabilities().contains_key(capability);
    let tools = if has("tools") { client.tools().await? } else { Vec::new() };
    let (resources, templates) = match has("resources") {
        true => (client.resources().await?, client.templates().await?),
        false => (Vec::new(), Vec::new()),
    };
    let prompts = if has("prompts") { client.prompts().await? } else { Vec::new() };
    if as_json {
        let all = json!({
            "serverInfo": client.server_info(),
            "protocolVersion": client.protocol_version(),
            "instructions": client.instructions(),
            "capabilities": client.capabilities(),
            "tools": tools,
            "resources": resources,
            "resourceTemplates": templates,
            "prompts": prompts,
        });
        print(&format!("{all:#}"))?;
        return Ok(exit_status::SUCCESS);
    }
    let info = client.server_info();
    print(&one_line(&format!("{} {} ({})", info.display_name(), info.version, client.protocol_version())))?;
    let tools = tools.into_iter().map(|tool| (signature(&tool.name, &tool.input_schema), tool.description));
    let resources = resources.into_iter().map(|resource| (resource.uri, resource.description.or(Some(resource.name))));
    let templates =
        templates.into_iter().map(|template| (template.uri_template, template.description.or(Some(template.name))));
    let prompts = prompts.into_iter().map(|prompt| {
        let arguments: Vec<String> =
            prompt.arguments.iter().map(|argument| optional(&argument.name, argument.required)).collect();
        (format!("{}({})", prompt.name, arguments.join(", ")), prompt.description)
    });
    section("Tools", tools)?;
    section("Resources", resources.chain(templates))?;
    section("Prompts", prompts)?;
    Ok(exit_status::SUCCESS)
}

/// Prints a section: names with the first lines of their descriptions. Prints nothing without names.
fn section(title: &str, rows: impl Iterator<Item = (String, Option<String>)>) -> std::io::Result<()> {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    print(&format!("\n{title}"))?;
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default().min(NAME_WIDTH);
    for (name, description) in rows {
        let first = description.as_deref().and_then(|text| text.lines().find(|line| !line.trim().is_empty()));
        let shown: String = first.unwrap_or_default().trim().chars().take(DESCRIPTION_WIDTH).collect();
        let (name, shown) = (one_line(&name), one_line(&shown));
        print(format!("  {name:width$}  {shown}").trim_end())?;
    }
    Ok(())
}

/// Returns a server's text for one line of a terminal.
fn one_line(text: &str) -> String {
    visible(&text.replace(['\n', '\t'], " "))
}

/// Returns a tool as a function: its name and its arguments, optional ones in brackets.
fn signature(name: &str, schema: &Map<String, Value>) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |field: &str| required.is_some_and(|required| required.iter().any(|name| name == field));
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields: Vec<String> =
        fields.into_iter().flatten().map(|(field, _)| optional(field, is_required(field))).collect();
    format!("{name}({})", fields.join(", "))
}

fn optional(name: &str, required: bool) -> String {
    if required { name.to_owned() } else { format!("[{name}]") }
}

fn show_result(result: &CallToolResult, as_json: bool) -> Result<(), ActionError> {
    if as_json {
        print(&result.to_json_text())?;
    } else if result.is_error {
        print_error(&visible(&result.text()));
    } else {
        for block in &result.content {
            print(&display_text(block))?;
        }
    }
    Ok(())
}

/// Returns a content block as text. Binary content is shown by type and size.
fn display_text(block: &Content) -> String {
    if let Some(text) = block.as_text() {
        text.to_owned()
    } else if let Some(image) = block.as_image() {
        format!("[{}, {} bytes]", image.mime_type, image.data.len())
    } else if let Some(audio) = block.as_audio() {
        format!("[{}, {} bytes]", audio.mime_type, audio.data.len())
    } else if let Some(resource) = block.as_resource() {
        resource
            .as_text()
            .map_or_else(|| format!("[{}, {} bytes]", resource.uri(), resource.as_bytes().len()), str::to_owned)
    } else if let Some(uri) = block.as_link() {
        format!("[{uri}]")
    } else {
        "[content of an unknown type]".to_owned()
    }
}

fn show_contents(contents: &[ResourceContents], as_json: bool) -> Result<(), ActionError> {
    if as_json {
        let all: Vec<Value> = contents.iter().map(ResourceContents::to_json).collect();
        print(&format!("{:#}", json!({"contents": all})))?;
        return Ok(());
    }
    let mut output = std::io::stdout().lock();
    for part in contents {
        output.write_all(part.as_bytes())?;
    }
    Ok(output.flush()?)
}

fn show_prompt(prompt: &GetPromptResult, as_json: bool) -> Result<(), ActionError> {
    if as_json {
        print(&format!("{:#}", prompt.to_json()))?;
        return Ok(());
    }
    for message in &prompt.messages {
        print(&format!("{:?}: {}", message.role, display_text(&message.content)))?;
    }
    Ok(())
}
