//! What the macros read of a function and write around it.

use crate::parameter::{Kind, Parameter, documentation, generic};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Error, FnArg, Ident, ImplItemFn, ItemFn, Receiver, ReceiverKind, Result, ReturnType, Signature, Type,
    Visibility,
};

/// A function, or a method, that becomes something a server offers.
pub(crate) struct Function {
    pub(crate) name: Ident,
    pub(crate) documentation: Vec<Attribute>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) result: Type,
    is_async: bool,
    place: Place,
}

/// Where a function is written.
enum Place {
    Free,
    /// In an `impl`; `receiver` says whether it takes `&self`.
    Impl {
        receiver: bool,
    },
}

/// What a macro makes of a function: items, and an expression that sees them.
pub(crate) struct Made {
    pub(crate) items: TokenStream,
    pub(crate) value: TokenStream,
}

impl Function {
    /// Reads a function and removes from it what is not Rust's.
    pub(crate) fn take(item: &mut ItemFn) -> Result<Self> {
        if let Some(FnArg::Receiver(receiver)) = item.sig.inputs.first() {
            let message = "a method: put `#[tools]` on its `impl`, or keep state with `Server::state`";
            return Err(Error::new(receiver.span(), message));
        }
        let documentation = documentation(&item.attrs);
        item.attrs.retain(|attribute| !attribute.path().is_ident("doc"));
        Self::of(&mut item.sig, documentation, Place::Free)
    }

    /// Reads a method and removes from it what is not Rust's.
    pub(crate) fn take_method(item: &mut ImplItemFn) -> Result<Self> {
        let receiver = match item.sig.inputs.first() {
            Some(FnArg::Receiver(receiver)) => {
                check_receiver(receiver)?;
                true
            }
            _ => false,
        };
        let documentation = documentation(&item.attrs);
        Self::of(&mut item.sig, documentation, Place::Impl { receiver })
    }

    fn of(signature: &mut Signature, documentation: Vec<Attribute>, place: Place) -> Result<Self> {
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

    /// The parameters that are arguments.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.kind == Kind::Argument)
    }

    /// The result's type, and whether it is that of a `Result`'s success.
    pub(crate) fn success(&self) -> (&Type, bool) {
        match generic(&self.result, "Result") {
            Some(success) => (success, true),
            None => (&self.result, false),
        }
    }

    /// The function's path where the macro writes.
    fn path(&self) -> TokenStream {
        let name = &self.name;
        match self.place {
            Place::Free => quote!(#name),
            Place::Impl { .. } => quote!(Self::#name),
        }
    }

    /// A handler: a closure with `parameters` whose future does `body`, which may call the function.
    pub(crate) fn handler(&self, parameters: &TokenStream, body: &TokenStream) -> TokenStream {
        // A parameter may have the function's name.
        let path = self.path();
        let body = quote!(let __function = #path; #body);
        match self.place {
            Place::Free | Place::Impl { receiver: false } => quote!(|#parameters| async move { #body }),
            Place::Impl { receiver: true } => quote!({
                let __self = ::std::sync::Arc::clone(&self);
                move |#parameters| {
                    let __self = ::std::sync::Arc::clone(&__self);
                    async move { #body }
                }
            }),
        }
    }

    /// Calls the function, in a [`handler`](Self::handler) where `__context` is the context and each argument has its name.
    pub(crate) fn call(&self) -> TokenStream {
        let receiver = match self.place {
            Place::Free | Place::Impl { receiver: false } => None,
            Place::Impl { receiver: true } => Some(quote!(&__self,)),
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

    /// The value in the place of the function `item`, with what was `made` of it, which sees the function under its name.
    pub(crate) fn expand(&self, item: &ItemFn, method: &str, product: &TokenStream, made: &Made) -> TokenStream {
        let Self { name, documentation, result, .. } = self;
        let Made { items, value } = made;
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
        let what = format!(" The [`{product}`](::brumate_mcp::{product}), to say more about it.");
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

                // So that it can be called like the function it was.
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

/// Lets in `&self` alone.
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
