//! Pictures of a cell: kept as files, so that they can be downloaded and survive.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brumate_engine_api::MimeBundle;

use super::limits::{MAX_FIGURE_BYTES, MAX_FIGURES};

/// Most bytes of all pictures of one cell.
const MAX_ALL_BYTES: usize = 64 << 20;

pub(super) const PNG: &str = "image/png";
const JPEG: &str = "image/jpeg";
const HTML: &str = "text/html";

/// MIME types that make a displayed object a picture, with their file extensions, and whether they are base64.
const PICTURES: [(&str, &str, bool); 5] = [
    (PNG, "png", true),
    (JPEG, "jpg", true),
    ("image/gif", "gif", true),
    ("image/svg+xml", "svg", false),
    ("application/pdf", "pdf", true),
];
/// MIME type of Plotly's figures; their bundle has an HTML page as well.
const PLOTLY: &str = "application/vnd.plotly.v1+json";

/// MIME type of a PNG in its full size, beside the smaller one that is shown.
pub(super) const ORIGINAL: &str = "application/vnd.brumate.original+png";

/// MIME type of the name of the session file that has this picture already.
pub(super) const SAVED: &str = "application/vnd.brumate.saved+text";

/// MIME type in bundles of displays that may be updated later.
pub(super) const DISPLAY_ID: &str = "application/vnd.brumate.display+json";

/// Picture in one format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FigureFormat {
    pub(crate) mime: &'static str,
    pub(crate) ending: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// Smaller picture to show instead of `bytes`; empty if none is small enough.
    pub(crate) shown: Option<Vec<u8>>,
}

impl FigureFormat {
    fn new(mime: &'static str, ending: &'static str, bytes: Vec<u8>) -> Self {
        Self { mime, ending, bytes, shown: None }
    }

    /// Returns the bytes in memory.
    fn size(&self) -> usize {
        self.bytes.len() + self.shown.as_ref().map_or(0, Vec::len)
    }
}

/// Picture that a cell showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Figure {
    /// The picture in different formats.
    pub(crate) formats: Vec<FigureFormat>,
    /// Name of the file to which the guest has saved the first format.
    pub(crate) saved: Option<String>,
}

/// The pictures of one cell.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// In the order in which they were shown.
    pub(crate) shown: Vec<Figure>,
    bytes: usize,
    /// Number of pictures that did not fit.
    pub(crate) left_out: usize,
}

/// Returns the picture of a MIME bundle to show: PNG, JPEG or GIF.
pub(crate) fn picture_of(data: &MimeBundle) -> Option<Vec<u8>> {
    let payload = [PNG, JPEG, "image/gif"].iter().find_map(|mime| data.get(*mime))?;
    decode(payload).filter(|bytes| !bytes.is_empty() && bytes.len() <= MAX_FIGURE_BYTES)
}

/// Returns whether a MIME bundle is a picture rather than text.
pub(crate) fn figure_of(data: &MimeBundle) -> bool {
    data.contains_key(PLOTLY)
        || data.contains_key(ORIGINAL)
        || PICTURES.iter().any(|(mime, _, _)| data.contains_key(*mime))
        || is_page(data)
}

