//! Settings that all attributes have: name, title, description, icons.

use crate::function::Function;
use crate::parameter::text;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{LitStr, Result};

/// The settings of every attribute.
#[derive(Default)]
pub(crate) struct CommonSettings {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) icons: Vec<LitStr>,
}

impl CommonSettings {
    /// Takes one setting. Returns false if it is none of these.
    pub(crate) fn take(&mut self, meta: &syn::meta::ParseNestedMeta<'_>) -> Result<bool> {
        if meta.path.is_ident("name") {
            self.name = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("title") {
            self.title = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("description") {
            self.description = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("icon") {
            self.icons.push(meta.value()?.parse()?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Returns the name: the setting, or the function's name.
    pub(crate) fn name_or(&self, function: &Function) -> String {
        match &self.name {
            Some(name) => name.value(),
            None => function.name.to_string().trim_start_matches("r#").to_owned(),
        }
    }

    /// Returns calls of the builder's methods.
    pub(crate) fn calls(&self, function: &Function) -> TokenStream {
        let description = self.description.as_ref().map(LitStr::value).or_else(|| text(&function.documentation));
        let description = description.map(|text| quote!(.description(#text)));
        let title = self.title.as_ref().map(|title| quote!(.title(#title)));
        let icons = self.icons.iter().map(|icon| quote!(.icon(::brumate_mcp::Icon::new(#icon))));
        quote!(#description #title #(#icons)*)
    }
}
