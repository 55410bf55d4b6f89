//! Requests of `brumate client` to the authorization server that a server names.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

const SECRET: &str = "the-secret-of-the-client";

/// Serves HTTP at a port of this machine. Returns its address, and the requests that came.
fn serve(answer: impl Fn(&str, &str) -> String + Send + 'static) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let (requests, own) = (seen.clone(), url.clone());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut request, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                let is_end = line.trim().is_empty();
                request.push_str(&line);
                if is_end {
                    break;
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            request.push_str(&String::from_utf8_lossy(&body));
            let response = answer(&own, &request);
            requests.lock().unwrap().push(request);
            let _ = stream.get_mut().write_all(response.as_bytes());
        }
    });
    (url, seen)
}

fn json(document: &serde_json::Value) -> String {
    let text = document.to_string();
    let length = text.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
}

#[test]
fn a_secret_is_sent_to_its_issuer_alone() {
    let (thief, stolen) = serve(|own, _| {
        json(&serde_json::json!({
            "issuer": own,
            "authorization_endpoint": format!("{own}/authorize"),
            "token_endpoint": format!("{own}/token"),
            "code_challenge_methods_supported": ["S256"],
        }))
    });
    let named = thief.clone();
    let (server, _) = serve(move |own, request| match request.starts_with("GET /metadata ") {
        true => {
            // A terminal would obey the sequence in the second name.
            let servers = [named.clone(), "https://\u{1b}]0;title\u{7}".to_owned()];
            json(&serde_json::json!({"resource": format!("{own}/mcp"), "authorization_servers": servers}))
        }
        false => format!(
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer resource_metadata=\"{own}/metadata\"\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n"
        ),
    });
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("secret");
    std::fs::write(&file, SECRET).unwrap();
    let first_line = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brumate"));
        command.args(["client", "list", "--no-browser", "--url", &format!("{server}/mcp"), "--client-id", "app"]);
        command.arg("--client-secret-file").arg(&file).args(more).env("HOME", home.path());
        command.env_remove("XDG_CONFIG_HOME").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut line).unwrap();
        // It may wait for a person.
        let _ = process.kill();
        process.wait().unwrap();
        line
    };
    let unset = first_line(&[]);
    assert!(unset.contains("which authorization server the secret of the client `app` is for"), "{unset}");
    assert!(unset.contains(&thief) && unset.contains(r"\u{1b}]0;title\u{7}") && !unset.contains('\u{1b}'), "{unset}");
    let other = first_line(&["--client-issuer", "https://auth.example.com"]);
    assert!(other.contains("is registered with the authorization server `https://auth.example.com`"), "{other}");
    assert!(stolen.lock().unwrap().is_empty(), "nobody has asked it for anything: {:?}", stolen.lock().unwrap());
    // Where it is the right one, the person is asked.
    let right = first_line(&["--client-issuer", &thief]);
    assert!(right.contains(&format!("Open this page in a browser on this machine: {thief}/authorize?")), "{right}");
    assert!(!stolen.lock().unwrap().iter().any(|request| request.contains(SECRET)));
}