/// Returns whether only the HTML form of a MIME bundle has its content, and the text just names the object, as for a
/// styled table. Updatable displays are excluded: a progress bar would fill the directory.
fn is_page(data: &MimeBundle) -> bool {
    let again = data.get(DISPLAY_ID).is_some_and(|name| name.contains(r#""update":true"#));
    data.contains_key(HTML) && !TEXTS.iter().any(|mime| data.contains_key(*mime)) && names_an_object(data) && !again
}

/// MIME types that can be read as text, for objects whose text only names them: `display(Markdown("# title"))`,
/// `display(JSON(…))`.
const TEXTS: [&str; 3] = ["text/markdown", "text/latex", "application/json"];

/// Returns whether the text of a bundle is that of `object.__repr__`.
fn names_an_object(data: &MimeBundle) -> bool {
    let text = data.get("text/plain").map_or("", |text| text.trim());
    text.is_empty() || (text.starts_with('<') && text.ends_with('>') && !text.contains('\n'))
}

/// Returns the text of a displayed object.
pub(crate) fn text_of(data: &MimeBundle) -> Option<&String> {
    let source = || TEXTS.iter().find_map(|mime| data.get(*mime));
    let plain = data.get("text/plain");
    if names_an_object(data) { source().or(plain) } else { plain }
}

impl Figures {
    /// Keeps the picture of a bundle; false if it has none that can be kept.
    pub(crate) fn keep(&mut self, data: &MimeBundle) -> bool {
        let mut formats: Vec<FigureFormat> = PICTURES
            .iter()
            .filter_map(|(mime, ending, encoded)| {
                let payload = data.get(*mime)?;
                let bytes = if *encoded { decode(payload)? } else { payload.clone().into_bytes() };
                Some(FigureFormat::new(mime, ending, bytes))
            })
            .collect();
        if let Some(original) = data.get(ORIGINAL).and_then(|payload| decode(payload))
            && original.len() <= MAX_FIGURE_BYTES
        {
            let smaller = formats.extract_if(.., |format| format.mime == PNG).next().map(|format| format.bytes);
            formats.insert(
                0,
                FigureFormat { mime: PNG, ending: "png", bytes: original, shown: Some(smaller.unwrap_or_default()) },
            );
        }
        if formats.iter().any(|format| format.mime == PNG) {
            // Pillow's pictures have both formats; one is enough.
            formats.retain(|format| format.mime != JPEG);
        }
        let page = data.get(HTML).filter(|_| data.contains_key(PLOTLY) || (formats.is_empty() && is_page(data)));
        if let Some(page) = page {
            formats.push(FigureFormat::new(HTML, "html", page.clone().into_bytes()));
        }
        if let Some(figure) = data.get(PLOTLY) {
            formats.push(FigureFormat::new("application/json", "json", figure.clone().into_bytes()));
        }
        formats.retain(|format| !format.bytes.is_empty() && format.bytes.len() <= MAX_FIGURE_BYTES);
        let bytes: usize = formats.iter().map(FigureFormat::size).sum();
        if formats.is_empty() {
            return false;
        }
        if self.shown.len() >= MAX_FIGURES || self.bytes + bytes > MAX_ALL_BYTES {
            self.left_out += 1;
            return false;
        }
        self.bytes += bytes;
        self.shown.push(Figure { formats, saved: data.get(SAVED).cloned() });
        true
    }
}

/// Decodes base64 as Python writes it, possibly with line ends.
fn decode(payload: &str) -> Option<Vec<u8>> {
    let joined: String = payload.split_ascii_whitespace().collect();
    STANDARD.decode(joined).ok()
}

/// Returns the number of the next picture, above every existing `figure_N`.
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
        assert!(figures.keep(&bundle(&[
            ("image/png", "aGVs\nbG8="),
            ("image/svg+xml", "<svg/>"),
            ("text/plain", "<Figure>")
        ])));
        assert!(figures.keep(&bundle(&[(PLOTLY, "{}"), ("text/html", "<div>")])));
        let endings: Vec<Vec<&str>> =
            figures.shown.iter().map(|figure| figure.formats.iter().map(|format| format.ending).collect()).collect();
        assert_eq!(endings, [vec!["png", "svg"], vec!["html", "json"]]);
        assert_eq!(figures.shown[0].formats[0].bytes, b"hello");
    }

    #[test]
    fn the_file_has_the_size_that_was_drawn() {
        let mut figures = Figures::default();
        assert!(figures.keep(&bundle(&[("image/png", "aGVs"), (ORIGINAL, "aGVsbG8="), ("image/svg+xml", "<svg/>")])));
        assert!(figures.keep(&bundle(&[(ORIGINAL, "aGVsbG8=")])));
        let pngs: Vec<(&[u8], Option<&[u8]>)> = figures
            .shown
            .iter()
            .map(|figure| (&*figure.formats[0].bytes, figure.formats[0].shown.as_deref()))
            .collect();
        assert_eq!(pngs, [(&b"hello"[..], Some(&b"hel"[..])), (b"hello", Some(b""))]);
        assert_eq!(figures.shown.iter().map(|figure| figure.formats.len()).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(figures.bytes, 8 + 6 + 5);
        // Too large for a file: the smaller picture is kept.
        let large = STANDARD.encode(vec![0; MAX_FIGURE_BYTES + 1]);
        assert!(figures.keep(&bundle(&[("image/png", "aGVs"), (ORIGINAL, &large)])));
        assert_eq!(
            (&*figures.shown[2].formats[0].bytes, figures.shown[2].formats[0].shown.as_ref()),
            (&b"hel"[..], None)
        );
    }

    #[test]
    fn tables_and_nonsense_are_no_pictures() {
        let mut figures = Figures::default();
        let table = bundle(&[("text/html", "<table>"), ("text/plain", "a b")]);
        assert!(!figure_of(&table) && !figures.keep(&table));
        assert!(!figures.keep(&bundle(&[("image/png", "not base64!")])));
        assert!(figures.shown.is_empty());
    }

    #[test]
    fn a_picture_is_kept_once() {
        let mut figures = Figures::default();
        assert!(figures.keep(&bundle(&[("image/png", "aGVs"), ("image/jpeg", "aGVs"), ("text/plain", "<Image>")])));
        assert_eq!(figures.shown[0].formats.iter().map(|format| format.ending).collect::<Vec<_>>(), ["png"]);
    }

    #[test]
    fn what_is_only_html_is_kept_as_a_page() {
        let mut figures = Figures::default();
        let styled = bundle(&[("text/html", "<style>"), ("text/plain", "<Styler object at 0x1>")]);
        assert!(figure_of(&styled) && figures.keep(&styled));
        assert_eq!((figures.shown[0].formats[0].mime, figures.shown[0].formats[0].ending), ("text/html", "html"));
        let mut again = styled.clone();
        again.insert(DISPLAY_ID.to_owned(), r#"{"display_id":"a","update":true}"#.to_owned());
        assert!(!figure_of(&again) && !figures.keep(&again));
    }

    #[test]
    fn texts_are_shown_by_their_source_when_nothing_else_says_what_they_are() {
        let shown = |parts| text_of(&bundle(parts)).cloned();
        let title = [("text/markdown", "# a"), ("text/plain", "<IPython.core.display.Markdown object>")];
        assert_eq!(shown(&title).as_deref(), Some("# a"));
        assert!(!figure_of(&bundle(&title)));
        let json = [("application/json", "{}"), ("text/plain", "<IPython.core.display.JSON object>")];
        assert_eq!(shown(&json).as_deref(), Some("{}"));
        assert_eq!(shown(&[("text/latex", "$x$"), ("text/plain", "x")]).as_deref(), Some("x"));
        assert_eq!(shown(&[("text/plain", "<a b>")]).as_deref(), Some("<a b>"));
    }

    #[test]
    fn their_number_is_bounded() {
        let mut figures = Figures::default();
        for _ in 0..MAX_FIGURES + 3 {
            figures.keep(&bundle(&[("image/png", "aGVsbG8=")]));
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
