//! The wheels that are embedded in this binary, as requirements are resolved against them.

use brumate_packages::{Bundle, BundleError, Distribution};

/// Lists the wheels that this binary ships.
///
/// # Errors
///
/// When the table that was built into it contradicts itself.
pub fn bundle() -> Result<Bundle, BundleError> {
    Bundle::new(brumate_engine::bundle::wheels().iter().map(|wheel| {
        Distribution::new(wheel.name, wheel.version)
            .provides(wheel.import_names.iter().copied())
            .requires(wheel.requires.iter().copied())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundle_of_this_binary_is_consistent() {
        let bundle = bundle().unwrap();
        for wheel in brumate_engine::bundle::wheels() {
            let requirement = wheel.name.parse().unwrap();
            let resolved = bundle.resolve(&[requirement]).unwrap();
            assert_eq!(resolved.wheels.last().map(String::as_str), Some(wheel.name));
        }
        assert_eq!(bundle.distribution_of("PIL").unwrap().as_str(), "pillow");
    }
}
