//! `#[prompt]`.

use crate::common_settings::CommonSettings;
use crate::function::{Expansion, Function};
use crate::parameter::Parameter;
use proc_macro2::TokenStream;
use quote::quote;
use syn::Result;
use syn::parse::Parser as _;

pub(crate) fn make(attribute: TokenStream, function: &Function) -> Result<Expansion> {
    let mut common = CommonSettings::default();
    let parser = syn::meta::parser(|meta| match common.take(&meta)? {
        true => Ok(()),
        false => Err(meta.error("one of: name, title, description, icon")),
    });
    parser.parse2(attribute)?;

    let arguments = function.arguments().map(|argument| {
        let key = argument.key();
        let description = argument.description().map(|text| quote!(.description(#text)));
        if argument.is_optional() {
            quote!(.argument(::brumate_mcp::PromptArgument::optional(#key) #description))
        } else {
            quote!(.argument(::brumate_mcp::PromptArgument::required(#key) #description))
        }
    });
    let takes = function.arguments().map(Parameter::take_text);
    let call = function.call();
    let name = common.name_or(function);
    let calls = common.calls(function);
    let handler = function.handler(
        &quote!(__request: ::brumate_mcp::PromptRequest, __context: ::brumate_mcp::Context),
        &quote! {
            #(#takes)*
            let _ = __request;
            let __value = #call;
            ::brumate_mcp::IntoMessages::into_messages(__value)
        },
    );
    let value = quote!(::brumate_mcp::Prompt::new(#name) #calls #(#arguments)* .handler(#handler));
    Ok(Expansion { items: TokenStream::new(), value })
}
