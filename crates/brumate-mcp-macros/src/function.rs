//! What all four macros read of a function and write around it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, LitStr, Pat, Result, ReturnType, Type, Visibility,
};

/// A function that becomes something a server offers.
pub(crate) struct Function {
    pub(crate) visibility: Visibility,
    pub(crate) name: Ident,
    pub(crate) documentation: Vec<Attribute>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) result: Type,
    is_async: bool,
    item: ItemFn,
}

/// A parameter.
pub(crate) struct Parameter {
    pub(crate) kind: Kind,
    pub(crate) name: Ident,
    pub(crate) of: Type,
    pub(crate) documentation: Vec<Attribute>,
    pub(crate) settings: Settings,
}

/// Where a parameter's value comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Argument,
    Context,
    State,
}

/// `#[arg(…)]`.
#[derive(Default)]
pub(crate) struct Settings {
    /// With an expression, or the type's own.
    pub(crate) default: Option<Option<Expr>>,
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) header: Option<LitStr>,
}

impl Function {
    pub(crate) fn parse(item: proc_macro::TokenStream) -> Result<Self> {
        let mut item: ItemFn = syn::parse(item)?;
        let signature = &item.sig;
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
        let documentation = documentation(&item.attrs);
        item.attrs.retain(|attribute| !attribute.path().is_ident("doc"));
        let mut parameters = Vec::new();
        for parameter in &mut item.sig.inputs {
            parameters.push(Parameter::take(parameter)?);
        }
        Ok(Self {
            visibility: item.vis.clone(),
            name: item.sig.ident.clone(),
            documentation,
            parameters,
            result,
            is_async: item.sig.asyncness.is_some(),
            item,
        })
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

    /// Calls the function, in a place where `context` is the context and each argument has its name.
    pub(crate) fn call(&self) -> TokenStream {
        let name = &self.name;
        let values = self.parameters.iter().map(|parameter| &parameter.name);
        let injected = self.parameters.iter().filter_map(|Parameter { kind, name, .. }| match kind {
            Kind::Argument => None,
            Kind::Context => Some(quote!(let #name = __context.clone();)),
            Kind::State => Some(quote!(let #name = __context.state()?;)),
        });
        let call = if self.is_async {
            quote!(#name(#(#values),*).await)
        } else {
            quote!(::brumate_mcp::private::blocking(move || #name(#(#values),*)).await)
        };
        quote!({ #(#injected)* #call })
    }

    /// The value in the function's place, with `rest`, which sees the function itself under its name.
    pub(crate) fn expand(
        &self,
        method: &str,
        product: &TokenStream,
        rest: &TokenStream,
        make: &TokenStream,
    ) -> TokenStream {
        let Self { visibility, name, documentation, item, result, .. } = self;
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

                #rest

                impl #name {
                    #[doc = #what]
                    #[allow(dead_code)]
                    #visibility fn #method(&self) -> ::brumate_mcp::#product {
                        #make
                    }
                }

                impl ::core::convert::From<#name> for ::brumate_mcp::#product {
                    fn from(value: #name) -> Self {
                        value.#method()
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

impl Parameter {
    /// Reads a parameter and removes from it what is not Rust's.
    fn take(parameter: &mut FnArg) -> Result<Self> {
        let FnArg::Typed(parameter) = parameter else {
            return Err(Error::new(parameter.span(), "only functions without `self`; keep state with `Server::state`"));
        };
        let Pat::Ident(name) = &*parameter.pat else {
            return Err(Error::new(parameter.pat.span(), "a parameter needs a name"));
        };
        if let Type::Reference(reference) = &*parameter.ty {
            return Err(Error::new(reference.span(), "take it by value: the call outlives what could lend it"));
        }
        let kind = match last_segment(&parameter.ty).map(ToString::to_string).as_deref() {
            Some("Context") => Kind::Context,
            Some("State") => Kind::State,
            _ => Kind::Argument,
        };
        let documentation = documentation(&parameter.attrs);
        let mut settings = Settings::default();
        for attribute in parameter.attrs.iter().filter(|attribute| attribute.path().is_ident("arg")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("default") {
                    let expression = if meta.input.peek(syn::Token![=]) { Some(meta.value()?.parse()?) } else { None };
                    settings.default = Some(expression);
                } else if meta.path.is_ident("name") {
                    settings.name = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("description") {
                    settings.description = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("header") {
                    settings.header = Some(meta.value()?.parse()?);
                } else {
                    return Err(meta.error("one of: default, name, description, header"));
                }
                Ok(())
            })?;
        }
        let of = (*parameter.ty).clone();
        let name = name.ident.clone();
        parameter.attrs.retain(|attribute| !["doc", "arg"].iter().any(|ours| attribute.path().is_ident(ours)));
        Ok(Self { kind, name, of, documentation, settings })
    }

    /// The name it is given by.
    pub(crate) fn key(&self) -> String {
        match &self.settings.name {
            Some(name) => name.value(),
            None => self.name.to_string().trim_start_matches("r#").to_owned(),
        }
    }

    /// What it is for, if anything says so.
    pub(crate) fn description(&self) -> Option<String> {
        self.settings.description.as_ref().map(LitStr::value).or_else(|| text(&self.documentation))
    }

    /// The default's expression.
    pub(crate) fn default(&self) -> Option<TokenStream> {
        self.settings.default.as_ref().map(|expression| match expression {
            None => quote!(::core::default::Default::default()),
            Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => quote!(::core::convert::Into::into(#text)),
            Some(expression) => quote!(#expression),
        })
    }

    /// Takes it, as text, from `request`.
    pub(crate) fn take_text(&self) -> TokenStream {
        let Self { name, of, .. } = self;
        let key = self.key();
        if let Some(default) = self.default() {
            quote!(let #name: #of = __request.get_optional(#key)?.unwrap_or_else(|| #default);)
        } else if generic(of, "Option").is_some() {
            quote!(let #name: #of = __request.get_optional(#key)?;)
        } else {
            quote!(let #name: #of = __request.get(#key)?;)
        }
    }

    /// Whether it may be missing.
    pub(crate) fn is_optional(&self) -> bool {
        self.settings.default.is_some() || generic(&self.of, "Option").is_some()
    }
}

/// The doc comments among `attributes`.
fn documentation(attributes: &[Attribute]) -> Vec<Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect()
}

/// The text of doc comments, if there is any.
pub(crate) fn text(documentation: &[Attribute]) -> Option<String> {
    let mut lines = Vec::new();
    for attribute in documentation {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && let Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) = &pair.value
        {
            let line = line.value();
            lines.push(line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned());
        }
    }
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn last_segment(of: &Type) -> Option<&Ident> {
    match of {
        Type::Path(path) => path.path.segments.last().map(|segment| &segment.ident),
        _ => None,
    }
}

/// `T`, if `of` is `name<T>` or `name<T, …>`.
pub(crate) fn generic<'a>(of: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = of else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(of) => Some(of),
        _ => None,
    })
}

/// The settings every attribute knows: name, title, description, icons.
#[derive(Default)]
pub(crate) struct Common {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) icons: Vec<LitStr>,
}

impl Common {
    /// Takes one setting; false if it is none of these.
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

    /// The name it is known by.
    pub(crate) fn name_or(&self, function: &Function) -> String {
        match &self.name {
            Some(name) => name.value(),
            None => function.name.to_string().trim_start_matches("r#").to_owned(),
        }
    }

    /// Calls of the builder's methods.
    pub(crate) fn calls(&self, function: &Function) -> TokenStream {
        let description = self.description.as_ref().map(LitStr::value).or_else(|| text(&function.documentation));
        let description = description.map(|text| quote!(.description(#text)));
        let title = self.title.as_ref().map(|title| quote!(.title(#title)));
        let icons = self.icons.iter().map(|icon| quote!(.icon(::brumate_mcp::Icon::new(#icon))));
        quote!(#description #title #(#icons)*)
    }
}

/// The expansion, or the compiler's message.
pub(crate) fn finish(expansion: Result<TokenStream>) -> proc_macro::TokenStream {
    expansion.unwrap_or_else(|error| error.to_compile_error()).into()
}
