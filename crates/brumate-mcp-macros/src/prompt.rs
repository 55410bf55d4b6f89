//! `#[prompt]`.

use crate::function::{Common, Function, Parameter, finish};
use proc_macro2::TokenStream;
use quote::quote;
use syn::Result;
use syn::parse::Parser as _;

pub(crate) fn expand(attribute: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    finish(expand_prompt(attribute, item))
}

fn expand_prompt(attribute: proc_macro::TokenStream, item: proc_macro::TokenStream) -> Result<TokenStream> {
    let mut common = Common::default();
    let parser = syn::meta::parser(|meta| match common.take(&meta)? {
        true => Ok(()),
        false => Err(meta.error("one of: name, title, description, icon")),
    });
    parser.parse(attribute)?;
    let function = Function::parse(item)?;

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
    let name = common.name_or(&function);
    let calls = common.calls(&function);
    let make = quote! {
        ::brumate_mcp::Prompt::new(#name)
            #calls
            #(#arguments)*
            .handler(|__request: ::brumate_mcp::PromptRequest, __context: ::brumate_mcp::Context| async move {
                #(#takes)*
                let _ = __request;
                let value = #call;
                ::brumate_mcp::IntoMessages::into_messages(value)
            })
    };
    Ok(function.expand("prompt", &quote!(Prompt), &TokenStream::new(), &make))
}
