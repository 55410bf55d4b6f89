//! The packages inside this binary, for the resolution of requirements.

use brumate_packages::{Bundle, BundleError, Distribution};

/// Returns the wheels inside this binary, and the packages that the sandbox stands in for.
///
/// # Errors
///
/// The table of wheels contradicts itself.
pub fn bundle() -> Result<Bundle, BundleError> {
    let wheels = brumate_engine::bundle::wheels().iter().map(|wheel| {
        Distribution::new(wheel.name, wheel.version)
            .provides(wheel.import_names.iter().copied())
            .requires(wheel.requires.iter().copied())
    });
    let stand_ins = brumate_engine::bundle::STAND_INS.iter();
    Bundle::new(wheels.chain(stand_ins.map(|package| {
        Distribution::new(package.name, package.version).provides(package.import_names.iter().copied())
    })))
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
