//! All environment variables that Brumate reads. A test compares them with `docs/environment.md`.

/// An environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    /// The first version that reads it.
    pub(crate) since: &'static str,
}

macro_rules! variables {
    ($($(#[doc = $doc:literal])+ $constant:ident = $name:literal since $since:literal;)+) => {
        $($(#[doc = $doc])+ pub(crate) const $constant: &str = $name;)+
        /// All variables.
        #[cfg_attr(not(test), expect(dead_code, reason = "compared with the documentation by a test"))]
        pub(crate) const ALL: &[Variable] = &[$(Variable { name: $name, since: $since }),+];
    };
}

variables! {
    /// Directory for compiled modules (`--cache-dir`).
    CACHE_DIR = "BRUMATE_CACHE_DIR" since "0.1.0";
    /// File with the packages of a program that is handed out without them.
    BUNDLE_FILE = "BRUMATE_BUNDLE_FILE" since "0.1.0";
    /// CPU time limit of a run (`--cpu-timeout`).
    CPU_TIMEOUT = "BRUMATE_CPU_TIMEOUT" since "0.1.0";
    /// `true`: no pictures in answers of `run_python_code` (`--no-figures`).
    NO_FIGURES = "BRUMATE_NO_FIGURES" since "0.1.0";
    /// Directory for sessions (`--data-dir`).
    DATA_DIR = "BRUMATE_DATA_DIR" since "0.1.0";
    /// When sessions are written to disk (`--durability`).
    DURABILITY = "BRUMATE_DURABILITY" since "0.1.0";
    /// Idle time after which sessions are hibernated (`--hibernate-after`).
    HIBERNATE_AFTER = "BRUMATE_HIBERNATE_AFTER" since "0.1.0";
    /// Time for an answer to `input()` (`--input-timeout`).
    INPUT_TIMEOUT = "BRUMATE_INPUT_TIMEOUT" since "0.1.0";
    /// Maximum number of sessions in memory (`--max-live-sessions`).
    MAX_LIVE_SESSIONS = "BRUMATE_MAX_LIVE_SESSIONS" since "0.1.0";
    /// Maximum number of sessions (`--max-sessions`).
    MAX_SESSIONS = "BRUMATE_MAX_SESSIONS" since "0.1.0";
    /// Limit of the disk space of sessions (`--sessions-disk`).
    SESSIONS_DISK = "BRUMATE_SESSIONS_DISK" since "0.1.0";
    /// Idle time after which sessions are removed (`--session-timeout`).
    SESSION_TIMEOUT = "BRUMATE_SESSION_TIMEOUT" since "0.1.0";
    /// Packages for every run, separated by commas (`--deps`).
    DEPS = "BRUMATE_DEPS" since "0.1.0";
    /// URLs of further package indexes, separated by spaces (`--extra-index`).
    EXTRA_INDEX = "BRUMATE_EXTRA_INDEX" since "0.1.0";
    /// Modules for which an import installs a package (`--infer`).
    INFER = "BRUMATE_INFER" since "0.1.0";
    /// Directories of wheels and pages of links, separated by commas (`--find-links`).
    FIND_LINKS = "BRUMATE_FIND_LINKS" since "0.1.0";
    /// URL of the package index (`--index`).
    INDEX = "BRUMATE_INDEX" since "0.1.0";
    /// Source of passwords for indexes (`--keyring-provider`).
    KEYRING_PROVIDER = "BRUMATE_KEYRING_PROVIDER" since "0.1.0";
    /// Base URL of a Pyodide distribution (`--pyodide`).
    PYODIDE = "BRUMATE_PYODIDE" since "0.1.0";
    /// Files of constraints, separated by commas (`--constraint`).
    CONSTRAINT = "BRUMATE_CONSTRAINT" since "0.1.0";
    /// Latest upload time of packages (`--exclude-newer`).
    EXCLUDE_NEWER = "BRUMATE_EXCLUDE_NEWER" since "0.1.0";
    /// Packages that are not built from source code, separated by commas (`--only-binary`).
    ONLY_BINARY = "BRUMATE_ONLY_BINARY" since "0.1.0";
    /// `true`: no network (`--offline`).
    OFFLINE = "BRUMATE_OFFLINE" since "0.1.0";
    /// `true`: only the packages inside the binary (`--only-bundled`).
    ONLY_BUNDLED = "BRUMATE_ONLY_BUNDLED" since "0.1.0";
    /// `true`: requirements may have URLs (`--allow-urls`).
    ALLOW_URLS = "BRUMATE_ALLOW_URLS" since "0.1.0";
    /// Allowed packages in addition to those inside the binary, separated by commas (`--allow-package`); both sets of rules apply.
    ALLOW_PACKAGE = "BRUMATE_ALLOW_PACKAGE" since "0.1.0";
    /// Denied packages, separated by commas (`--deny-package`); both sets of rules apply.
    DENY_PACKAGE = "BRUMATE_DENY_PACKAGE" since "0.1.0";
    /// `true`: wheels need a known hash (`--require-hashes`).
    REQUIRE_HASHES = "BRUMATE_REQUIRE_HASHES" since "0.1.0";
    /// File with rules for packages (`--package-policy`).
    PACKAGE_POLICY = "BRUMATE_PACKAGE_POLICY" since "0.1.0";
    /// Lock file with the packages to use (`--locked`).
    LOCKED = "BRUMATE_LOCKED" since "0.1.0";
    /// Size limit of a run's files in the sandbox (`--files`).
    FILES = "BRUMATE_FILES" since "0.1.0";
    /// Limit of what a run writes to mounted directories (`--mount-limit`).
    MOUNT_LIMIT = "BRUMATE_MOUNT_LIMIT" since "0.1.0";
    /// Time between KeyboardInterrupt and SIGKILL (`--grace`).
    GRACE = "BRUMATE_GRACE" since "0.1.0";
    /// Filter for log messages, in the syntax of tracing's `EnvFilter`. Overrides `--verbose`.
    LOG = "BRUMATE_LOG" since "0.1.0";
    /// Log level, as in Python's `logging`; servers only. `BRUMATE_LOG` and `--verbose` override it.
    LOG_LEVEL = "LOG_LEVEL" since "0.1.0";
    /// Time limit of a run (`--timeout`); servers of the interpreter's tools only.
    KERNEL_TIMEOUT = "KERNEL_TIMEOUT" since "0.1.0";
    /// Idle time after which sessions are removed (`--session-timeout`); servers of the interpreter's tools only.
    PLAIN_SESSION_TIMEOUT = "SESSION_TIMEOUT" since "0.1.0";
    /// Address of HTTP servers (`--host`).
    HOST = "BRUMATE_HOST" since "0.1.0";
    /// Port of HTTP servers (`--port`).
    PORT = "BRUMATE_PORT" since "0.1.0";
    /// Path of the endpoint (`--path`).
    HTTP_PATH = "BRUMATE_HTTP_PATH" since "0.1.0";
    /// Hosts that code may connect to, separated by commas (`--allow-net`).
    ALLOW_NET = "BRUMATE_ALLOW_NET" since "0.1.0";
    /// Names of hosts that are let in, separated by commas (`--allow-host`).
    ALLOW_HOST = "BRUMATE_ALLOW_HOST" since "0.1.0";
    /// Accepted web origins, separated by commas (`--allow-origin`).
    ALLOW_ORIGIN = "BRUMATE_ALLOW_ORIGIN" since "0.1.0";
    /// URL under which clients reach the server (`--public-url`).
    PUBLIC_URL = "BRUMATE_PUBLIC_URL" since "0.1.0";
    /// Addresses of proxies, separated by commas (`--trusted-proxy`).
    TRUSTED_PROXY = "BRUMATE_TRUSTED_PROXY" since "0.1.0";
    /// Bearer token of `brumate client`; `--token-file` names a file with one.
    CLIENT_TOKEN = "BRUMATE_CLIENT_TOKEN" since "0.1.0";
    /// File of tokens (`--auth-tokens`).
    AUTH_TOKENS = "BRUMATE_AUTH_TOKENS" since "0.1.0";
    /// Authorization server whose access tokens are accepted (`--auth-issuer`).
    AUTH_ISSUER = "BRUMATE_AUTH_ISSUER" since "0.1.0";
    /// URL that access tokens must be issued for (`--audience`).
    AUDIENCE = "BRUMATE_AUDIENCE" since "0.1.0";
    /// Scopes that access tokens must have, separated by commas (`--required-scope`).
    REQUIRED_SCOPE = "BRUMATE_REQUIRED_SCOPE" since "0.1.0";
    /// Introspection endpoint (`--introspect`).
    INTROSPECT = "BRUMATE_INTROSPECT" since "0.1.0";
    /// Client identifier for the introspection endpoint (`--introspect-client`).
    INTROSPECT_CLIENT = "BRUMATE_INTROSPECT_CLIENT" since "0.1.0";
    /// File with the client secret for the introspection endpoint (`--introspect-secret-file`).
    INTROSPECT_SECRET_FILE = "BRUMATE_INTROSPECT_SECRET_FILE" since "0.1.0";
    /// `true`: other machines may connect without tokens (`--allow-unauthenticated`).
    ALLOW_UNAUTHENTICATED = "BRUMATE_ALLOW_UNAUTHENTICATED" since "0.1.0";
    /// `true`: no images of packages that code imports often (`--no-learned-images`).
    NO_LEARNED_IMAGES = "BRUMATE_NO_LEARNED_IMAGES" since "0.1.0";
    /// File with the certificate chain (`--tls-cert`).
    TLS_CERT = "BRUMATE_TLS_CERT" since "0.1.0";
    /// File with the private key (`--tls-key`).
    TLS_KEY = "BRUMATE_TLS_KEY" since "0.1.0";
    /// `true`: kernels for Jupyter's clients (`--jupyter`).
    JUPYTER = "BRUMATE_JUPYTER" since "0.1.0";
    /// `true`: outputs of kernels as they are (`--jupyter-active-output`).
    JUPYTER_ACTIVE_OUTPUT = "BRUMATE_JUPYTER_ACTIVE_OUTPUT" since "0.1.0";
    /// Directory for MCP sessions (`--event-store`).
    EVENT_STORE = "BRUMATE_EVENT_STORE" since "0.1.0";
    /// How long running calls may take to end at shutdown (`--drain-timeout`).
    DRAIN_TIMEOUT = "BRUMATE_DRAIN_TIMEOUT" since "0.1.0";
    /// `true`: traces contain code, arguments and results.
    TRACE_CONTENT = "BRUMATE_TRACE_CONTENT" since "0.1.0";
    /// Maximum number of concurrent runs (`--max-concurrent`).
    MAX_CONCURRENT = "BRUMATE_MAX_CONCURRENT" since "0.1.0";
    /// Number of interpreters per image that are started ahead of runs (`--ready`).
    READY = "BRUMATE_READY" since "0.1.0";
    /// Idle time after which these interpreters end (`--ready-timeout`).
    READY_TIMEOUT = "BRUMATE_READY_TIMEOUT" since "0.1.0";
    /// Memory limit of a run (`--memory`).
    MEMORY = "BRUMATE_MEMORY" since "0.1.0";
    /// Size limit of a run's output (`--output-limit`).
    OUTPUT_LIMIT = "BRUMATE_OUTPUT_LIMIT" since "0.1.0";
    /// `true`: fail if this host does not support a part of the jail (`--require-jail`).
    REQUIRE_JAIL = "BRUMATE_REQUIRE_JAIL" since "0.1.0";
    /// Text form of results: `xml` or `json` (`--return-mode`).
    RETURN_MODE = "BRUMATE_RETURN_MODE" since "0.1.0";
    /// Time limit of a run (wall clock) (`--timeout`).
    TIMEOUT = "BRUMATE_TIMEOUT" since "0.1.0";
    /// Set of tools to serve (`--tools`).
    TOOLS = "BRUMATE_TOOLS" since "0.1.0";
    /// Engine of sessions (`--engine`).
    ENGINE = "BRUMATE_ENGINE" since "0.1.0";
    /// Python of `--engine jupyter` (`--python`).
    PYTHON = "BRUMATE_PYTHON" since "0.1.0";
    /// The user's cache directory (XDG Base Directory Specification).
    XDG_CACHE_HOME = "XDG_CACHE_HOME" since "0.1.0";
    /// The user's data directory (XDG Base Directory Specification).
    XDG_DATA_HOME = "XDG_DATA_HOME" since "0.1.0";
    /// URL of the collector of all OpenTelemetry signals.
    OTEL_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT" since "0.1.0";
    /// URL of the collector of traces.
    OTEL_TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" since "0.1.0";
    /// Protocol of all signals.
    OTEL_PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL" since "0.1.0";
    /// Protocol of traces.
    OTEL_TRACES_PROTOCOL = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL" since "0.1.0";
    /// File with certificates to verify the collector of all signals.
    OTEL_CERTIFICATE = "OTEL_EXPORTER_OTLP_CERTIFICATE" since "0.1.0";
    /// File with certificates to verify the collector of traces.
    OTEL_TRACES_CERTIFICATE = "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE" since "0.1.0";
    /// Time limit of the collector of all signals, in milliseconds.
    OTEL_TIMEOUT = "OTEL_EXPORTER_OTLP_TIMEOUT" since "0.1.0";
    /// Time limit of the collector of traces, in milliseconds.
    OTEL_TRACES_TIMEOUT = "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT" since "0.1.0";
    /// Exporter of traces: `otlp` or `none`.
    OTEL_TRACES_EXPORTER = "OTEL_TRACES_EXPORTER" since "0.1.0";
    /// `true`: OpenTelemetry is disabled.
    OTEL_SDK_DISABLED = "OTEL_SDK_DISABLED" since "0.1.0";
    /// Name of this service in traces.
    OTEL_SERVICE_NAME = "OTEL_SERVICE_NAME" since "0.1.0";
    /// Further attributes of this service in traces.
    OTEL_RESOURCE_ATTRIBUTES = "OTEL_RESOURCE_ATTRIBUTES" since "0.1.0";
    /// The user's home directory, which has the cache and data directories by default.
    HOME = "HOME" since "0.1.0";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const DOCUMENT: &str = include_str!("../../../docs/environment.md");

    #[test]
    fn the_document_lists_exactly_these_variables() {
        let documented: BTreeSet<(&str, &str)> = DOCUMENT
            .lines()
            .filter_map(|line| line.strip_prefix("| `"))
            .filter_map(|row| {
                let (name, rest) = row.split_once('`')?;
                name.chars().all(|character| character.is_ascii_uppercase() || character == '_').then_some(())?;
                Some((name, rest.trim_end_matches([' ', '|']).rsplit('|').next()?.trim()))
            })
            .collect();
        let read: BTreeSet<(&str, &str)> = ALL.iter().map(|variable| (variable.name, variable.since)).collect();
        assert_eq!(documented, read);
    }
}
