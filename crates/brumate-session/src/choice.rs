//! Which image a run is forked from.

use brumate_engine::api::Image;

/// The image that suits code: one with more in it when the code imports something of it. A wrong guess costs time, nothing
/// else, so the text is only skimmed: import statements at the beginning of a line or after a `;`.
pub(crate) fn image_for(code: &str) -> Image {
    let wanted = |module: &str| Image::DATA.contains(&module);
    if code.split(['\n', ';']).any(|statement| imported(statement).any(wanted)) {
        Image::data()
    } else {
        Image::plain()
    }
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
            assert_eq!(image_for(code), Image::data(), "{code}");
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
            assert_eq!(image_for(code), Image::plain(), "{code}");
        }
    }
}
