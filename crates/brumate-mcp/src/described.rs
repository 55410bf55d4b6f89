//! What tools, resources and prompts say of themselves alike.

use crate::content::Icon;
use serde_json::{Map, Value};

/// Title, description, icons and `_meta`.
#[derive(Clone, Default)]
pub(crate) struct Described {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Map<String, Value>,
}

/// The entry of a list for what is called `name`: what is `described`, and what of `more` is there.
pub(crate) fn descriptor<const N: usize>(
    name: &str,
    described: &Described,
    more: [(&str, Option<Value>); N],
) -> Map<String, Value> {
    let Described { title, description, icons, meta } = described;
    let own = [
        ("name", Some(name.into())),
        ("title", title.clone().map(Into::into)),
        ("description", description.clone().map(Into::into)),
        ("icons", (!icons.is_empty()).then(|| serde_json::to_value(icons).unwrap_or_default())),
        ("_meta", (!meta.is_empty()).then(|| meta.clone().into())),
    ];
    own.into_iter().chain(more).filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// The builder's methods for the field `described`.
macro_rules! described_methods {
    (#[doc = $description:literal]) => {
        /// A name for people.
        #[must_use]
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.described.title = Some(title.into());
            self
        }

        #[doc = $description]
        #[must_use]
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.described.description = Some(description.into());
            self
        }

        /// An icon; repeat for more.
        #[must_use]
        pub fn icon(mut self, icon: $crate::Icon) -> Self {
            self.described.icons.push(icon);
            self
        }

        /// An entry of `_meta`.
        #[must_use]
        pub fn meta(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
            self.described.meta.insert(key.into(), value.into());
            self
        }
    };
}
pub(crate) use described_methods;
