//! Services: the methods of a type, and the functions of a module.

use crate::support::{Pipe, text};
use brumate_mcp::{Context, Error, Json, Server, server, tools};
use serde_json::json;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

struct Journal {
    name: String,
    entries: Mutex<Vec<String>>,
}

impl Journal {
    fn open(name: &str) -> Result<Self, Error> {
        Ok(Self { name: name.to_owned(), entries: Mutex::default() })
    }

    fn entries(&self) -> MutexGuard<'_, Vec<String>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[tools]
impl Journal {
    /// Writes an entry.
    ///
    /// Returns how many there are.
    #[tool(title = "Write", destructive = false, tasks = "optional")]
    async fn write(
        &self,
        /// What is written.
        entry: String,
        #[arg(default = 1)] times: u8,
    ) -> Result<usize, Error> {
        if entry.is_empty() {
            return Err(Error::new("nothing to write"));
        }
        tokio::task::yield_now().await;
        let mut entries = self.entries();
        entries.extend((0..times).map(|_| entry.clone()));
        Ok(entries.len())
    }

    #[tool(name = "read", read_only)]
    fn read_blocking(&self, context: Context) -> Json<Vec<String>> {
        assert!(!context.is_cancelled());
        Json(self.entries().clone())
    }

    /// Needs no journal.
    #[tool]
    async fn limit() -> usize {
        100
    }

    #[cfg(not(test))]
    #[tool]
    async fn never(&self) -> usize {
        0
    }

    #[resource("journal://{index}")]
    async fn entry(&self, index: usize) -> Result<String, Error> {
        self.entries().get(index).cloned().ok_or_else(|| Error::not_found("no such entry"))
    }

    #[prompt]
    async fn summary(&self, style: Option<String>) -> String {
        format!("Summarize {} ({}): {:?}", self.name, style.unwrap_or_default(), self.entries())
    }

    #[completion(template = "journal://{index}", argument = "index")]
    async fn indices(&self, typed: String) -> Vec<String> {
        (0..self.entries().len()).map(|index| index.to_string()).filter(|index| index.starts_with(&typed)).collect()
    }

    fn clear(&self) {
        self.entries().clear();
    }
}

#[tokio::test]
async fn methods_become_tools_resources_and_prompts_of_one_value() {
    let server = Server::new("journal").service(Journal::open("diary").expect("a journal"));
    let mut client = Pipe::legacy(&server, json!({})).await;
    let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
    let names: Vec<_> = tools.as_array().expect("tools").iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["write", "read", "limit"], "a tool that is compiled out is not offered");
    assert_eq!(tools[0]["title"], "Write");
    assert_eq!(tools[0]["description"], "Writes an entry.\n\nReturns how many there are.");
    assert_eq!(tools[0]["annotations"], json!({"destructiveHint": false}));
    assert_eq!(tools[0]["inputSchema"]["properties"]["entry"]["description"], "What is written.");
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["entry"]));

    assert_eq!(text(&client.call("write", json!({"entry": "a", "times": 2})).await), "2");
    // Another connection sees the same value.
    let mut other = Pipe::modern(&server, json!({}));
    assert_eq!(text(&other.call("write", json!({"entry": "b"})).await), "3");
    let result = client.call("write", json!({"entry": ""})).await;
    assert!(result["isError"] == true && text(&result) == "nothing to write", "{result}");
    assert_eq!(text(&client.call("read", json!({})).await), r#"["a","a","b"]"#);
    assert_eq!(text(&client.call("limit", json!({})).await), "100");
    let read = client.request("resources/read", json!({"uri": "journal://2"})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "b");
    let got = client.request("prompts/get", json!({"name": "summary", "arguments": {"style": "short"}})).await;
    let said = &got["result"]["messages"][0]["content"]["text"];
    assert_eq!(said, r#"Summarize diary (short): ["a", "a", "b"]"#);
    let reference = json!({"type": "ref/resource", "uri": "journal://{index}"});
    let params = json!({"ref": reference, "argument": {"name": "index", "value": "1"}});
    let completed = client.request("completion/complete", params).await;
    assert_eq!(completed["result"]["completion"]["values"], json!(["1"]));
}

#[tokio::test]
async fn methods_are_still_called_and_a_value_can_be_shared() {
    let journal = Arc::new(Journal::open("shared").expect("a journal"));
    assert_eq!(journal.write("mine".to_owned(), 1).await.ok(), Some(1));
    let server = Server::new("journal").service(journal.clone());
    let mut client = Pipe::legacy(&server, json!({})).await;
    assert_eq!(text(&client.call("write", json!({"entry": "theirs"})).await), "2");
    journal.clear();
    assert_eq!(text(&client.call("read", json!({})).await), "[]");
}

#[server]
mod calculator {
    use brumate_mcp::{completion, prompt, resource, tool};

    /// Adds two numbers.
    #[tool]
    pub(super) async fn add(a: i64, b: i64) -> i64 {
        half(a + b) * 2
    }

    #[tool]
    fn negate(a: i64) -> i64 {
        -a
    }

    #[cfg(not(test))]
    #[tool]
    fn never() {}

    #[resource("constant://pi")]
    async fn pi() -> &'static str {
        "3"
    }

    #[prompt]
    async fn exercise(topic: String) -> String {
        format!("Give an exercise about {topic}.")
    }

    #[completion(prompt = "exercise", argument = "topic")]
    async fn topics(_typed: String) -> Vec<&'static str> {
        vec!["sums"]
    }

    fn half(number: i64) -> i64 {
        number / 2
    }
}

#[tokio::test]
async fn a_module_offers_all_its_functions() {
    let server = Server::new("calculator").service(calculator);
    let mut client = Pipe::legacy(&server, json!({})).await;
    let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
    let names: Vec<_> = tools.as_array().expect("tools").iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["add", "negate"]);
    assert_eq!(text(&client.call("add", json!({"a": 2, "b": 4})).await), "6");
    assert_eq!(text(&client.call("negate", json!({"a": 2})).await), "-2");
    let read = client.request("resources/read", json!({"uri": "constant://pi"})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "3");
    let got = client.request("prompts/get", json!({"name": "exercise", "arguments": {"topic": "sums"}})).await;
    assert!(got["result"]["messages"][0]["content"]["text"].as_str().is_some_and(|text| text.contains("sums")));
    let params = json!({"ref": {"type": "ref/prompt", "name": "exercise"}, "argument": {"name": "topic", "value": ""}});
    let completed = client.request("completion/complete", params).await;
    assert_eq!(completed["result"]["completion"]["values"], json!(["sums"]));
    // The functions can still be called.
    assert_eq!(calculator::add(1, 1).await, 2);
}
