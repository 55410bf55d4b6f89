//! `#[tool]`.

use crate::common_settings::CommonSettings;
use crate::function::{Expansion, Function};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::Parser as _;
use syn::{LitBool, LitStr, Result};

const HINTS: &[&str] = &["read_only", "destructive", "idempotent", "open_world"];

pub(crate) fn make(attribute: TokenStream, function: &Function) -> Result<Expansion> {
    let mut common = CommonSettings::default();
    let mut hints = Vec::new();
    let parser = syn::meta::parser(|meta| {
        if common.take(&meta)? {
            return Ok(());
        }
        if meta.path.is_ident("tasks") {
            let given: LitStr = meta.value()?.parse()?;
            let support = match given.value().as_str() {
                "optional" => quote!(Optional),
                "required" => quote!(Required),
                "never" => quote!(Never),
                _ => return Err(syn::Error::new(given.span(), "one of: \"optional\", \"required\", \"never\"")),
            };
            hints.push(quote!(.tasks(::brumate_mcp::TaskSupport::#support)));
            return Ok(());
        }
        if meta.path.is_ident("scopes") {
            let given: LitStr = meta.value()?.parse()?;
            let text = given.value();
            let scopes: Vec<&str> = text.split_ascii_whitespace().collect();
            hints.push(quote!(.scopes([#(#scopes),*])));
            return Ok(());
        }
        if meta.path.is_ident("detaches") {
            hints.push(quote!(.detaches()));
            return Ok(());
        }
        let Some(hint) = HINTS.iter().find(|hint| meta.path.is_ident(hint)) else {
            return Err(meta.error(
                "one of: name, title, description, icon, read_only, destructive, idempotent, open_world, tasks, detaches, scopes",
            ));
        };
        let yes = match meta.input.peek(syn::Token![=]) {
            true => meta.value()?.parse::<LitBool>()?.value,
            false => true,
        };
        let hint = format_ident!("{hint}");
        hints.push(quote!(.#hint(#yes)));
        Ok(())
    });
    parser.parse2(attribute)?;

    let mut fields = Vec::new();
    let mut defaults = Vec::new();
    for (index, argument) in function.arguments().enumerate() {
        let (name, of, key) = (&argument.name, &argument.of, argument.key());
        let description = argument.description().map(|text| quote!(#[schemars(description = #text)]));
        let header =
            argument.settings.header.as_ref().map(|header| quote!(#[schemars(extend("x-mcp-header" = #header))]));
        let default = argument.default().map(|expression| {
            let function = format_ident!("__default_{index}");
            let path = function.to_string();
            defaults.push(quote!(fn #function() -> #of { #expression }));
            quote!(#[serde(default = #path)])
        });
        fields.push(quote!(#description #header #default #[serde(rename = #key)] #name: #of));
    }
    let names: Vec<_> = function.arguments().map(|argument| &argument.name).collect();
    let items = quote! {
        #[derive(::brumate_mcp::private::serde::Deserialize, ::brumate_mcp::private::schemars::JsonSchema)]
        #[serde(crate = "::brumate_mcp::private::serde", deny_unknown_fields)]
        #[schemars(crate = "::brumate_mcp::private::schemars")]
        struct __Arguments { #(#fields),* }

        #(#defaults)*
    };

    let (success, is_result) = function.success();
    let call = function.call();
    let returned = if is_result {
        quote!(match #call {
            ::core::result::Result::Ok(__value) => __value,
            ::core::result::Result::Err(__error) => return ::core::result::Result::Err(::core::convert::Into::into(__error)),
        })
    } else {
        call
    };
    let name = common.name_or(function);
    let calls = common.calls(function);
    let handler = function.handler(
        &quote!(__arguments, __context: ::brumate_mcp::Context),
        &quote! {
            let __Arguments { #(#names),* } = ::brumate_mcp::private::parse(__arguments, &__context)?;
            let __value: #success = #returned;
            let __result: ::core::result::Result<::brumate_mcp::ToolResult, ::brumate_mcp::Error> =
                ::brumate_mcp::private::ReturnValue::new(__value).convert();
            __result
        },
    );
    let value = quote! {
        #[allow(unused_imports)]
        use ::brumate_mcp::private::{ConvertByJson as _, ConvertByTrait as _};
        let __tool = ::brumate_mcp::Tool::new(#name)
            #calls
            #(#hints)*;
        let __tool = ::brumate_mcp::private::with_handler(__tool, #handler);
        ::brumate_mcp::private::with_schemas(
            __tool,
            ::brumate_mcp::private::schema::<__Arguments>(),
            ::brumate_mcp::private::ReturnType::<#success>(::core::marker::PhantomData).output_schema(),
        )
    };
    Ok(Expansion { items, value })
}
