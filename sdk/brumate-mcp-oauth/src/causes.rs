//! Errors in one line.

use std::error::Error as StdError;

/// Returns an error and its causes in one line; a cause whose text the error has is left out.
pub fn causes(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_follow_once_each() {
        #[derive(Debug, thiserror::Error)]
        #[error("the file cannot be read")]
        struct Outer(#[source] std::io::Error);
        let error = Outer(std::io::Error::other("it is gone"));
        assert_eq!(causes(&error), "the file cannot be read: it is gone");
    }
}
