//! Skills of a directory, as clients see them.

use brumate_mcp::{Client, Server};
use std::path::Path;

fn write(root: &Path, name: &str, text: &[u8]) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

const REVIEW: &str = "---\nname: review\ndescription: Reviews code\nlicense: MIT\n---\nRead it twice.\n";

#[tokio::test]
async fn clients_list_and_read_skills() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(root, "review/SKILL.md", REVIEW.as_bytes());
    write(root, "review/scripts/check.py", b"print(1)\n");
    write(root, "review/logo.png", b"\x89PNG\0");
    write(root, "broken/SKILL.md", b"no head");
    std::os::unix::fs::symlink("/etc/passwd", root.join("review-link")).unwrap();
    let server = Server::new("skilled").skills(root);
    let client = Client::in_process(&server).connect().await.unwrap();
    assert!(client.capabilities()["extensions"]["io.modelcontextprotocol/skills"]["directoryRead"].as_bool().unwrap());

    let skills = client.skills().await.unwrap();
    let [review] = &skills[..] else { panic!("{skills:?}") };
    assert_eq!((review.uri.as_str(), review.frontmatter.name.as_str()), ("skill://review/SKILL.md", "review"));
    assert_eq!(review.frontmatter.extra["license"], "MIT");
    assert_eq!(client.skill("skill://review/SKILL.md").await.unwrap(), *review);
    client.skill("skill://broken/SKILL.md").await.unwrap_err();

    let files = review.files.as_ref().unwrap();
    assert_eq!(files.len(), 3);
    for file in files {
        let contents = client.read(&file.uri).await.unwrap();
        let bytes = contents[0].as_text().map_or_else(|| contents[0].as_bytes(), str::as_bytes);
        assert!(file.matches(bytes), "{}", file.uri);
        assert!(!file.matches(b"other"));
    }
    let listed = client.resources().await.unwrap();
    assert_eq!(listed.iter().map(|resource| resource.uri.as_str()).collect::<Vec<_>>(), ["skill://review/SKILL.md"]);
    let names = |entries: Vec<brumate_mcp::client::ResourceInfo>| {
        let mut names: Vec<_> = entries.into_iter().map(|entry| entry.name).collect();
        names.sort();
        names
    };
    assert_eq!(names(client.directory("skill://review").await.unwrap()), ["SKILL.md", "logo.png", "scripts"]);
    assert_eq!(names(client.directory("skill://review/scripts").await.unwrap()), ["check.py"]);
    for outside in ["skill://review/../review-link", "skill://review-link", "file:///etc/passwd"] {
        client.directory(outside).await.unwrap_err();
        client.read(outside).await.unwrap_err();
    }
}

#[tokio::test]
async fn a_changed_directory_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "review/SKILL.md", REVIEW.as_bytes());
    let server = Server::new("skilled").skills(directory.path());
    let client = Client::in_process(&server).connect().await.unwrap();
    assert!(!server.reload_skills().unwrap());
    std::fs::rename(directory.path().join("review"), directory.path().join("check")).unwrap();
    write(directory.path(), "check/SKILL.md", REVIEW.replace("review", "check").as_bytes());
    client.read("skill://review/SKILL.md").await.unwrap();
    assert!(server.reload_skills().unwrap());
    client.read("skill://review/SKILL.md").await.unwrap_err();
    assert_eq!(client.resources().await.unwrap()[0].uri, "skill://check/SKILL.md");
    drop(directory);
    server.reload_skills().unwrap_err();
    client.read("skill://check/SKILL.md").await.unwrap();
}

#[tokio::test]
async fn a_server_without_skills_says_so() {
    let client = Client::in_process(&Server::new("plain")).connect().await.unwrap();
    client.skills().await.unwrap_err();
    let missing = Server::new("skilled").skills("/nowhere/at/all");
    let error = missing.start().await.unwrap_err().to_string();
    assert!(error.contains("/nowhere/at/all"), "{error}");
}
