//! Parameters of handlers that are taken from the request.

use crate::auth::Access;
use crate::context::{ClientInfo, Context, State};
use crate::error::Error;
use crate::principal::Principal;

/// A type that a handler's parameter can have without being an argument: its value is taken from the request.
///
/// Implement it for values that several handlers need, such as the user, the tenant or a connection of a pool.
///
/// ```
/// use brumate_mcp::{Context, Error, FromRequest, Server, tool};
///
/// /// The tenant that sends the request.
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
    /// Returns the reason why there is no value. The handler does not run then, and the client gets the error as if the
    /// handler had failed.
    fn from_request(context: &Context) -> impl Future<Output = Result<Self, Error>> + Send;
}

/// The context of the request.
impl FromRequest for Context {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        Ok(context.clone())
    }
}

/// The server's state of type `T`. Fails if there is none.
impl<T: Send + Sync + 'static> FromRequest for State<T> {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        context.state()
    }
}

/// The client's name and version. Fails if the client does not send them.
impl FromRequest for ClientInfo {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        context.client().ok_or_else(|| Error::new("this needs a client that says what it is"))
    }
}

/// The client's name and version, if the client sends them.
impl FromRequest for Option<ClientInfo> {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        Ok(context.client())
    }
}

/// The principal of the request. Fails if there is none.
impl FromRequest for Principal {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        context.principal().cloned().ok_or_else(|| Error::new("this needs a request with credentials"))
    }
}

/// The principal of the request, if there is one.
impl FromRequest for Option<Principal> {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        Ok(context.principal().cloned())
    }
}

/// The access that the client's token grants. Fails if there is no access token.
impl FromRequest for Access {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        context.access().cloned().ok_or_else(|| Error::new("this needs a request with an access token"))
    }
}

/// The access that the client's token grants, if there is an access token.
impl FromRequest for Option<Access> {
    async fn from_request(context: &Context) -> Result<Self, Error> {
        Ok(context.access().cloned())
    }
}
