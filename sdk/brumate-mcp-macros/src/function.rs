//! Functions as the macros read them, and the code around them.

use crate::parameter::{Parameter, ParameterSource, documentation, generic};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Error, FnArg, Ident, ImplItemFn, ItemFn, Receiver, ReceiverKind, Result, ReturnType, Signature, Type,
    Visibility,
};

/// A function or a method that becomes an item of a server.
pub(crate) struct Function {
    pub(crate) name: Ident,
    pub(crate) documentation: Vec<Attribute>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) result: Type,
    is_async: bool,
    place: FunctionSite,
}

/// Where a function is written.
enum FunctionSite {
    Free,
    /// In an `impl`; `receiver` says whether it takes `&self`.
    Impl {
        receiver: bool,
    },
}

/// The code that a macro makes of a function: items, and an expression that uses them.
pub(crate) struct Expansion {
    pub(crate) items: TokenStream,
    pub(crate) value: TokenStream,
}

impl Function {
    /// Reads a function and removes from it the attributes that are not Rust's.
    pub(crate) fn take(item: &mut ItemFn) -> Result<Self> {
        if let Some(FnArg::Receiver(receiver)) = item.sig.inputs.first() {
            let message = "a method: put `#[tools]` on its `impl`, or keep state with `Server::state`";
            return Err(Error::new(receiver.span(), message));
        }
        let documentation = documentation(&item.attrs);
        item.attrs.retain(|attribute| !attribute.path().is_ident("doc"));
        Self::of(&mut item.sig, documentation, FunctionSite::Free)
    }

    /// Reads a method and removes from it the attributes that are not Rust's.
    pub(crate) fn take_method(item: &mut ImplItemFn) -> Result<Self> {
        let receiver = match item.sig.inputs.first() {
            Some(FnArg::Receiver(receiver)) => {
                check_receiver(receiver)?;
                true
            }
            _ => false,
        };
        let documentation = documentation(&item.attrs);
        Self::of(&mut item.sig, documentation, FunctionSite::Impl { receiver })
    }

    fn of(signature: &mut Signature, documentation: Vec<Attribute>, place: FunctionSite) -> Result<Self> {
        if let Some(parameter) = signature.generics.params.first() {
            return Err(Error::new(
                parameter.span(),
                "a generic function cannot be offered: which types would be meant?",
            ));
        }
        let result = match &signature.output {
            ReturnType::Default => syn::parse_quote!(()),
            ReturnType::Type(_, result) => (**result).clone(),
        };
        if matches!(result, Type::ImplTrait(_)) {
            return Err(Error::new(result.span(), "name the type: schemas are made from it"));
        }
        let mut parameters = Vec::new();
        for parameter in &mut signature.inputs {
            if let FnArg::Typed(parameter) = parameter {
                parameters.push(Parameter::take(parameter)?);
            }
        }
        let (name, is_async) = (signature.ident.clone(), signature.asyncness.is_some());
        Ok(Self { name, documentation, parameters, result, is_async, place })
    }

    /// Returns the parameters that are arguments.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.kind == ParameterSource::Argument)
    }

    /// Returns the type of the result, or of its success if it is a `Result`, and whether it is one.
    pub(crate) fn success(&self) -> (&Type, bool) {
        match generic(&self.result, "Result") {
            Some(success) => (success, true),
            None => (&self.result, false),
        }
    }

    /// Returns the function's path in the expansion.
    fn path(&self) -> TokenStream {
        let name = &self.name;
        match self.place {
            FunctionSite::Free => quote!(#name),
            FunctionSite::Impl { .. } => quote!(Self::#name),
        }
    }

    /// Makes a handler: a closure with `parameters` whose future does `body`, which may call the function.
    pub(crate) fn handler(&self, parameters: &TokenStream, body: &TokenStream) -> TokenStream {
        // A parameter may have the function's name.
        let path = self.path();
        let body = quote!(let __function = #path; #body);
        match self.place {
            FunctionSite::Free | FunctionSite::Impl { receiver: false } => quote!(|#parameters| async move { #body }),
            FunctionSite::Impl { receiver: true } => quote!({
                let __self = ::std::sync::Arc::clone(&self);
                move |#parameters| {
                    let __self = ::std::sync::Arc::clone(&__self);
                    async move { #body }
                }
            }),
        }
    }

    /// Makes a call of the function, in a [`handler`](Self::handler) where `__context` is the context and each argument
    /// has its name.
    pub(crate) fn call(&self) -> TokenStream {
        let receiver = match self.place {
            FunctionSite::Free | FunctionSite::Impl { receiver: false } => None,
            FunctionSite::Impl { receiver: true } => Some(quote!(&__self,)),
        };
        let values = self.parameters.iter().map(|parameter| &parameter.name);
        let from_request = self.parameters.iter().filter_map(Parameter::take_from_request);
        let call = quote!(__function(#receiver #(#values),*));
        let call = if self.is_async {
            quote!(#call.await)
        } else {
            quote!(::brumate_mcp::private::blocking(move || #call).await)
        };
        quote!({ #(#from_request)* #call })
    }

    /// Makes the value that replaces the function `item`. `made` sees the function under its name.
    pub(crate) fn expand(&self, item: &ItemFn, method: &str, product: &TokenStream, made: &Expansion) -> TokenStream {
        let Self { name, documentation, result, .. } = self;
        let Expansion { items, value } = made;
        let visibility = &item.vis;
        let method = format_ident!("{method}");
        let types: Vec<_> = self.parameters.iter().map(|parameter| &parameter.of).collect();
        let values: Vec<_> = (0..types.len()).map(|index| format_ident!("__{index}")).collect();
        let mut function = item.clone();
        function.vis = Visibility::Inherited;
        let (returned, call) = if self.is_async {
            (
                quote!(::brumate_mcp::private::BoxFuture<'static, #result>),
                quote!(::std::boxed::Box::pin(#name(#(#values),*))),
            )
        } else {
            (quote!(#result), quote!(#name(#(#values),*)))
        };
        let what = format!(" Returns the [`{product}`](::brumate_mcp::{product}), to set more of it.");
        quote! {
            #(#documentation)*
            #[allow(non_camel_case_types)]
            #[derive(Clone, Copy, Debug)]
            #visibility struct #name;

            const _: () = {
                #function

                #items

                impl #name {
                    #[doc = #what]
                    #[allow(dead_code)]
                    #visibility fn #method(&self) -> ::brumate_mcp::#product {
                        #value
                    }
                }

                impl ::core::convert::From<#name> for ::brumate_mcp::#product {
                    fn from(__value: #name) -> Self {
                        __value.#method()
                    }
                }

                // It can be called like the function.
                impl ::core::ops::Deref for #name {
                    type Target = fn(#(#types),*) -> #returned;

                    fn deref(&self) -> &Self::Target {
                        const FUNCTION: fn(#(#types),*) -> #returned = |#(#values),*| #call;
                        &FUNCTION
                    }
                }
            };
        }
    }
}

/// Checks that the receiver is `&self`.
fn check_receiver(receiver: &Receiver) -> Result<()> {
    match receiver.kind {
        ReceiverKind::Reference(_, _, None) => Ok(()),
        ReceiverKind::Reference(_, _, Some(_)) => Err(Error::new(
            receiver.span(),
            "take `&self`: calls run at the same time; a `Mutex` or an atomic keeps what changes",
        )),
        _ => Err(Error::new(receiver.span(), "take `&self`: all calls share one value")),
    }
}
