//! Import names and the distributions that are well known for them.

/// The distribution that is well known for a module.
pub fn distribution_for(module: &str) -> Option<&'static str> {
    Some(match module {
        "yaml" => "PyYAML",
        "requests" => "requests",
        "rich" => "rich",
        "bs4" => "beautifulsoup4",
        _ => return None,
    })
}
