//! Markdown documents: links, anchors, blocks with their code spans, lines of code blocks.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};

/// What the checks need of one Markdown file.
#[derive(Debug, Default)]
pub(crate) struct Document {
    /// Path below the repository's root.
    pub(crate) path: String,
    pub(crate) links: Vec<Link>,
    /// Anchors of headings by GitHub's rules, and of HTML elements with `id` or `name`.
    pub(crate) anchors: BTreeSet<String>,
    pub(crate) blocks: Vec<Block>,
    /// Lines of code blocks with their numbers.
    pub(crate) code_lines: Vec<(usize, String)>,
}

/// The target of a link or an image.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) line: usize,
    pub(crate) target: String,
}

/// A paragraph, a heading, a list item or a row of a table.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) line: usize,
    /// Whether it is a row of a table, not counting the row of headings.
    pub(crate) is_row: bool,
    /// The cells of a row; one cell in any other block.
    pub(crate) cells: Vec<Vec<Piece>>,
}

/// Text or a code span.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Code { line: usize, text: String },
}

impl Block {
    /// Returns whether the block's text, without code spans, contains `words`.
    pub(crate) fn says(&self, words: &str) -> bool {
        self.cells.iter().any(|cell| says(cell, words))
    }
}

/// Returns whether the text of a cell, without code spans, contains `words`.
pub(crate) fn says(cell: &[Piece], words: &str) -> bool {
    let text: String = cell.iter().map(|piece| if let Piece::Text(text) = piece { text } else { " " }).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words)
}

/// Reads a Markdown file.
pub(crate) fn parse(path: &str, text: &str) -> Document {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM;
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut reader =
        Reader { document: Document { path: path.to_owned(), ..Document::default() }, ..Reader::default() };
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        reader.read(event, starts.partition_point(|start| *start <= range.start));
    }
    reader.finish_block();
    reader.document
}

/// The document so far, and the block at hand.
#[derive(Default)]
struct Reader {
    document: Document,
    block: Block,
    heading: Option<String>,
    in_code_block: bool,
    slugs: BTreeMap<String, usize>,
}

impl Reader {
    fn read(&mut self, event: Event<'_>, line: usize) {
        match event {
            Event::Start(tag) => self.start(tag, line),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code_block => {
                let lines = text.lines().enumerate().map(|(index, text)| (line + index, text.to_owned()));
                self.document.code_lines.extend(lines);
            }
            Event::Text(text) => self.text(&text, line),
            Event::SoftBreak | Event::HardBreak => self.text(" ", line),
            Event::Code(text) => {
                if let Some(heading) = &mut self.heading {
                    heading.push_str(&text);
                }
                self.push(Piece::Code { line, text: text.into_string() }, line);
            }
            Event::Html(html) | Event::InlineHtml(html) => self.document.anchors.extend(html_anchors(&html)),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, line: usize) {
        match tag {
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.document.links.push(Link { line, target: dest_url.into_string() });
            }
            Tag::TableCell => self.block.cells.push(Vec::new()),
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough => {}
            tag => {
                self.finish_block();
                self.block.line = line;
                self.block.is_row = matches!(tag, Tag::TableRow);
                self.in_code_block = matches!(tag, Tag::CodeBlock(_));
                self.heading = matches!(tag, Tag::Heading { .. }).then(String::new);
            }
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Link | TagEnd::Image | TagEnd::TableCell => {}
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {}
            _ => {
                if let Some(heading) = self.heading.take() {
                    self.add_heading(&heading);
                }
                self.in_code_block = false;
                self.finish_block();
            }
        }
    }

    fn text(&mut self, text: &str, line: usize) {
        if let Some(heading) = &mut self.heading {
            heading.push_str(text);
        }
        self.push(Piece::Text(text.to_owned()), line);
    }

    /// Appends to the last cell. Adjacent texts become one, since the parser splits them at will.
    fn push(&mut self, piece: Piece, line: usize) {
        if self.block.cells.is_empty() {
            self.block.cells.push(Vec::new());
            if self.block.line == 0 {
                self.block.line = line;
            }
        }
        let Some(cell) = self.block.cells.last_mut() else {
            return;
        };
        match (cell.last_mut(), piece) {
            (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
            (_, piece) => cell.push(piece),
        }
    }

    fn finish_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        if !block.cells.is_empty() {
            self.document.blocks.push(block);
        }
    }

    fn add_heading(&mut self, heading: &str) {
        let slug = slug(heading);
        let count = self.slugs.entry(slug.clone()).or_default();
        let anchor = if *count == 0 { slug } else { format!("{slug}-{count}") };
        *count += 1;
        self.document.anchors.insert(anchor);
    }
}

/// Returns the anchor that GitHub gives a heading: lower case, no punctuation, hyphens for spaces.
pub(crate) fn slug(heading: &str) -> String {
    let lower = heading.trim().to_lowercase();
    let kept = lower.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the values of `id` and `name` attributes.
pub(crate) fn html_anchors(html: &str) -> Vec<String> {
    let mut anchors = Vec::new();
    for attribute in [" id=\"", " name=\""] {
        for part in html.split(attribute).skip(1) {
            anchors.extend(part.split_once('"').map(|(value, _)| value.to_owned()));
        }
    }
    anchors
}
