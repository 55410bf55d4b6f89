//! Pictures that a cell shows become files, so that they can be fetched and survive.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brumate_engine::api::MimeBundle;

use super::settings::{MAX_FIGURE_BYTES, MAX_FIGURES};

/// Bytes of all pictures of one cell.
const MAX_ALL_BYTES: usize = 64 << 20;

const PNG: &str = "image/png";

/// Types that make a displayed object a picture, their file endings, and whether they travel as base64.
const PICTURES: [(&str, &str, bool); 5] = [
    (PNG, "png", true),
    ("image/jpeg", "jpg", true),
    ("image/gif", "gif", true),
    ("image/svg+xml", "svg", false),
    ("application/pdf", "pdf", true),
];
/// Plotly's figures; their bundle has a page that shows them as well.
const PLOTLY: &str = "application/vnd.plotly.v1+json";

/// A PNG as it was made, beside the smaller one that is shown.
const ORIGINAL: &str = "application/vnd.brumate.original+png";

/// One form of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) mime: &'static str,
    pub(crate) ending: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// What to show instead, when it is too large for that; empty: nothing is small enough.
    pub(crate) shown: Option<Vec<u8>>,
}

impl Form {
    fn new(mime: &'static str, ending: &'static str, bytes: Vec<u8>) -> Self {
        Self { mime, ending, bytes, shown: None }
    }

    /// Bytes in memory.
    fn size(&self) -> usize {
        self.bytes.len() + self.shown.as_ref().map_or(0, Vec::len)
    }
}

/// The pictures of one cell.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Each in all its forms.
    pub(crate) shown: Vec<Vec<Form>>,
    bytes: usize,
    /// Pictures that there was no room for.
    pub(crate) left_out: usize,
}

/// Whether a mime bundle is a picture rather than something that has a text.
pub(crate) fn figure_of(data: &MimeBundle) -> bool {
    data.contains_key(PLOTLY)
        || data.contains_key(ORIGINAL)
        || PICTURES.iter().any(|(mime, _, _)| data.contains_key(*mime))
}

impl Figures {
    /// Keeps the pictures of a bundle; false when there are none that can be kept.
    pub(crate) fn take(&mut self, data: &MimeBundle) -> bool {
        let mut forms: Vec<Form> = PICTURES
            .iter()
            .filter_map(|(mime, ending, encoded)| {
                let payload = data.get(*mime)?;
                let bytes = if *encoded { decode(payload)? } else { payload.clone().into_bytes() };
                Some(Form::new(mime, ending, bytes))
            })
            .collect();
        if let Some(original) = data.get(ORIGINAL).and_then(|payload| decode(payload))
            && original.len() <= MAX_FIGURE_BYTES
        {
            let smaller = forms.extract_if(.., |form| form.mime == PNG).next().map(|form| form.bytes);
            forms.insert(
                0,
                Form { mime: PNG, ending: "png", bytes: original, shown: Some(smaller.unwrap_or_default()) },
            );
        }
        if let Some(figure) = data.get(PLOTLY) {
            if let Some(page) = data.get("text/html") {
                forms.push(Form::new("text/html", "html", page.clone().into_bytes()));
            }
            forms.push(Form::new("application/json", "json", figure.clone().into_bytes()));
        }
        forms.retain(|form| !form.bytes.is_empty() && form.bytes.len() <= MAX_FIGURE_BYTES);
        let bytes: usize = forms.iter().map(Form::size).sum();
        if forms.is_empty() {
            return false;
        }
        if self.shown.len() >= MAX_FIGURES || self.bytes + bytes > MAX_ALL_BYTES {
            self.left_out += 1;
            return false;
        }
        self.bytes += bytes;
        self.shown.push(forms);
        true
    }
}

/// Base64 as Python writes it, perhaps with line ends.
fn decode(payload: &str) -> Option<Vec<u8>> {
    let joined: String = payload.split_ascii_whitespace().collect();
    STANDARD.decode(joined).ok()
}

/// The number of the next picture, beyond every `figure_N` that there is.
pub(crate) fn next_number<'a>(names: impl Iterator<Item = &'a str>) -> u32 {
    let number = |name: &str| name.strip_prefix("figure_")?.split('.').next()?.parse::<u32>().ok();
    names.filter_map(number).max().unwrap_or(0).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(parts: &[(&str, &str)]) -> MimeBundle {
        parts.iter().map(|(mime, payload)| ((*mime).to_owned(), (*payload).to_owned())).collect()
    }

    #[test]
    fn pictures_are_kept_in_every_form() {
        let mut figures = Figures::default();
        assert!(figures.take(&bundle(&[
            ("image/png", "aGVs\nbG8="),
            ("image/svg+xml", "<svg/>"),
            ("text/plain", "<Figure>")
        ])));
        assert!(figures.take(&bundle(&[(PLOTLY, "{}"), ("text/html", "<div>")])));
        let endings: Vec<Vec<&str>> =
            figures.shown.iter().map(|forms| forms.iter().map(|form| form.ending).collect()).collect();
        assert_eq!(endings, [vec!["png", "svg"], vec!["html", "json"]]);
        assert_eq!(figures.shown[0][0].bytes, b"hello");
    }

    #[test]
    fn the_file_has_the_size_that_was_drawn() {
        let mut figures = Figures::default();
        assert!(figures.take(&bundle(&[("image/png", "aGVs"), (ORIGINAL, "aGVsbG8="), ("image/svg+xml", "<svg/>")])));
        assert!(figures.take(&bundle(&[(ORIGINAL, "aGVsbG8=")])));
        let pngs: Vec<(&[u8], Option<&[u8]>)> =
            figures.shown.iter().map(|forms| (&*forms[0].bytes, forms[0].shown.as_deref())).collect();
        assert_eq!(pngs, [(&b"hello"[..], Some(&b"hel"[..])), (b"hello", Some(b""))]);
        assert_eq!(figures.shown.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(figures.bytes, 8 + 6 + 5);
        // Too large for a file: what is shown is kept.
        let large = STANDARD.encode(vec![0; MAX_FIGURE_BYTES + 1]);
        assert!(figures.take(&bundle(&[("image/png", "aGVs"), (ORIGINAL, &large)])));
        assert_eq!((&*figures.shown[2][0].bytes, figures.shown[2][0].shown.as_ref()), (&b"hel"[..], None));
    }

    #[test]
    fn tables_and_nonsense_are_no_pictures() {
        let mut figures = Figures::default();
        let table = bundle(&[("text/html", "<table>"), ("text/plain", "a b")]);
        assert!(!figure_of(&table) && !figures.take(&table));
        assert!(!figures.take(&bundle(&[("image/png", "not base64!")])));
        assert!(figures.shown.is_empty());
    }

    #[test]
    fn their_number_is_bounded() {
        let mut figures = Figures::default();
        for _ in 0..MAX_FIGURES + 3 {
            figures.take(&bundle(&[("image/png", "aGVsbG8=")]));
        }
        assert_eq!((figures.shown.len(), figures.left_out), (MAX_FIGURES, 3));
    }

    #[test]
    fn numbers_go_on_after_the_highest() {
        assert_eq!(next_number([].into_iter()), 1);
        assert_eq!(next_number(["figure_2.png", "figure_10.svg", "figure_x.png", "a.csv"].into_iter()), 11);
        assert_eq!(next_number(["figure_4294967295.png"].into_iter()), u32::MAX);
    }
}
