//! Parameters of functions: the source of their values, and their settings.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, Error, Expr, ExprLit, Ident, Lit, LitStr, Meta, Pat, PatType, Result, Type};

/// A parameter.
pub(crate) struct Parameter {
    pub(crate) kind: ParameterSource,
    pub(crate) name: Ident,
    pub(crate) of: Type,
    pub(crate) documentation: Vec<Attribute>,
    pub(crate) settings: ArgSettings,
}

/// Source of a parameter's value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterSource {
    Argument,
    /// The request. The type's `FromRequest` makes the value.
    Request,
}

/// Attributes of parameters that Rust does not accept. The macros read them and remove them.
const OURS: [&str; 3] = ["doc", "arg", "from_request"];

/// The value of a missing argument.
pub(crate) enum DefaultValue {
    /// `default`: the default of the parameter's type.
    OfType,
    /// `default = …`.
    Expression(Expr),
}

/// The settings of `#[arg(…)]`.
#[derive(Default)]
pub(crate) struct ArgSettings {
    pub(crate) default: Option<DefaultValue>,
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) header: Option<LitStr>,
}

impl ParameterSource {
    /// Returns the source that the attribute names. Without an attribute the type decides.
    fn of(parameter: &PatType) -> Result<Self> {
        let said = |name: &str| parameter.attrs.iter().find(|attribute| attribute.path().is_ident(name));
        match (said("arg"), said("from_request")) {
            (Some(_), Some(both)) => Err(Error::new(both.span(), "either `#[arg]` or `#[from_request]`")),
            (Some(_), None) => Ok(Self::Argument),
            (None, Some(attribute)) => attribute.meta.require_path_only().map(|_| Self::Request),
            (None, None) if is_from_request(&parameter.ty) => Ok(Self::Request),
            (None, None) => Ok(Self::Argument),
        }
    }
}

/// Returns whether values of a type come from the request. The name and the form of the type decide.
fn is_from_request(of: &Type) -> bool {
    let named = |of: &Type, names: &[&str], generic: bool| {
        let Type::Path(path) = of else { return false };
        path.path.segments.last().is_some_and(|segment| {
            names.iter().any(|name| segment.ident == name) && segment.arguments.is_none() != generic
        })
    };
    let optional = generic(of, "Option").unwrap_or(of);
    named(of, &["Context"], false)
        || named(of, &["State"], true)
        || named(optional, &["Access", "ClientInfo", "Principal"], false)
}

impl Parameter {
    /// Reads a parameter, and removes the attributes of the macros from it.
    pub(crate) fn take(parameter: &mut PatType) -> Result<Self> {
        let Pat::Ident(name) = &*parameter.pat else {
            return Err(Error::new(parameter.pat.span(), "a parameter needs a name"));
        };
        match &*parameter.ty {
            Type::Reference(reference) => {
                return Err(Error::new(reference.span(), "take it by value: the call outlives what could lend it"));
            }
            Type::ImplTrait(of) => return Err(Error::new(of.span(), "name the type: a schema is made from it")),
            _ => {}
        }
        let kind = ParameterSource::of(parameter)?;
        let documentation = documentation(&parameter.attrs);
        let mut settings = ArgSettings::default();
        for attribute in parameter.attrs.iter().filter(|attribute| attribute.path().is_ident("arg")) {
            if matches!(attribute.meta, Meta::Path(_)) {
                continue;
            }
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("default") {
                    settings.default = Some(match meta.input.peek(syn::Token![=]) {
                        true => DefaultValue::Expression(meta.value()?.parse()?),
                        false => DefaultValue::OfType,
                    });
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
        parameter.attrs.retain(|attribute| !OURS.iter().any(|ours| attribute.path().is_ident(ours)));
        Ok(Self { kind, name, of, documentation, settings })
    }

    /// Makes the statement that takes the value from the request. `None` if the value is an argument.
    ///
    /// In the statement `__context` is the context.
    pub(crate) fn take_from_request(&self) -> Option<TokenStream> {
        let Self { name, of, kind, .. } = self;
        (*kind == ParameterSource::Request).then(|| {
            // If the type has no `FromRequest`, the compiler's message points at the type.
            let value = quote_spanned!(of.span()=> <#of as ::brumate_mcp::FromRequest>::from_request(&__context));
            quote!(let #name: #of = #value.await?;)
        })
    }

    /// Returns the name of the argument.
    pub(crate) fn key(&self) -> String {
        match &self.settings.name {
            Some(name) => name.value(),
            None => self.name.to_string().trim_start_matches("r#").to_owned(),
        }
    }

    /// Returns the description, if there is one.
    pub(crate) fn description(&self) -> Option<String> {
        self.settings.description.as_ref().map(LitStr::value).or_else(|| text(&self.documentation))
    }

    /// Returns the expression of the default.
    pub(crate) fn default(&self) -> Option<TokenStream> {
        self.settings.default.as_ref().map(|default| match default {
            DefaultValue::OfType => quote!(::core::default::Default::default()),
            DefaultValue::Expression(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => {
                quote!(::core::convert::Into::into(#text))
            }
            DefaultValue::Expression(expression) => quote!(#expression),
        })
    }

    /// Makes the statement that takes the value from `__request`, where it is text.
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

    /// Returns whether the argument may be missing.
    pub(crate) fn is_optional(&self) -> bool {
        self.settings.default.is_some() || generic(&self.of, "Option").is_some()
    }
}

/// Returns the doc comments among `attributes`.
pub(crate) fn documentation(attributes: &[Attribute]) -> Vec<Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect()
}

/// Returns the text of doc comments, if there is any.
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

/// Returns `T`, if `of` is `name<T>` or `name<T, …>`.
pub(crate) fn generic<'a>(of: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = of else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(of) => Some(of),
        _ => None,
    })
}
