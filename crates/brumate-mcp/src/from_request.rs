//! What parameters of handlers take from the request.

use crate::auth::Access;
use crate::context::{ClientInfo, Context, State};
use crate::error::Error;
use crate::http::Principal;

/// Takes a value from the request that a handler answers, for parameters that are no arguments.
///
/// Implement it for what several handlers need: the user, the tenant, a connection of a pool.
///
/// ```
/// use brumate_mcp::{Context, Error, FromRequest, Server, tool};
///
/// /// Whose request it is.
/// struct Tenant(String);
///
/// impl FromRequest for Tenant {
///     async fn from_request(context: &Context) -> Result<Self, Error> {
///         let header = context.http().and_then(|head| head.headers.get("x-tenant")?.to_str().ok());
///         let tenant = header.ok_or_else(|| Error::new("the header X-Tenant is missing"))?;
///         Ok(Self(tenant.to_owned()))
///     }
/// }
///
/// #[tool]
/// async fn rows(#[from_request] tenant: Tenant, table: String) -> String {
///     format!("the rows of {table} of {}", tenant.0)
/// }
///
/// let server = Server::new("tables").tool(rows);
/// ```
///
/// `#[from_request]` marks such a parameter. [`Context`], [`State`], [`ClientInfo`], [`Principal`] and
/// [`Access`](crate::auth::Access) need no mark. See
/// [`macro@tool`](macro@crate::tool#parameters-that-are-no-arguments).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be taken from a request",
    label = "this parameter is to be taken from the request",
    note = "implement `brumate_mcp::FromRequest` for `{Self}`",
    note = "if it is an argument whose type has the name of one of the crate's, put `#[arg]` before it"
)]
pub trait FromRequest: Sized {
    /// Takes the value. In an `impl` this may be an `async fn`.
    ///
    /// # Errors
    ///
    /// Why there is none. The handler does not run then, and the client is told as if the handler had failed with it.
    fn from_request(context: &Context) -> impl Future<Output = Result<Self, Error>> + Send;
}

/// The request itself.
impl FromRequest for Context {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        Ok(context.clone())
    }
}

/// State of the server; fails if there is none of this type.
impl<T: Send + Sync + 'static> FromRequest for State<T> {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        context.state()
    }
}

/// The client's name for itself; fails if it says none.
impl FromRequest for ClientInfo {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        context.client().ok_or_else(|| Error::new("this needs a client that says what it is"))
    }
}

/// The client's name for itself, if it says one.
impl FromRequest for Option<ClientInfo> {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        Ok(context.client())
    }
}

/// The principal of the request; fails if nobody knows one.
impl FromRequest for Principal {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        context.principal().cloned().ok_or_else(|| Error::new("this needs a request with credentials"))
    }
}

/// The principal of the request, if anybody knows one.
impl FromRequest for Option<Principal> {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        Ok(context.principal().cloned())
    }
}

/// What the client's access token grants; fails if there is none.
impl FromRequest for Access {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        context.access().cloned().ok_or_else(|| Error::new("this needs a request with an access token"))
    }
}

/// What the client's access token grants, if there is one.
impl FromRequest for Option<Access> {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        Ok(context.access().cloned())
    }
}
