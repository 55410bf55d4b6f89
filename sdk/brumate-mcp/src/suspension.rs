//! Handlers that run on between the requests of their call.

use std::time::Duration;

/// The result of a call whose input was given already, or came too late.
const TOO_LATE: &str =
    "The tool no longer waits for this input: it was given already, or it came too late. Call the tool again.";

/// The result of a call whose handler runs in another process.
const OTHER_PROCESS: &str = "This server does not run the call that asked for this input: another process does, or did. If several \
     servers share an address, route all requests of a client to the same one. Call the tool again.";

/// How a tool's handler runs on where the handler of another tool would be dropped; see [`Tool::suspends`](crate::Tool::suspends).
///
/// | event | the handler of another tool | this handler |
/// |---|---|---|
/// | it requests input, since 2026-07-28 | is dropped, and runs from its beginning when the client brings the answer | waits, and goes on with the answer |
/// | its call is cancelled, or its client goes away | is dropped at its next await | is told by [`Context::cancellation`], and has [`Suspension::grace`] to return |
/// | it requests input, in a tool with [`Tool::task_after`] | asks in the call | asks through the task that the call becomes |
///
/// Use it where a run from the beginning costs too much, or where a cancelled handler has something to put in order. A call that waits for
/// input lives in the memory of the process: at most 256 calls of a principal wait at a time.
///
/// ```
/// use brumate_mcp::{Context, Elicitation, Error, Server, Suspension, Tool};
/// use std::time::Duration;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Word {
///     word: String,
/// }
///
/// let tool = Tool::new("import").suspends(Suspension::new()).raw_handler(|_, context: Context| async move {
///     let rows = 1_000_000; // Hours of work, which are done once.
///     let form = Elicitation::<Word>::form(format!("Keep {rows} rows?")).timeout(Duration::from_secs(600));
///     let kept = context.elicit(form).await?.accepted().is_some_and(|form| form.word == "yes");
///     Ok::<_, Error>(if kept { "kept" } else { "dropped" })
/// });
/// let server = Server::new("imports").tool(tool);
/// ```
///
/// [`Context::cancellation`]: crate::Context::cancellation
/// [`Tool::task_after`]: crate::Tool::task_after
#[derive(Clone, Debug)]
pub struct Suspension {
    pub(crate) grace: Duration,
    pub(crate) too_late: String,
    pub(crate) other_process: String,
}

impl Default for Suspension {
    fn default() -> Self {
        let (too_late, other_process) = (TOO_LATE.to_owned(), OTHER_PROCESS.to_owned());
        Self { grace: Duration::from_secs(5), too_late, other_process }
    }
}

impl Suspension {
    /// Makes one with the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how long the handler may take to return when its call is cancelled. After that it is dropped. Default: 5 seconds.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets the text for the model when input comes for a call that no longer waits for it.
    #[must_use]
    pub fn too_late_message(mut self, text: impl Into<String>) -> Self {
        self.too_late = text.into();
        self
    }

    /// Sets the text for the model when input comes for a call of another process behind the same address.
    #[must_use]
    pub fn other_process_message(mut self, text: impl Into<String>) -> Self {
        self.other_process = text.into();
        self
    }
}
