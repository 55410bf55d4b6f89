//! `#[completion]`.

use crate::function::{Expansion, Function};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::parse::Parser as _;
use syn::{Error, LitStr, Result};

pub(crate) fn make(attribute: TokenStream, function: &Function) -> Result<Expansion> {
    let (mut prompt, mut template, mut argument) = (None::<LitStr>, None::<LitStr>, None::<LitStr>);
    let parser = syn::meta::parser(|meta| {
        let place = match () {
            () if meta.path.is_ident("prompt") => &mut prompt,
            () if meta.path.is_ident("template") => &mut template,
            () if meta.path.is_ident("argument") => &mut argument,
            () => return Err(meta.error("one of: prompt, template, argument")),
        };
        *place = Some(meta.value()?.parse()?);
        Ok(())
    });
    parser.parse2(attribute)?;

    let missing = |message: &str| Error::new(Span::call_site(), message);
    let argument = argument.ok_or_else(|| missing("`argument = \"…\"` says what is completed"))?;
    let (method, of) = match (prompt, template) {
        (Some(prompt), None) => (quote!(prompt), prompt),
        (None, Some(template)) => (quote!(template), template),
        _ => return Err(missing("either `prompt = \"…\"` or `template = \"…\"`")),
    };
    let mut plain = function.arguments();
    let typed = plain.next().ok_or_else(|| missing("the first parameter is what has been typed, a `String`"))?;
    let typed = &typed.name;
    let known = plain.next().map(|known| &known.name);
    if let Some(more) = plain.next() {
        return Err(Error::new(more.name.span(), "at most what has been typed and the known arguments"));
    }
    let known = known.map(|known| quote!(let #known = __request.arguments;));
    let call = function.call();
    let handler = function.handler(
        &quote!(__request: ::brumate_mcp::CompletionRequest, __context: ::brumate_mcp::Context),
        &quote! {
            let #typed = __request.value;
            #known
            let __value = #call;
            ::brumate_mcp::IntoSuggestions::into_suggestions(__value)
        },
    );
    let value = quote!(::brumate_mcp::Completion::#method(#of, #argument, #handler));
    Ok(Expansion { items: TokenStream::new(), value })
}
