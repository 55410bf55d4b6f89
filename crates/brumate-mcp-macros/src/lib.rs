//! The attribute macros of `brumate-mcp`, which exports and documents them.
//!
//! Each turns a plain function into a value of the same name that can still be called and that a server takes:
//! the function's documentation becomes the description, its parameters the arguments. `#[tools]` does so with the methods of an
//! `impl`, and `#[server]` with all functions of a module.

mod common;
mod completion;
mod function;
mod offer;
mod parameter;
mod prompt;
mod resource;
mod server;
#[cfg(test)]
mod tests;
mod tool;
mod tools;

use offer::Offer;
use proc_macro::TokenStream;

/// The expansion, or the compiler's message.
fn finish(expansion: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expansion.unwrap_or_else(|error| error.to_compile_error()).into()
}

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
/// Parameters are arguments: of any type that is `Deserialize` and `JsonSchema`, optional if an `Option`. Functions that are not
/// `async` run on threads of their own. The result is whatever `IntoToolResult` is implemented for, or is `Serialize` and
/// `JsonSchema`, or a `Result` of that.
///
/// # Parameters that are no arguments
///
/// A parameter whose type implements `FromRequest` is taken from the request, not from the arguments. The attribute
/// `#[from_request]` on the parameter says so. The crate's own types need none and are known by their names: `Context`,
/// `State<…>`, and `ClientInfo`, `Principal`, `Access`, these three also as `Option<…>`.
///
/// `#[arg]` makes an argument of a parameter whose type has one of these names and is another one. A `State` without `<…>` and a
/// `Context` with them are arguments without it.
///
/// ```
/// use brumate_mcp::{Context, Error, FromRequest, tool};
///
/// struct CurrentUser(String);
///
/// impl FromRequest for CurrentUser {
///     async fn from_request(context: &Context) -> Result<Self, Error> {
///         let principal = context.principal().ok_or_else(|| Error::new("sign in first"))?;
///         Ok(Self(principal.name().to_owned()))
///     }
/// }
///
/// # use brumate_mcp::{schemars, serde};
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// # #[serde(crate = "brumate_mcp::serde")]
/// # #[schemars(crate = "brumate_mcp::schemars")]
/// enum Access {
///     Read,
///     Write,
/// }
///
/// /// Shares a file.
/// #[tool]
/// async fn share(path: String, #[arg] access: Access, #[from_request] user: CurrentUser) -> String {
///     let verb = match access {
///         Access::Read => "read",
///         Access::Write => "write",
///     };
///     format!("{} lets others {verb} {path}", user.0)
/// }
/// ```
///
/// # Settings
///
/// Of the tool: `name = "…"`, `title = "…"`, `description = "…"`, `icon = "…"`, and the hints `read_only`,
/// `destructive`, `idempotent`, `open_world` (alone or `= false`); `tasks = "optional"` or `"required"` and `detaches`, for
/// calls that become tasks; `scopes = "files:read files:write"`, which a client's access token must have over HTTP. Of an argument, in `#[arg(…)]`: `default` or
/// `default = …`, `name = "…"`, `description = "…"`, `header = "…"` (the HTTP header `Mcp-Param-…` that repeats it).
/// The value's method `tool()` gives the `Tool`, for what the attribute does not say.
///
/// The value is a unit struct, so that no variable or parameter where it is visible can have its name.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    finish(Offer::Tool.expand(attribute.into(), item.into()))
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
/// `#[arg(default = …)]`. What is [taken from the request](macro@tool#parameters-that-are-no-arguments) is passed as to tools. An
/// address whose variables do not parse is that of no resource. Of the resource: `name = "…"` (the function's otherwise), `title = "…"`, `description = "…"`,
/// `mime_type = "…"`, `icon = "…"`. The value's method `resource()` gives the `Resource`.
#[proc_macro_attribute]
pub fn resource(attribute: TokenStream, item: TokenStream) -> TokenStream {
    finish(Offer::Resource.expand(attribute.into(), item.into()))
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
/// What is [taken from the request](macro@tool#parameters-that-are-no-arguments) is passed as to tools. The result is a text, a `Message`, several, or a `Result` of that.
/// Of the prompt: `name = "…"`, `title = "…"`, `description = "…"`, `icon = "…"`. The value's method `prompt()` gives the
/// `Prompt`.
#[proc_macro_attribute]
pub fn prompt(attribute: TokenStream, item: TokenStream) -> TokenStream {
    finish(Offer::Prompt.expand(attribute.into(), item.into()))
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
/// known. `template = "…"` in the place of `prompt` names a template. What is [taken from the
/// request](macro@tool#parameters-that-are-no-arguments) is passed as to tools.
#[proc_macro_attribute]
pub fn completion(attribute: TokenStream, item: TokenStream) -> TokenStream {
    finish(Offer::Completion.expand(attribute.into(), item.into()))
}

/// Makes a service of a type: methods of this `impl` become tools, resources, prompts and completions that share one value.
///
/// ```
/// use brumate_mcp::{Server, tools};
/// use std::sync::Mutex;
///
/// #[derive(Default)]
/// struct Journal {
///     entries: Mutex<Vec<String>>,
/// }
///
/// #[tools]
/// impl Journal {
///     /// Writes an entry; returns how many there are now.
///     #[tool]
///     async fn write(&self, entry: String) -> usize {
///         let mut entries = self.entries.lock().unwrap();
///         entries.push(entry);
///         entries.len()
///     }
///
///     /// All entries.
///     #[resource("journal://entries")]
///     fn all(&self) -> String {
///         self.entries.lock().unwrap().join("\n")
///     }
///
///     fn clear(&self) {
///         self.entries.lock().unwrap().clear();
///     }
/// }
///
/// let server = Server::new("Journal").service(Journal::default());
/// ```
///
/// Methods with one of the attributes `#[tool]`, `#[resource(…)]`, `#[prompt]`, `#[completion(…)]` are offered, with all settings
/// that these have for functions; others are left alone. They take `&self` or nothing, stay methods, and are called as before.
/// The macro implements `Service`, which `Server::service` takes, so there is one such `impl` for a type; the type must be
/// `Send + Sync + 'static`.
#[proc_macro_attribute]
pub fn tools(attribute: TokenStream, item: TokenStream) -> TokenStream {
    finish(tools::expand(attribute.into(), item.into()))
}

/// Makes a service of a module: all its functions that are tools, resources, prompts or completions.
///
/// ```
/// use brumate_mcp::{Server, server};
///
/// #[server]
/// mod calculator {
///     use brumate_mcp::tool;
///
///     /// Adds two numbers.
///     #[tool]
///     async fn add(a: i64, b: i64) -> i64 {
///         a + b
///     }
///
///     /// Multiplies two numbers.
///     #[tool]
///     async fn multiply(a: i64, b: i64) -> i64 {
///         a * b
///     }
/// }
///
/// # fn main() {
/// let server = Server::new("Calculator").service(calculator);
/// # }
/// ```
///
/// The module is one with braces. Modules within it have attributes of their own.
#[proc_macro_attribute]
pub fn server(attribute: TokenStream, item: TokenStream) -> TokenStream {
    finish(server::expand(attribute.into(), item.into()))
}

/// The examples of the README are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
