//! Files of cells: written files, figures, uploads.

use brumate_engine_api::{Event, FileError};
use brumate_session::CancellationToken;
use brumate_session::sessions::{ANSWER_BYTES, FileName, FullText, LOCAL_PRINCIPAL, SessionError, SessionFile, Upload};
use brumate_session::testing::Script;

use super::support::{Host, engine, texts};

fn file(name: &str, mime: &str, size: u64) -> SessionFile {
    SessionFile { name: name.to_owned(), mime: mime.to_owned(), size }
}

fn picture(parts: &[(&str, &str)]) -> Event {
    Event::DisplayData { data: parts.iter().map(|(mime, data)| ((*mime).to_owned(), (*data).to_owned())).collect() }
}

async fn read(host: &Host, id: &str, name: &str) -> Result<(Vec<u8>, String), SessionError> {
    let name = FileName::parse(name).unwrap();
    host.read(id, &name).await
}

#[tokio::test]
async fn files_are_reported_once_by_the_cell_that_made_or_changed_them() {
    let scripts = engine()
        .on("make", Script::silent().writes("a.csv", "1,2\n").writes("sub/README", "hello").writes(".cache/x", "no"))
        .on("change", Script::silent().writes("a.csv", "3,4\n"))
        .on("remove", Script::silent().removes("a.csv"));
    let host = Host::with(scripts, |_| {}).await;
    let report = host.cell(None, "make").await.unwrap();
    let id = report.id.to_string();
    assert_eq!(report.files, [file("a.csv", "text/csv", 4), file("sub/README", "text/plain", 5)]);
    let quiet = host.cell(Some(&id), "1 + 1").await.unwrap();
    assert!(quiet.files.is_empty() && !quiet.files_changed);
    // The same size, but written to.
    let changed = host.cell(Some(&id), "change").await.unwrap();
    assert_eq!(changed.files, [file("a.csv", "text/csv", 4)]);
    let removed = host.cell(Some(&id), "remove").await.unwrap();
    assert!(removed.files.is_empty() && removed.files_changed);
    assert_eq!(host.sessions.files(LOCAL_PRINCIPAL, &id).await.unwrap(), [file("sub/README", "text/plain", 5)]);
    // The file is known after a restart as well.
    let host = host.restart(true).await;
    assert!(host.cell(Some(&id), "1 + 1").await.unwrap().files.is_empty());
}

#[tokio::test]
async fn figures_become_files_and_pictures() {
    let shown = picture(&[("image/png", "aGVsbG8="), ("text/plain", "<Figure>")]);
    let plotly =
        picture(&[("application/vnd.plotly.v1+json", "{}"), ("text/html", "<div>"), ("text/plain", "Figure({...})")]);
    let scripts = engine()
        .on("show", Script::silent().stdout("a\n").event(shown.clone()).event(shown.clone()))
        .on("plotly", Script::silent().event(plotly))
        .on("both", Script::silent().writes("mine.png", b"\x89PNG".to_vec()).event(shown))
        .on("save", Script::silent().writes("saved.png", b"\x89PNG saved".to_vec()));
    let host = Host::with(scripts, |_| {}).await;
    let report = host.cell(None, "show").await.unwrap();
    let id = report.id.to_string();
    assert_eq!(report.files, [file("figure_1.png", "image/png", 5), file("figure_2.png", "image/png", 5)]);
    assert_eq!(texts(&report), ["a\n"], "a picture is not shown as text as well");
    assert_eq!((report.run.images.len(), report.run.images[1].bytes.as_slice()), (2, &b"hello"[..]));
    assert_eq!(read(&host, &id, "figure_1.png").await.unwrap(), (b"hello".to_vec(), "image/png".to_owned()));
    let plotly = host.cell(Some(&id), "plotly").await.unwrap();
    assert_eq!(plotly.files, [file("figure_3.html", "text/html", 5), file("figure_3.json", "application/json", 2)]);
    let both = host.cell(Some(&id), "both").await.unwrap();
    assert_eq!(both.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["mine.png", "figure_4.png"]);
    assert_eq!(both.run.images.len(), 1, "what was shown is not shown twice");
    let saved = host.cell(Some(&id), "save").await.unwrap();
    assert_eq!((saved.run.images.len(), saved.run.images[0].name.as_deref()), (1, Some("saved.png")));
}

#[tokio::test]
async fn long_texts_are_kept_as_files_the_newest_ones() {
    let long = "x".repeat(ANSWER_BYTES + 1);
    let host = Host::with(engine().on("long", Script::silent().stdout(&long)), |_| {}).await;
    let id = host.open("1 + 1").await;
    for number in 2..=23 {
        let report = host.cell(Some(&id), "long").await.unwrap();
        assert_eq!(report.full_text, FullText::InFile(format!(".output/{number}.txt")));
        assert!(report.files.is_empty(), "it is not one of the user's files");
    }
    let (text, mime) = read(&host, &id, ".output/23.txt").await.unwrap();
    assert_eq!((text.len(), mime.as_str()), (long.len(), "text/plain"));
    let gone = read(&host, &id, ".output/3.txt").await.unwrap_err();
    assert_eq!(gone, SessionError::File { name: ".output/3.txt".to_owned(), error: FileError::NotFound });
    assert!(read(&host, &id, ".output/4.txt").await.is_ok());
}

#[tokio::test]
async fn uploads_come_in_parts_and_are_not_reported_by_the_next_cell() {
    let host = Host::new().await;
    let part = |offset: u64, bytes: &[u8], last| Upload {
        name: FileName::parse("data/in.csv").unwrap(),
        offset,
        bytes: bytes.to_vec(),
        last,
    };
    let cancel = CancellationToken::new();
    let upload = |id: Option<String>, part: Upload| {
        let (sessions, cancel) = (host.sessions.clone(), cancel.clone());
        async move { sessions.upload(LOCAL_PRINCIPAL, id.as_deref(), part, &cancel).await }
    };
    let (id, first) = upload(None, part(0, b"a,b\n", false)).await.unwrap();
    assert_eq!(first, file("data/in.csv", "text/csv", 4));
    let id = id.to_string();
    let big = vec![b'1'; 3 << 20];
    let (_, second) = upload(Some(id.clone()), part(4, &big, true)).await.unwrap();
    assert_eq!(second.size, 4 + (3 << 20));
    assert!(host.cell(Some(&id), "1 + 1").await.unwrap().files.is_empty());
    let (bytes, _) = read(&host, &id, "data/in.csv").await.unwrap();
    assert_eq!((bytes.len(), &bytes[..5]), (4 + big.len(), &b"a,b\n1"[..]));
    let chunk =
        host.sessions.read_file(LOCAL_PRINCIPAL, &id, &FileName::parse("data/in.csv").unwrap(), 4, &cancel).await;
    let chunk = chunk.unwrap();
    assert_eq!((chunk.bytes.len() as u64, chunk.size), (1 << 20, 4 + (3 << 20)));
    let full = upload(Some(id.clone()), part(1 << 40, b"x", false)).await.unwrap_err();
    assert!(matches!(full, SessionError::File { error: FileError::NoSpace, .. }), "{full}");
    let unknown = upload(Some("0123456789abcdef".to_owned()), part(0, b"", true)).await.unwrap_err();
    assert!(matches!(unknown, SessionError::NotFound { .. }));
}
