//! Choice of the image that a run is forked from.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use brumate_engine_api::Image;

/// A byte order mark, and its bytes in UTF-8, each as a character.
const BOM: &str = "\u{feff}";
const BOM_BYTES: &str = "\u{ef}\u{bb}\u{bf}";

/// Returns the image with most of `imports`, or the plain image if none has any of them. A wrong choice only costs
/// time.
pub(crate) fn image_for(imports: &BTreeSet<String>, images: &[Image]) -> Image {
    let used = |image: &&Image| image.modules().iter().filter(|module| imports.contains(*module)).count();
    let best = images.iter().max_by_key(|image| (used(image), Reverse(image.modules().len())));
    best.filter(|image| used(image) > 0).cloned().unwrap_or_default()
}

/// Returns the top-level modules that code imports. The text is only skimmed: import statements count at the beginning
/// of a line and after a `;`.
pub fn imports_of(code: &str) -> BTreeSet<String> {
    // The code may be text, or the bytes of a file.
    let code = [BOM, BOM_BYTES].into_iter().find_map(|bom| code.strip_prefix(bom)).unwrap_or(code);
    code.split(['\n', ';']).flat_map(imported).map(str::to_owned).collect()
}

/// Returns the top-level modules that one statement imports.
fn imported(statement: &str) -> impl Iterator<Item = &str> {
    let statement = statement.trim_start();
    let (list, from) = match (statement.strip_prefix("import "), statement.strip_prefix("from ")) {
        (Some(modules), _) => (modules, false),
        (None, Some(rest)) => (rest, true),
        (None, None) => ("", false),
    };
    let count = if from { 1 } else { usize::MAX };
    list.split(',').take(count).filter_map(|item| item.split_whitespace().next()?.split('.').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(code: &str, images: &[Image]) -> Image {
        image_for(&imports_of(code), images)
    }

    #[test]
    fn data_is_for_code_that_imports_it() {
        for code in [
            "import numpy",
            "x = 1\nimport os, numpy as np\n",
            "def f():\n    from pandas.core import frame",
            "import os; import matplotlib.pyplot as plt",
            "if True:\n\timport  pandas",
            "\u{feff}import numpy",
            "\u{ef}\u{bb}\u{bf}import numpy\n",
        ] {
            assert_eq!(chosen(code, &[Image::data()]), Image::data(), "{code}");
        }
        for code in [
            "",
            "import os",
            "from . import numpy",
            "numpy = 1",
            "import numpyro",
            "# import numpy",
            "from os import pandas",
        ] {
            assert_eq!(chosen(code, &[Image::data()]), Image::plain(), "{code}");
        }
    }

    #[test]
    fn the_image_that_has_most_of_what_is_imported_wins() {
        let images = [Image::data(), Image::of(["PIL"]), Image::of(["numpy", "PIL"])];
        assert_eq!(chosen("import PIL", &images), images[1]);
        assert_eq!(chosen("import PIL, numpy", &images), images[2]);
        assert_eq!(chosen("import numpy, pandas", &images), images[0]);
        assert_eq!(chosen("import json", &images), Image::plain());
    }
}
