//! What the macros refuse, and what they say then.

use crate::item_kind::ItemKind;
use crate::{server, tools};
use proc_macro2::TokenStream;
use quote::quote;

fn message(expansion: syn::Result<TokenStream>) -> String {
    expansion.map_or_else(|error| error.to_string(), |expansion| panic!("expanded: {expansion}"))
}

fn tool(item: TokenStream) -> String {
    message(ItemKind::Tool.expand(TokenStream::new(), item))
}

fn methods(item: TokenStream) -> String {
    message(tools::expand(TokenStream::new(), item))
}

#[test]
fn functions_that_cannot_be_offered_are_refused() {
    for (item, expected) in [
        (
            quote!(
                fn f<T>(value: T) {}
            ),
            "generic function",
        ),
        (
            quote!(
                fn f(&self) {}
            ),
            "`#[tools]` on its `impl`",
        ),
        (
            quote!(
                fn f(text: &str) {}
            ),
            "by value",
        ),
        (
            quote!(
                fn f(text: impl Into<String>) {}
            ),
            "name the type",
        ),
        (
            quote!(
                fn f((a, b): (u8, u8)) {}
            ),
            "needs a name",
        ),
        (
            quote!(
                fn f(#[arg(defualt)] a: u8) {}
            ),
            "one of: default",
        ),
        (
            quote!(
                fn f(
                    #[arg]
                    #[from_request]
                    a: u8,
                ) {
                }
            ),
            "either",
        ),
        (
            quote!(
                fn f(#[from_request(1)] a: u8) {}
            ),
            "unexpected",
        ),
    ] {
        let text = item.to_string();
        let said = tool(item);
        assert!(said.contains(expected), "{text}: {said}");
    }
}

#[test]
fn methods_that_cannot_be_offered_are_refused() {
    for (item, expected) in [
        (quote!(impl A { #[tool] fn f(&mut self) {} }), "take `&self`: calls run at the same time"),
        (quote!(impl A { #[tool] fn f(self) {} }), "take `&self`: all calls share one value"),
        (quote!(impl A { #[tool] fn f(self: Arc<Self>) {} }), "take `&self`"),
        (quote!(impl A { #[tool] fn f<T>(&self, value: T) {} }), "generic function"),
        (
            quote!(
                impl<T> A<T> {
                    #[tool]
                    fn f(&self) {}
                }
            ),
            "generic type",
        ),
        (quote!(impl B for A { #[tool] fn f(&self) {} }), "methods of the type's own"),
        (quote!(impl A { #[tool] #[prompt] fn f(&self) {} }), "one of them for a method"),
        (quote!(impl A { fn f(&self) {} }), "no method has"),
        (quote!(impl A { #[tool(colour)] fn f(&self) {} }), "one of: name"),
    ] {
        let text = item.to_string();
        let said = methods(item);
        assert!(said.contains(expected), "{text}: {said}");
    }
    assert!(message(tools::expand(quote!(all), quote!(impl A {}))).contains("no settings"));
}

#[test]
fn modules_without_anything_to_offer_are_refused() {
    assert!(
        message(server::expand(
            TokenStream::new(),
            quote!(
                mod a {
                    fn f() {}
                }
            )
        ))
        .contains("no function has")
    );
    assert!(
        message(server::expand(
            TokenStream::new(),
            quote!(
                mod a;
            )
        ))
        .contains("no other file")
    );
}
