//! Resources that are not known beforehand.

use crate::support::{Http, MODERN, Pipe, meta};
use brumate_mcp::{
    CacheScope, Context, Elicitation, Error, HttpOptions, Principal, ProvidedContents, Resource, ResourceContents,
    ResourcePage, ResourceProvider, Server, Tool,
};
use serde_json::{Value, json};
use std::time::Duration;

/// The numbers below a bound, in pages of two, for each principal with its own first one.
struct Numbers {
    scheme: &'static str,
    count: usize,
}

impl Numbers {
    fn first(context: &Context) -> usize {
        context.principal().map_or(0, |principal| principal.name().len() * 100)
    }
}

impl ResourceProvider for Numbers {
    fn templates(&self) -> Vec<Resource> {
        vec![Resource::new(format!("{}://{{number}}", self.scheme)).name("number")]
    }

    async fn list(&self, cursor: Option<&str>, context: Context) -> Result<ResourcePage, Error> {
        let unknown = || Error::invalid_params("this cursor is not from here");
        let skipped = cursor.map_or(Ok(0), |cursor| cursor.parse().map_err(|_| unknown()))?;
        if skipped > self.count {
            return Err(unknown());
        }
        let end = self.count.min(skipped + 2);
        let uri = |number| format!("{}://{}", self.scheme, number + Self::first(&context));
        let page = ResourcePage::new((skipped..end).map(|number| Resource::new(uri(number)).size(1)));
        Ok(if end < self.count { page.next_cursor(end.to_string()) } else { page })
    }

    async fn read(&self, uri: &str, context: Context) -> Result<Option<ProvidedContents>, Error> {
        let Some(number) = uri.strip_prefix(self.scheme).and_then(|rest| rest.strip_prefix("://")) else {
            return Ok(None);
        };
        match number.split_once('?').map_or(number, |(number, _)| number) {
            "panic" => panic!("a secret"),
            "foreign" => Err(std::io::Error::other("/secret/path").into()),
            "ask" => {
                let question = Elicitation::schema("Really?", json!({"type": "object", "properties": {}}));
                context.elicit(question).await?;
                Ok(Some(ResourceContents::text(uri, "asked").into()))
            }
            "cached" => {
                let contents: ProvidedContents = ResourceContents::text(uri, "cached").into();
                Ok(Some(contents.cache(Duration::ZERO, CacheScope::Private)))
            }
            "forever" => std::future::pending().await,
            number => {
                let missing = || {
                    // Protocol 2026-07-28 changed the code.
                    let code = if context.protocol_version().as_str() >= MODERN { -32602 } else { -32002 };
                    Error::protocol(code, "Resource not found", Some(json!({"uri": uri})))
                };
                let number: usize = number.parse().map_err(|_| missing())?;
                let own = number.checked_sub(Self::first(&context)).filter(|own| *own < self.count);
                let own = own.ok_or_else(missing)?;
                let contents = ResourceContents::bytes(uri, [own as u8]).mime_type("x/y").meta("range", [0, 1]);
                Ok(Some(vec![contents].into()))
            }
        }
    }
}

fn numbers(scheme: &'static str, count: usize) -> Numbers {
    Numbers { scheme, count }
}

fn registered(uri: &str) -> Resource {
    Resource::new(uri).handler(|_, _| async { "registered" })
}

/// All pages of a list: their URIs.
async fn pages(client: &mut Pipe, method: &str) -> Vec<Vec<String>> {
    let (mut pages, mut params) = (Vec::new(), json!({}));
    loop {
        let result = client.request(method, params).await["result"].clone();
        let (field, uri) = match method {
            "resources/list" => ("resources", "uri"),
            _ => ("resourceTemplates", "uriTemplate"),
        };
        let items = result[field].as_array().expect("items").iter();
        pages.push(items.map(|item| item[uri].as_str().unwrap().to_owned()).collect());
        match result.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return pages,
        }
    }
}

#[tokio::test]
async fn providers_are_listed_after_what_is_registered() {
    let server = Server::new("numbers").resource_provider(numbers("n", 3)).resource_provider(numbers("m", 1));
    let mut client = Pipe::modern(&server, json!({}));
    let discovered = client.request("server/discover", json!({})).await["result"].clone();
    assert_eq!(discovered["capabilities"]["resources"], json!({"listChanged": true, "subscribe": true}));
    assert_eq!(pages(&mut client, "resources/list").await, [vec!["n://0", "n://1"], vec!["n://2"], vec!["m://0"]]);
    let server = server.page_size(2);
    for uri in ["a://1", "a://2", "a://3", "a://{x}", "a://y{x}", "a://z{x}"] {
        server.add_resource(registered(uri)).unwrap();
    }
    assert_eq!(
        pages(&mut client, "resources/list").await,
        [vec!["a://1", "a://2"], vec!["a://3"], vec!["n://0", "n://1"], vec!["n://2"], vec!["m://0"]]
    );
    assert_eq!(
        pages(&mut client, "resources/templates/list").await,
        [vec!["a://{x}", "a://y{x}"], vec!["a://z{x}", "n://{number}", "m://{number}"]]
    );
    for (cursor, message) in [
        (".", "unknown cursor: list from the beginning, without one"),
        (".2", "unknown cursor: list from the beginning, without one"),
        (".00", "unknown cursor: list from the beginning, without one"),
        ("2", "unknown cursor: list from the beginning, without one"),
        (".0.x", "this cursor is not from here"),
        (".1.2", "this cursor is not from here"),
    ] {
        let answer = client.request("resources/list", json!({"cursor": cursor})).await;
        assert_eq!(answer["error"], json!({"code": -32602, "message": message}), "{cursor}");
    }
}

