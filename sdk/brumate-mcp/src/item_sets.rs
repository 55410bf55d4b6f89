//! Sets of tools, resources or prompts that are registered at once.

use crate::prompt::Prompt;
use crate::resource::Resource;
use crate::server::Server;
use crate::tool::Tool;

macro_rules! sets {
    ($($(#[$doc:meta])* $set:ident of $item:ident by $add:ident;)*) => {$(
        $(#[$doc])*
        pub trait $set {
            /// Adds the items to a server.
            #[must_use]
            fn add_to(self, server: Server) -> Server;
        }

        impl<T: Into<$item>> $set for Vec<T> {
            fn add_to(self, server: Server) -> Server {
                self.into_iter().fold(server, Server::$add)
            }
        }

        impl<T: Into<$item>, const N: usize> $set for [T; N] {
            fn add_to(self, server: Server) -> Server {
                self.into_iter().fold(server, Server::$add)
            }
        }

        tuples!($set $item $add (A B C D E F G H I J K L M N O P));
    )*};
}

/// Implements a trait for tuples of one to as many items as there are names.
macro_rules! tuples {
    ($set:ident $item:ident $add:ident ()) => {};
    ($set:ident $item:ident $add:ident ($first:ident $($rest:ident)*)) => {
        impl<$first: Into<$item>, $($rest: Into<$item>),*> $set for ($first, $($rest,)*) {
            #[allow(non_snake_case, reason = "type parameters name the parts")]
            fn add_to(self, server: Server) -> Server {
                let ($first, $($rest,)*) = self;
                server.$add($first)$(.$add($rest))*
            }
        }

        tuples!($set $item $add ($($rest)*));
    };
}

sets! {
    /// A set of tools: a tuple of `#[tool]` functions and [`Tool`]s, sixteen at most; an array or a vector of
    /// [`Tool`]s.
    ToolSet of Tool by tool;
    /// A set of resources: a tuple of `#[resource]` functions and [`Resource`]s, sixteen at most; an array or a vector
    /// of [`Resource`]s.
    ResourceSet of Resource by resource;
    /// A set of prompts: a tuple of `#[prompt]` functions and [`Prompt`]s, sixteen at most; an array or a vector of
    /// [`Prompt`]s.
    PromptSet of Prompt by prompt;
}

impl Server {
    /// Adds several tools.
    ///
    /// ```
    /// use brumate_mcp::{Server, tool};
    ///
    /// #[tool]
    /// async fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// #[tool]
    /// async fn negate(a: i64) -> i64 {
    ///     -a
    /// }
    ///
    /// let server = Server::new("Calculator").tools((add, negate));
    /// ```
    #[must_use]
    pub fn tools(self, tools: impl ToolSet) -> Self {
        tools.add_to(self)
    }

    /// Adds several resources.
    #[must_use]
    pub fn resources(self, resources: impl ResourceSet) -> Self {
        resources.add_to(self)
    }

    /// Adds several prompts.
    #[must_use]
    pub fn prompts(self, prompts: impl PromptSet) -> Self {
        prompts.add_to(self)
    }
}
