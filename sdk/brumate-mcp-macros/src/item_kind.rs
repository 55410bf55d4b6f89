//! The four attributes of functions.

use crate::function::{Expansion, Function};
use crate::{completion, prompt, resource, tool};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Error, Ident, ItemFn, Meta, Result};

/// The kind of item that a function becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Tool,
    Resource,
    Prompt,
    Completion,
}

impl ItemKind {
    const ALL: [(&'static str, Self); 4] = [
        ("tool", Self::Tool),
        ("resource", Self::Resource),
        ("prompt", Self::Prompt),
        ("completion", Self::Completion),
    ];

    /// Finds the attribute among `attributes` that names a kind. Returns its position and the kind.
    pub(crate) fn find(attributes: &[Attribute]) -> Option<(usize, Self)> {
        attributes.iter().enumerate().find_map(|(index, attribute)| {
            let name = &attribute.path().segments.last()?.ident;
            Self::ALL.iter().find(|(known, _)| name == known).map(|(_, kind)| (index, *kind))
        })
    }

    /// Returns the method of `Server` that adds the item. It has the attribute's name.
    pub(crate) fn method(self) -> Ident {
        let (name, _) = Self::ALL[self as usize];
        format_ident!("{name}")
    }

    /// Returns the type of the item.
    fn product(self) -> TokenStream {
        match self {
            Self::Tool => quote!(Tool),
            Self::Resource => quote!(Resource),
            Self::Prompt => quote!(Prompt),
            Self::Completion => quote!(Completion),
        }
    }

    /// Makes the item of `function`, with the attribute's `settings`.
    pub(crate) fn make(self, settings: TokenStream, function: &Function) -> Result<Expansion> {
        match self {
            Self::Tool => tool::make(settings, function),
            Self::Resource => resource::make(settings, function),
            Self::Prompt => prompt::make(settings, function),
            Self::Completion => completion::make(settings, function),
        }
    }

    /// Expands the attribute of a function.
    pub(crate) fn expand(self, settings: TokenStream, item: TokenStream) -> Result<TokenStream> {
        let mut item: ItemFn = syn::parse2(item)?;
        let function = Function::take(&mut item)?;
        let made = self.make(settings, &function)?;
        Ok(function.expand(&item, &self.method().to_string(), &self.product(), &made))
    }
}

/// Returns the tokens in an attribute's parentheses.
pub(crate) fn settings(attribute: &Attribute) -> Result<TokenStream> {
    match &attribute.meta {
        Meta::Path(_) => Ok(TokenStream::new()),
        Meta::List(list) => Ok(list.tokens.clone()),
        meta => Err(Error::new_spanned(meta, "settings are in parentheses")),
    }
}

/// Returns the `cfg` attributes among `attributes`.
pub(crate) fn conditions(attributes: &[Attribute]) -> Vec<&Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect()
}
