//! Options of `brumate run`: variables, packages, the object that is served, arguments of the program.

use serde_json::json;

use super::server::{HOST_VARIABLE, Server, abuse};
use crate::support::wheels::wheel;

/// Two servers in one file, and a function that makes a third one.
const SEVERAL: &str = "
from importlib.metadata import version

from mcp.server.fastmcp import FastMCP

first, second = FastMCP('First'), FastMCP('Second')


def made() -> FastMCP:
    return FastMCP('Made')


@second.tool()
def version_of(name: str) -> str:
    return version(name)


@second.tool()
def greeting() -> str:
    import project_with_greeting

    return project_with_greeting.GREETING
";

#[test]
fn variables_come_from_the_command_line_and_from_files() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(".env");
    std::fs::write(&file, "# secrets\nexport A=file\nB='of the file'\nC=\n").unwrap();
    let options = ["-v", "A=line=1", "-v", HOST_VARIABLE.0, "-f", file.to_str().unwrap()];
    let mut server = Server::start(&options);
    let variables = server.value("environment", &json!({}));
    let expected = [("A", "line=1"), ("B", "of the file"), ("C", ""), HOST_VARIABLE];
    for (name, value) in expected {
        assert_eq!(variables[name], value, "{name}");
    }
    // A server that is started again has them too.
    server.failure("die", &json!({"status": 1}));
    assert_eq!(server.value("environment", &json!({}))["A"], "line=1");
}

#[test]
fn arguments_follow_two_dashes() {
    let mut server = Server::of(&[], abuse().to_str().unwrap(), &["--verbose", "a b", "--", "é"]);
    assert_eq!(server.value("arguments", &json!({})), json!(["abuse.py", "--verbose", "a b", "--", "é"]));
}

#[test]
fn an_object_of_the_file_is_served() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("several.py");
    std::fs::write(&file, SEVERAL).unwrap();
    for (object, name) in [("first", "First"), ("second", "Second"), ("made", "Made")] {
        let server = Server::of(&[], &format!("{}:{object}", file.display()), &[]);
        assert_eq!(server.about["serverInfo"]["name"], name);
        assert_eq!(server.end().status, Some(0));
    }
}

#[test]
fn packages_and_projects_are_added() {
    let directory = tempfile::tempdir().unwrap();
    let (wheels, project) = (directory.path().join("wheels"), directory.path().join("project"));
    for name in [&wheels, &project] {
        std::fs::create_dir(name).unwrap();
    }
    for name in ["of_the_line", "of_the_project"] {
        let bytes = wheel(name, "1.5", &[(&format!("{name}.py"), b"")], "");
        std::fs::write(wheels.join(format!("{name}-1.5-py3-none-any.whl")), bytes).unwrap();
    }
    let table = "[project]\nname = \"with-greeting\"\nversion = \"0.7\"\ndependencies = [\"of-the-project>1\"]\n";
    std::fs::write(project.join("pyproject.toml"), table).unwrap();
    std::fs::write(project.join("project_with_greeting.py"), "GREETING = 'hello'\n").unwrap();
    let file = directory.path().join("several.py");
    std::fs::write(&file, SEVERAL).unwrap();
    let options = [
        ["--find-links", wheels.to_str().unwrap()],
        ["--with", "of-the-line<2"],
        ["--with-editable", project.to_str().unwrap()],
    ];
    let mut server = Server::of(options.as_flattened(), &format!("{}:second", file.display()), &[]);
    for (name, version) in [("of-the-line", "1.5"), ("of-the-project", "1.5"), ("with-greeting", "0.7")] {
        assert_eq!(server.value("version_of", &json!({"name": name})), version, "{name}");
    }
    assert_eq!(server.value("greeting", &json!({})), "hello");
    assert_eq!(server.end().status, Some(0));
}