#[tokio::test]
async fn a_provider_reads_what_nothing_else_has() {
    let reads = Tool::new("reads").raw_handler(|arguments: Value, context: Context| async move {
        let contents = context.read_resource(arguments["uri"].as_str().unwrap_or_default()).await?;
        Ok::<_, Error>(format!("{:?}", contents[0].as_bytes()))
    });
    let server = Server::new("numbers")
        .hide_errors()
        .resource(registered("n://registered"))
        .resource(registered("n://by/{name}"))
        .resource_provider(numbers("n", 3))
        .resource_provider(numbers("m", 1))
        .tool(reads);
    let mut legacy = Pipe::legacy(&server, json!({"elicitation": {}})).await;
    let mut modern = Pipe::modern(&server, json!({"elicitation": {}}));
    let hidden = "an internal error occurred; the server's log has the reason";
    for (uri, expected) in [
        ("n://registered", json!({"uri": "n://registered", "text": "registered"})),
        ("n://by/name", json!({"uri": "n://by/name", "text": "registered"})),
        ("n://2?range", json!({"uri": "n://2?range", "blob": "Ag==", "mimeType": "x/y", "_meta": {"range": [0, 1]}})),
        ("m://0", json!({"uri": "m://0", "blob": "AA==", "mimeType": "x/y", "_meta": {"range": [0, 1]}})),
        ("m://1", json!({"code": -32002, "message": "Resource not found", "data": {"uri": "m://1"}})),
        ("o://1", json!({"code": -32002, "message": "resource `o://1` not found", "data": {"uri": "o://1"}})),
        ("n://panic", json!({"code": -32603, "message": "resource `n://panic` failed unexpectedly"})),
        ("n://foreign", json!({"code": -32603, "message": hidden})),
    ] {
        let answer = legacy.request("resources/read", json!({"uri": uri})).await;
        let found = if answer["error"].is_null() { &answer["result"]["contents"][0] } else { &answer["error"] };
        assert_eq!(*found, expected);
        let answer = modern.request("resources/read", json!({"uri": uri})).await;
        if answer["error"].is_null() {
            assert_eq!(answer["result"]["contents"][0], expected);
        } else {
            let code = if expected["code"] == -32002 { &json!(-32602) } else { &expected["code"] };
            assert_eq!(answer["error"]["code"], *code);
        }
    }
    let cached = modern.request("resources/read", json!({"uri": "n://cached"})).await["result"].clone();
    assert_eq!((&cached["ttlMs"], &cached["cacheScope"]), (&json!(0), &json!("private")));
    let asked = modern.request("resources/read", json!({"uri": "n://ask"})).await["result"].clone();
    assert!(asked["inputRequests"].is_object(), "{asked}");
    assert_eq!(legacy.call("reads", json!({"uri": "n://1"})).await["content"][0]["text"], "[1]");
}

#[tokio::test]
async fn each_principal_has_its_own() {
    let options = HttpOptions::new().bearer(|token| Some(Principal::new(token)));
    let server = Server::new("numbers").cache_lists(Duration::from_secs(9), CacheScope::Public);
    let server = server.resource_provider(numbers("n", 1));
    let http = Http::new(&server, options);
    for (name, uri) in [("a", "n://100"), ("bb", "n://200")] {
        let http = http.clone().with("authorization", &format!("Bearer {name}"));
        let session = http.clone().session().await;
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/list"});
        assert_eq!(session.post(&list).await.last()["result"]["resources"][0]["uri"], uri);
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/list", "params": {"_meta": meta(json!({}))}});
        let http = http.with("mcp-protocol-version", MODERN).with("mcp-method", "resources/list");
        let result = http.post(&list).await.last()["result"].clone();
        assert_eq!(result["resources"][0], json!({"uri": uri, "name": uri, "size": 1}));
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(9000), &json!("private")));
    }
}

#[tokio::test]
async fn a_read_ends_with_its_request() {
    let server = Server::new("numbers").resource_provider(numbers("n", 1));
    let mut client = Pipe::legacy(&server, json!({})).await;
    let id = client.start("resources/read", json!({"uri": "n://forever"})).await;
    client.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).await;
    assert!(client.request("ping", json!({})).await.get("result").is_some());
    client.close().await;
    // No request is left that the end would wait for.
    let ended = tokio::time::timeout(Duration::from_secs(4), client.ended()).await;
    assert!(ended.is_ok());
}

#[tokio::test]
async fn a_template_that_is_none_is_a_problem_of_the_start() {
    struct Wrong(&'static str);
    impl ResourceProvider for Wrong {
        fn templates(&self) -> Vec<Resource> {
            vec![Resource::new(self.0)]
        }

        async fn read(&self, _: &str, _: Context) -> Result<Option<ProvidedContents>, Error> {
            Ok(None)
        }
    }
    for uri in ["a://{", "a://b"] {
        let error = Server::new("wrong").resource_provider(Wrong(uri)).start().await.expect_err("it is no template");
        assert!(error.to_string().contains(uri), "{error}");
    }
    // What is not said has a default.
    let mut client = Pipe::legacy(&Server::new("default").resource_provider(Wrong("a://{b}")), json!({})).await;
    assert_eq!(pages(&mut client, "resources/list").await, [Vec::<String>::new()]);
}
