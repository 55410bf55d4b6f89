//! `#[server]`: the functions of a module.

use crate::item_kind::{ItemKind, conditions};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Item, ItemMod, Result};

pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !attribute.is_empty() {
        return Err(Error::new_spanned(attribute, "`#[server]` has no settings"));
    }
    let mut item: ItemMod = syn::parse2(item)?;
    let (name, visibility, conditions_of_all) = (item.ident.clone(), item.vis.clone(), conditions(&item.attrs));
    let conditions_of_all: Vec<_> = conditions_of_all.into_iter().cloned().collect();
    let Some((_, items)) = &mut item.content else {
        return Err(Error::new(name.span(), "write the module here: the macro sees no other file"));
    };
    let added: Vec<TokenStream> = items
        .iter()
        .filter_map(|item| {
            let Item::Fn(function) = item else { return None };
            let (_, kind) = ItemKind::find(&function.attrs)?;
            let (add, name, conditions) = (kind.method(), &function.sig.ident, conditions(&function.attrs));
            Some(quote!(#(#conditions)* let __server = ::brumate_mcp::Server::#add(__server, #name);))
        })
        .collect();
    if added.is_empty() {
        let message = "no function has `#[tool]`, `#[resource]`, `#[prompt]` or `#[completion]`";
        return Err(Error::new(name.span(), message));
    }
    items.push(syn::parse_quote! {
        #[doc(hidden)]
        #[allow(missing_docs, unreachable_pub)]
        #[derive(Clone, Copy, Debug)]
        pub struct __Items;
    });
    items.push(syn::parse_quote! {
        impl ::brumate_mcp::Service for __Items {
            fn add_to(self: ::std::sync::Arc<Self>, __server: ::brumate_mcp::Server) -> ::brumate_mcp::Server {
                #(#added)*
                __server
            }
        }
    });
    let what = format!(" The items of the module `{name}`, for `Server::service`.");
    Ok(quote! {
        #item

        #(#conditions_of_all)*
        #[doc = #what]
        #[allow(non_upper_case_globals)]
        #visibility const #name: #name::__Items = #name::__Items;
    })
}
