//! Several servers as one.

use super::Client;
use super::builder::ClientBuilder;
use super::call::CallToolRequest;
use super::config::ServerConfig;
use super::error::ClientError;
use super::info::ToolInfo;
use super::target::Target;
use crate::sync::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::sync::{Mutex as AsyncMutex, mpsc};

/// The most disconnected members that are kept until the program asks for them.
const MAX_ENDED: usize = 1024;

/// The id of a server in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(u64);

/// A tool of a group.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GroupTool {
    /// The name of the tool in the group.
    pub name: String,
    /// The server that has it.
    pub member: MemberId,
    /// The tool as its server lists it.
    pub tool: ToolInfo,
}

/// Names a tool from the server's name and the tool's.
type NameTool = Arc<dyn Fn(&str, &str) -> String + Send + Sync>;

/// Clients of several servers, whose tools have one set of names.
///
/// ```no_run
/// # async fn example() -> Result<(), brumate_mcp::client::ClientError> {
/// use brumate_mcp::Client;
/// use brumate_mcp::client::ClientGroup;
///
/// let group = ClientGroup::new().tool_names(|server, tool| format!("{server}_{tool}"));
/// group.connect(Client::stdio("python", ["weather.py"])).await?;
/// group.connect(Client::stdio("python", ["files.py"])).await?;
/// let report = group.call("weather_report").await?.arg("city", "Graz").await?.text();
/// # Ok(())
/// # }
/// ```
///
/// When a server ends, it leaves the group, and the others stay; see [`ClientGroup::disconnected`]. Tools that a server
/// adds or removes appear in the group or leave it.
pub struct ClientGroup {
    name_tool: NameTool,
    members: Arc<Mutex<GroupMembers>>,
    /// One server connects at a time, because tool names must differ.
    connecting: AsyncMutex<()>,
    ended: AsyncMutex<mpsc::Receiver<(MemberId, String)>>,
    ends: mpsc::Sender<(MemberId, String)>,
}

#[derive(Default)]
struct GroupMembers {
    next: u64,
    by_id: BTreeMap<MemberId, MemberEntry>,
}

#[derive(Clone)]
struct MemberEntry {
    name: String,
    client: Client,
    /// Its tools, and the number of their changes when they were listed.
    tools: Vec<ToolInfo>,
    changes: u64,
}

impl std::fmt::Debug for ClientGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientGroup").field("members", &lock(&self.members).by_id.len()).finish_non_exhaustive()
    }
}

impl Default for ClientGroup {
    fn default() -> Self {
        Self::new()
    }
}

impl ClientGroup {
    /// Makes a group without members. Tools have the names that their servers give them.
    pub fn new() -> Self {
        let (ends, ended) = mpsc::channel(MAX_ENDED);
        let (members, connecting) = (Arc::default(), AsyncMutex::default());
        Self {
            name_tool: Arc::new(|_, tool| tool.to_owned()),
            members,
            connecting,
            ended: AsyncMutex::new(ended),
            ends,
        }
    }

    /// Sets how tools are named, from the server's name and the tool's. Servers can then have tools of the same name.
    #[must_use]
    pub fn tool_names(mut self, name_tool: impl Fn(&str, &str) -> String + Send + Sync + 'static) -> Self {
        self.name_tool = Arc::new(name_tool);
        self
    }

    /// Connects to a server under the name that it gives itself.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ClientBuilder::connect`], and [`ClientError::Connect`] if one of its tools has the name
    /// of another server's tool.
    pub async fn connect<T: Target>(&self, builder: ClientBuilder<T>) -> Result<MemberId, ClientError> {
        let client = builder.listening().connect().await?;
        let name = client.server_info().name.clone();
        self.add(name, client).await
    }

    /// Connects to a server like [`ClientGroup::connect`], under another name.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ClientGroup::connect`].
    pub async fn connect_as<T: Target>(
        &self,
        name: impl Into<String>,
        builder: ClientBuilder<T>,
    ) -> Result<MemberId, ClientError> {
        let client = builder.listening().connect().await?;
        self.add(name.into(), client).await
    }

    /// Connects to a server of a file ([`read_config`](super::read_config)) under its name there.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ClientGroup::connect`], and [`ClientError::Connect`] if the configuration is not
    /// complete.
    pub async fn connect_configured(&self, name: &str, config: &ServerConfig) -> Result<MemberId, ClientError> {
        let failed = |reason: &str| ClientError::Connect { server: name.to_owned(), reason: reason.to_owned() };
        match (config.transport.as_deref(), &config.command, &config.url) {
            (None | Some("stdio"), Some(program), _) => {
                let client = Client::stdio(program, &config.args).envs(&config.env);
                let client = match &config.cwd {
                    Some(directory) => client.current_dir(directory),
                    None => client,
                };
                self.connect_as(name, client).await
            }
            #[cfg(feature = "client-http")]
            (None | Some("http" | "streamable-http" | "streamableHttp"), _, Some(url)) => {
                self.connect_as(name, Client::http(url).headers(&config.headers)).await
            }
            #[cfg(feature = "client-http")]
            (Some("sse"), _, Some(url)) => self.connect_as(name, Client::sse(url).headers(&config.headers)).await,
            (None, None, None) => Err(failed("it has neither a `command` nor a `url`")),
            (Some("stdio"), None, _) => Err(failed("it has no `command`")),
            (Some("http" | "streamable-http" | "streamableHttp" | "sse"), _, None) => Err(failed("it has no `url`")),
            (Some(other), ..) => Err(failed(&format!("its type `{other}` is none of stdio, http, sse"))),
            #[cfg(not(feature = "client-http"))]
            (None, None, Some(_)) => Err(failed("this program has no client for HTTP (feature `client-http`)")),
        }
    }

