//! The attribute macros of `brumate-mcp`, which exports and documents them.
//!
//! Each turns a plain function into a value of the same name, which a server takes and which can still be called. The
//! function's documentation becomes the description, and its parameters become the arguments. `#[tools]` does so with
//! the methods of an `impl`, and `#[server]` with all functions of a module.

mod common_settings;
mod completion;
mod function;
mod item_kind;
mod parameter;
mod prompt;
mod resource;
mod server;
#[cfg(test)]
mod tests;
mod tool;
mod tools;

use item_kind::ItemKind;
use proc_macro::TokenStream;

/// Returns the expansion, or the compiler's message.
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
///     /// The number to add; 1 by default.
///     #[arg(default = 1)]
///     b: i64,
/// ) -> i64 {
///     a + b
/// }
///
/// let server = Server::new("sums").tool(add);
/// ```
///
/// Parameters are arguments. Their types are `Deserialize` and `JsonSchema`; an `Option` is optional. Functions that
/// are not `async` run on threads for blocking work. The type of the result has `IntoToolResult`, or is `Serialize` and
/// `JsonSchema`, or is a `Result` of such a type.
///
/// # Parameters that are no arguments
///
/// A parameter with the attribute `#[from_request]` is taken from the request. Its type implements `FromRequest`. The
/// crate's own types need no attribute, because the macro knows their names: `Context`, `State<…>`, and `ClientInfo`,
/// `Principal`, `Access`, these three also as `Option<…>`.
///
/// If another type has one of these names, `#[arg]` makes the parameter an argument. A `State` without `<…>` and a
/// `Context` with `<…>` are arguments without it.
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
/// | of the tool | sets |
/// |---|---|
/// | `name = "…"`, `title = "…"`, `description = "…"`, `icon = "…"` | name, name that people see, description, icon |
/// | `read_only`, `destructive`, `idempotent`, `open_world` (alone or `= false`) | hints |
/// | `tasks = "optional"` or `"required"`, `detaches` | calls that become tasks |
/// | `scopes = "files:read files:write"` | the scopes that a client's access token must have over HTTP |
///
/// | of an argument, in `#[arg(…)]` | sets |
/// |---|---|
/// | `default` or `default = …` | the value of a missing argument |
/// | `name = "…"`, `description = "…"` | name and description |
/// | `header = "…"` | the HTTP header `Mcp-Param-…` that repeats the argument |
///
/// The value's method `tool()` returns the `Tool`, for everything else.
///
/// The value is a unit struct: no variable or parameter where it is visible can have its name.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    finish(ItemKind::Tool.expand(attribute.into(), item.into()))
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
/// /// The profile of a user.
/// #[resource("users://{id}/profile{?fields}")]
/// async fn profile(id: u64, fields: Option<String>) -> String {
///     format!("User {id}, {fields:?}")
/// }
///
/// let server = Server::new("users").resource(config).resource(profile);
/// ```
///
/// Parameters are the template's variables. Their types are `FromStr`; variables of a query are `Option`s or have an
/// `#[arg(default = …)]`. Parameters [from the request](macro@tool#parameters-that-are-no-arguments) are as for tools.
/// There is no resource at a URI whose variables do not parse.
///
/// Settings: `name = "…"` (the function's name by default), `title = "…"`, `description = "…"`, `mime_type = "…"`,
/// `icon = "…"`. The value's method `resource()` returns the `Resource`.
#[proc_macro_attribute]
pub fn resource(attribute: TokenStream, item: TokenStream) -> TokenStream {
    finish(ItemKind::Resource.expand(attribute.into(), item.into()))
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
/// Parameters are arguments. Their types are `FromStr`; an `Option` and an `#[arg(default = …)]` are optional.
/// Parameters [from the request](macro@tool#parameters-that-are-no-arguments) are as for tools. The result is a text, a
/// `Message`, several of them, or a `Result` of these.
///
/// Settings: `name = "…"`, `title = "…"`, `description = "…"`, `icon = "…"`. The value's method `prompt()` returns the
/// `Prompt`.
#[proc_macro_attribute]
pub fn prompt(attribute: TokenStream, item: TokenStream) -> TokenStream {
    finish(ItemKind::Prompt.expand(attribute.into(), item.into()))
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
/// The first parameter is the text that was typed so far. A second one, a `BTreeMap<String, String>`, has the arguments
/// that are already known. `template = "…"` instead of `prompt` names a template. Parameters [from the
/// request](macro@tool#parameters-that-are-no-arguments) are as for tools.
#[proc_macro_attribute]
pub fn completion(attribute: TokenStream, item: TokenStream) -> TokenStream {
    finish(ItemKind::Completion.expand(attribute.into(), item.into()))
}

/// Makes a service of a type: methods of this `impl` become tools, resources, prompts and completions that share one
/// value.
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
/// Methods with one of the attributes `#[tool]`, `#[resource(…)]`, `#[prompt]`, `#[completion(…)]` are offered, with
/// the settings that these attributes have for functions. Other methods are left alone. Offered methods take `&self` or
/// no receiver, and can be called as before.
///
/// The macro implements `Service`, which `Server::service` takes. So a type has one such `impl`, and must be `Send +
/// Sync + 'static`.
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

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
