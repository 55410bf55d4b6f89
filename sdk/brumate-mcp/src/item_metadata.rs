//! Metadata that tools, resources and prompts have in common.

use crate::content::Icon;
use serde_json::{Map, Value};

/// The title, the description, the icons and `_meta` of an item.
#[derive(Clone, Default)]
pub(crate) struct ItemMetadata {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Map<String, Value>,
}

/// Makes the entry of a list for the item `name`. Fields of `more` that are `None` are left out.
pub(crate) fn descriptor<const N: usize>(
    name: &str,
    metadata: &ItemMetadata,
    more: [(&str, Option<Value>); N],
) -> Map<String, Value> {
    let ItemMetadata { title, description, icons, meta } = metadata;
    let own = [
        ("name", Some(name.into())),
        ("title", title.clone().map(Into::into)),
        ("description", description.clone().map(Into::into)),
        ("icons", (!icons.is_empty()).then(|| serde_json::to_value(icons).unwrap_or_default())),
        ("_meta", (!meta.is_empty()).then(|| meta.clone().into())),
    ];
    own.into_iter().chain(more).filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// Defines the builder methods for the field `metadata`.
macro_rules! metadata_methods {
    (#[doc = $description:literal]) => {
        /// Sets the name that people see.
        #[must_use]
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.metadata.title = Some(title.into());
            self
        }

        #[doc = $description]
        #[must_use]
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.metadata.description = Some(description.into());
            self
        }

        /// Adds an icon.
        #[must_use]
        pub fn icon(mut self, icon: $crate::Icon) -> Self {
            self.metadata.icons.push(icon);
            self
        }

        /// Sets an entry of `_meta`.
        #[must_use]
        pub fn meta(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
            self.metadata.meta.insert(key.into(), value.into());
            self
        }
    };
}
pub(crate) use metadata_methods;
