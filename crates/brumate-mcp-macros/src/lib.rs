//! The attribute macros of `brumate-mcp`, which exports and documents them.
//!
//! Each turns a plain function into a value of the same name that can still be called and that a server takes:
//! the function's documentation becomes the description, its parameters the arguments.

mod completion;
mod function;
mod prompt;
mod resource;
mod tool;

use proc_macro::TokenStream;

/// Makes a tool of a function.
///
/// ```
/// use brumate_mcp::{Server, tool};
///
/// /// Adds two numbers.
/// #[tool]
/// async fn add(
///     a: i64,
///     /// What is added; one if nothing is said.
///     #[arg(default = 1)]
///     b: i64,
/// ) -> i64 {
///     a + b
/// }
///
/// let server = Server::new("sums").tool(add);
/// ```
///
/// Parameters are arguments: of any type that is `Deserialize` and `JsonSchema`, optional if an `Option`. Two kinds of
/// parameters are none: `Context`, and `State<T>`. Functions that are not `async` run on threads of their own.
/// The result is whatever `IntoToolResult` is implemented for, or is `Serialize` and `JsonSchema`, or a `Result` of
/// that.
///
/// Of the tool: `name = "…"`, `title = "…"`, `description = "…"`, `icon = "…"`, and the hints `read_only`,
/// `destructive`, `idempotent`, `open_world` (alone or `= false`); `tasks = "optional"` or `"required"` and `detaches`, for
/// calls that become tasks; `scopes = "files:read files:write"`, which a client's access token must have over HTTP. Of an argument, in `#[arg(…)]`: `default` or
/// `default = …`, `name = "…"`, `description = "…"`, `header = "…"` (the HTTP header `Mcp-Param-…` that repeats it).
/// The value's method `tool()` gives the `Tool`, for what the attribute does not say.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    tool::expand(attribute, item)
}

/// Makes a resource, or a template of resources, of a function.
///
/// ```
/// use brumate_mcp::{Server, resource};
///
/// /// The configuration.
/// #[resource("config://app", mime_type = "application/toml")]
/// async fn config() -> &'static str {
///     "answer = 42"
/// }
///
/// /// What is known of a user.
/// #[resource("users://{id}/profile{?fields}")]
/// async fn profile(id: u64, fields: Option<String>) -> String {
///     format!("User {id}, {fields:?}")
/// }
///
/// let server = Server::new("users").resource(config).resource(profile);
/// ```
///
/// Parameters are the template's variables, of types that are `FromStr`; those of a query are `Option`s or have an
/// `#[arg(default = …)]`. `Context` and `State<T>` are passed as to tools. An address whose variables do not parse is
/// that of no resource. Of the resource: `name = "…"` (the function's otherwise), `title = "…"`, `description = "…"`,
/// `mime_type = "…"`, `icon = "…"`. The value's method `resource()` gives the `Resource`.
#[proc_macro_attribute]
pub fn resource(attribute: TokenStream, item: TokenStream) -> TokenStream {
    resource::expand(attribute, item)
}

/// Makes a prompt of a function.
///
/// ```
/// use brumate_mcp::{Message, Server, prompt};
///
/// /// Asks for a review.
/// #[prompt(title = "Review")]
/// async fn review(code: String, language: Option<String>) -> Vec<Message> {
///     vec![
///         Message::user(format!("Please review this {}:", language.unwrap_or_default())),
///         Message::user(code),
///     ]
/// }
///
/// let server = Server::new("reviews").prompt(review);
/// ```
///
/// Parameters are arguments, of types that are `FromStr`, optional if an `Option` or with an `#[arg(default = …)]`.
/// `Context` and `State<T>` are passed as to tools. The result is a text, a `Message`, several, or a `Result` of that.
/// Of the prompt: `name = "…"`, `title = "…"`, `description = "…"`, `icon = "…"`. The value's method `prompt()` gives the
/// `Prompt`.
#[proc_macro_attribute]
pub fn prompt(attribute: TokenStream, item: TokenStream) -> TokenStream {
    prompt::expand(attribute, item)
}

/// Makes a function suggest values for a prompt's argument or a template's variable.
///
/// ```
/// use brumate_mcp::{Server, completion};
///
/// #[completion(prompt = "review", argument = "language")]
/// async fn languages(typed: String) -> Vec<&'static str> {
///     ["python", "rust"].into_iter().filter(|language| language.starts_with(&typed)).collect()
/// }
///
/// let server = Server::new("reviews").completion(languages);
/// ```
///
/// The first parameter is what has been typed; a second one, a `BTreeMap<String, String>`, the arguments that are already
/// known. `template = "…"` in the place of `prompt` names a template. `Context` and `State<T>` are passed as to tools.
#[proc_macro_attribute]
pub fn completion(attribute: TokenStream, item: TokenStream) -> TokenStream {
    completion::expand(attribute, item)
}
