//! Which image a run is forked from.

use std::cmp::Reverse;
use std::collections::HashSet;

use brumate_engine_api::Image;

/// Of `images` the one of which code imports most; plain, when it imports nothing of any. A wrong guess costs time, nothing
/// else, so the text is only skimmed: import statements at the beginning of a line or after a `;`.
pub(crate) fn image_for(code: &str, images: &[Image]) -> Image {
    let modules: HashSet<&str> = imports_of(code).collect();
    let used = |image: &&Image| image.modules().iter().filter(|module| modules.contains(module.as_str())).count();
    let best = images.iter().max_by_key(|image| (used(image), Reverse(image.modules().len())));
    best.filter(|image| used(image) > 0).cloned().unwrap_or_default()
}

/// Returns the top-level modules that code imports, as far as a glance at its text tells.
pub(crate) fn imports_of(code: &str) -> impl Iterator<Item = &str> {
    code.split(['\n', ';']).flat_map(imported)
}

/// Top-level modules that one statement imports.
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

    #[test]
    fn data_is_for_code_that_imports_it() {
        for code in [
            "import numpy",
            "x = 1\nimport os, numpy as np\n",
            "def f():\n    from pandas.core import frame",
            "import os; import matplotlib.pyplot as plt",
            "if True:\n\timport  pandas",
        ] {
            assert_eq!(image_for(code, &[Image::data()]), Image::data(), "{code}");
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
            assert_eq!(image_for(code, &[Image::data()]), Image::plain(), "{code}");
        }
    }

    #[test]
    fn the_image_that_has_most_of_what_is_imported_wins() {
        let images = [Image::data(), Image::of(["PIL"]), Image::of(["numpy", "PIL"])];
        assert_eq!(image_for("import PIL", &images), images[1]);
        assert_eq!(image_for("import PIL, numpy", &images), images[2]);
        assert_eq!(image_for("import numpy, pandas", &images), images[0]);
        assert_eq!(image_for("import json", &images), Image::plain());
    }
}
