//! `#[tools]`: the methods of an `impl`.

use crate::function::{Expansion, Function};
use crate::item_kind::{ItemKind, conditions, settings};
use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned as _;
use syn::{Error, ImplItem, ItemImpl, Result};

pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !attribute.is_empty() {
        return Err(Error::new_spanned(attribute, "`#[tools]` has no settings"));
    }
    let mut item: ItemImpl = syn::parse2(item)?;
    if let Some((name, _)) = &item.trait_ {
        return Err(Error::new(name.span(), "methods of the type's own: `#[tools] impl Journal { … }`"));
    }
    if let Some(parameter) = item.generics.params.first() {
        return Err(Error::new(
            parameter.span(),
            "a generic type cannot be offered: name the types, as in `impl Journal<File>`",
        ));
    }
    let mut added = Vec::new();
    for method in &mut item.items {
        let ImplItem::Fn(method) = method else { continue };
        let Some((index, kind)) = ItemKind::find(&method.attrs) else { continue };
        let settings = settings(&method.attrs.remove(index))?;
        if let Some((second, _)) = ItemKind::find(&method.attrs) {
            return Err(Error::new(method.attrs[second].span(), "one of them for a method"));
        }
        let function = Function::take_method(method)?;
        let Expansion { items, value } = kind.make(settings, &function)?;
        let (conditions, add) = (conditions(&method.attrs), kind.method());
        added.push(quote! {
            #(#conditions)*
            let __server = ::brumate_mcp::Server::#add(__server, { #items #value });
        });
    }
    if added.is_empty() {
        let message = "no method has `#[tool]`, `#[resource]`, `#[prompt]` or `#[completion]`";
        return Err(Error::new(item.self_ty.span(), message));
    }
    let of = &item.self_ty;
    Ok(quote! {
        #item

        impl ::brumate_mcp::Service for #of {
            fn add_to(self: ::std::sync::Arc<Self>, __server: ::brumate_mcp::Server) -> ::brumate_mcp::Server {
                #(#added)*
                __server
            }
        }
    })
}