    /// Adds a connected client under a name.
    ///
    /// # Errors
    ///
    /// Returns an error if its tools cannot be listed, or if one of them has the name of another server's tool.
    pub async fn add(&self, name: String, client: Client) -> Result<MemberId, ClientError> {
        let _connecting = self.connecting.lock().await;
        let changes = client.tools_changed();
        let tools = if client.has("tools") { client.tools().await? } else { Vec::new() };
        let entry = MemberEntry { name, client: client.clone(), tools, changes };
        let member = {
            let mut members = lock(&self.members);
            let names = members.names(&self.name_tool);
            for tool in &entry.tools {
                let full = (self.name_tool)(&entry.name, &tool.name);
                if let Some(other) = names.get(&full).and_then(|(member, _)| members.by_id.get(member)) {
                    let reason = format!(
                        "its tool `{}` would be `{full}` in the group, as one of `{}` is",
                        tool.name, other.name
                    );
                    return Err(ClientError::Connect { server: entry.name.clone(), reason });
                }
            }
            members.next += 1;
            let member = MemberId(members.next);
            members.by_id.insert(member, entry);
            member
        };
        let (members, ends) = (Arc::downgrade(&self.members), self.ends.clone());
        let closed = client.closed_token();
        drop(client);
        tokio::spawn(async move {
            closed.cancelled().await;
            let Some(members) = members.upgrade() else { return };
            let left = lock(&members).by_id.remove(&member);
            if let Some(entry) = left {
                // If the program does not ask, the first ones are kept.
                let _ = ends.try_send((member, entry.name));
            }
        });
        Ok(member)
    }

    /// Returns the client of a member.
    pub fn client(&self, member: MemberId) -> Option<Client> {
        lock(&self.members).by_id.get(&member).map(|entry| entry.client.clone())
    }

    /// Returns the members with their names, in the order in which they were added.
    pub fn members(&self) -> Vec<(MemberId, String)> {
        lock(&self.members).by_id.iter().map(|(member, entry)| (*member, entry.name.clone())).collect()
    }

    /// Returns the tools of all members. Lists that have changed are read again. A tool that has got the name of an
    /// earlier one is left out.
    ///
    /// # Errors
    ///
    /// Returns an error if a list cannot be read.
    pub async fn tools(&self) -> Result<Vec<GroupTool>, ClientError> {
        self.refresh().await?;
        let members = lock(&self.members);
        let names = members.names(&self.name_tool).into_iter();
        Ok(names.map(|(name, (member, tool))| GroupTool { name, member, tool: tool.clone() }).collect())
    }

    /// Calls the tool with this name in the group.
    ///
    /// # Errors
    ///
    /// Returns [`ClientError::UnknownTool`] if there is none, and the errors of [`ClientGroup::tools`].
    pub async fn call(&self, name: &str) -> Result<CallToolRequest, ClientError> {
        self.refresh().await?;
        let members = lock(&self.members);
        let found = members.names(&self.name_tool).remove(name);
        let found = found.and_then(|(member, tool)| Some(members.by_id.get(&member)?.client.call(&tool.name)));
        found.ok_or_else(|| ClientError::UnknownTool(name.to_owned()))
    }

    /// Ends the connection to a member.
    pub async fn disconnect(&self, member: MemberId) {
        let left = lock(&self.members).by_id.remove(&member);
        if let Some(entry) = left {
            entry.client.close().await;
        }
    }

    /// Waits until a member's connection has ended by itself. Returns the member, which has left the group, and its
    /// name.
    pub async fn disconnected(&self) -> (MemberId, String) {
        let mut ended = self.ended.lock().await;
        match ended.recv().await {
            Some(member) => member,
            // This cannot happen: the group has a sender.
            None => std::future::pending().await,
        }
    }

    /// Reads the lists of tools that have changed.
    async fn refresh(&self) -> Result<(), ClientError> {
        let changed: Vec<(MemberId, Client)> = {
            let members = lock(&self.members);
            let changed = members.by_id.iter().filter(|(_, entry)| entry.client.tools_changed() != entry.changes);
            changed.map(|(member, entry)| (*member, entry.client.clone())).collect()
        };
        for (member, client) in changed {
            let changes = client.tools_changed();
            let tools = client.tools().await?;
            if let Some(entry) = lock(&self.members).by_id.get_mut(&member) {
                (entry.tools, entry.changes) = (tools, changes);
            }
        }
        Ok(())
    }
}

impl GroupMembers {
    /// Returns all tools by their names in the group. The first tool keeps a name.
    fn names(&self, name_tool: &NameTool) -> BTreeMap<String, (MemberId, &ToolInfo)> {
        let mut names = BTreeMap::new();
        for (member, entry) in &self.by_id {
            for tool in &entry.tools {
                names.entry(name_tool(&entry.name, &tool.name)).or_insert_with(|| (*member, tool));
            }
        }
        names
    }
}
