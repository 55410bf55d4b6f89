//! `#[resource]`.

use crate::common_settings::CommonSettings;
use crate::function::{Expansion, Function};
use crate::parameter::Parameter;
use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::{Error, LitStr, Result, Token};

/// `"uri", …`.
struct ResourceAttribute {
    uri: LitStr,
    rest: TokenStream,
}

impl Parse for ResourceAttribute {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let uri = input.parse().map_err(|error| Error::new(error.span(), "first the address, as \"config://app\""))?;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        Ok(Self { uri, rest: input.parse()? })
    }
}

pub(crate) fn make(attribute: TokenStream, function: &Function) -> Result<Expansion> {
    let ResourceAttribute { uri, rest } = syn::parse2(attribute)?;
    let mut common = CommonSettings::default();
    let mut mime_type: Option<LitStr> = None;
    let parser = syn::meta::parser(|meta| {
        if common.take(&meta)? {
            return Ok(());
        }
        if meta.path.is_ident("mime_type") {
            mime_type = Some(meta.value()?.parse()?);
            return Ok(());
        }
        Err(meta.error("one of: name, title, description, mime_type, icon"))
    });
    parser.parse2(rest)?;

    let variables = variables(&uri.value());
    for argument in function.arguments() {
        if !variables.contains(&argument.key()) {
            let message = format!("the template has no variable `{{{}}}`", argument.key());
            return Err(Error::new(argument.name.span(), message));
        }
    }
    if let Some(unused) = variables.iter().find(|name| !function.arguments().any(|a| a.key() == **name)) {
        return Err(Error::new(uri.span(), format!("no parameter takes the variable `{{{unused}}}`")));
    }

    let takes = function.arguments().map(Parameter::take_text);
    let call = function.call();
    let name = common.name_or(function);
    let calls = common.calls(function);
    let mime_type = mime_type.map(|mime_type| quote!(.mime_type(#mime_type)));
    let handler = function.handler(
        &quote!(__request: ::brumate_mcp::ResourceRequest, __context: ::brumate_mcp::Context),
        &quote! {
            #(#takes)*
            let __value = #call;
            ::brumate_mcp::IntoResourceContents::into_resource_contents(__value, &__request.uri)
        },
    );
    let value = quote!(::brumate_mcp::Resource::new(#uri).name(#name) #calls #mime_type .handler(#handler));
    Ok(Expansion { items: TokenStream::new(), value })
}

/// The names of a template's variables; whether it is well formed is seen when the server starts.
fn variables(uri: &str) -> Vec<String> {
    let expressions = uri.split('{').skip(1).filter_map(|part| part.split('}').next());
    expressions
        .flat_map(|expression| expression.trim_start_matches(['+', '/', '?', '&']).split(','))
        .map(str::to_owned)
        .collect()
}
