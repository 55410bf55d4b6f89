//! Every environment variable that Brumate reads, in one place. `docs/environment.md` lists the same ones; a test
//! compares the two.

/// One variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    /// The version that read it first.
    pub(crate) since: &'static str,
}

macro_rules! variables {
    ($($(#[doc = $doc:literal])+ $constant:ident = $name:literal since $since:literal;)+) => {
        $($(#[doc = $doc])+ pub(crate) const $constant: &str = $name;)+
        /// All of them.
        #[cfg_attr(not(test), expect(dead_code, reason = "compared with the documentation by a test"))]
        pub(crate) const ALL: &[Variable] = &[$(Variable { name: $name, since: $since }),+];
    };
}

variables! {
    /// Directory for compiled modules; as `--cache-dir`.
    CACHE_DIR = "BRUMATE_CACHE_DIR" since "0.1.0";
    /// CPU time of a run; as `--cpu-timeout`.
    CPU_TIMEOUT = "BRUMATE_CPU_TIMEOUT" since "0.1.0";
    /// `true`: no pictures in answers of `run_python_code`; as `--no-figures`.
    NO_FIGURES = "BRUMATE_NO_FIGURES" since "0.1.0";
    /// Directory for sessions; as `--data-dir`.
    DATA_DIR = "BRUMATE_DATA_DIR" since "0.1.0";
    /// When sessions are written to disk; as `--durability`.
    DURABILITY = "BRUMATE_DURABILITY" since "0.1.0";
    /// Idle time after which sessions sleep; as `--hibernate-after`.
    HIBERNATE_AFTER = "BRUMATE_HIBERNATE_AFTER" since "0.1.0";
    /// Time for an answer to `input()`; as `--input-timeout`.
    INPUT_TIMEOUT = "BRUMATE_INPUT_TIMEOUT" since "0.1.0";
    /// Sessions that are awake at the same time; as `--max-live-sessions`.
    MAX_LIVE_SESSIONS = "BRUMATE_MAX_LIVE_SESSIONS" since "0.1.0";
    /// Sessions in all; as `--max-sessions`.
    MAX_SESSIONS = "BRUMATE_MAX_SESSIONS" since "0.1.0";
    /// Disk space of sleeping sessions; as `--sessions-disk`.
    SESSIONS_DISK = "BRUMATE_SESSIONS_DISK" since "0.1.0";
    /// Idle time after which sessions are removed; as `--session-timeout`.
    SESSION_TIMEOUT = "BRUMATE_SESSION_TIMEOUT" since "0.1.0";
    /// Comma list of packages for every run; as `--deps`.
    DEPS = "BRUMATE_DEPS" since "0.1.0";
    /// URLs of further package indexes, separated by spaces; as `--extra-index`.
    EXTRA_INDEX = "BRUMATE_EXTRA_INDEX" since "0.1.0";
    /// Which imported modules are looked for in packages; as `--infer`.
    INFER = "BRUMATE_INFER" since "0.1.0";
    /// Directories of wheels and pages of links, separated by commas; as `--find-links`.
    FIND_LINKS = "BRUMATE_FIND_LINKS" since "0.1.0";
    /// URL of the package index; as `--index`.
    INDEX = "BRUMATE_INDEX" since "0.1.0";
    /// Who is asked for passwords of indexes; as `--keyring-provider`.
    KEYRING_PROVIDER = "BRUMATE_KEYRING_PROVIDER" since "0.1.0";
    /// Base URL of a Pyodide distribution; as `--pyodide`.
    PYODIDE = "BRUMATE_PYODIDE" since "0.1.0";
    /// Files of constraints, separated by commas; as `--constraint`.
    CONSTRAINT = "BRUMATE_CONSTRAINT" since "0.1.0";
    /// Nothing newer than this; as `--exclude-newer`.
    EXCLUDE_NEWER = "BRUMATE_EXCLUDE_NEWER" since "0.1.0";
    /// `true`: no network; as `--offline`.
    OFFLINE = "BRUMATE_OFFLINE" since "0.1.0";
    /// `true`: nothing but the bundle; as `--only-bundled`.
    ONLY_BUNDLED = "BRUMATE_ONLY_BUNDLED" since "0.1.0";
    /// `true`: URLs may be installed; as `--allow-urls`.
    ALLOW_URLS = "BRUMATE_ALLOW_URLS" since "0.1.0";
    /// Packages that may be used besides the bundle, separated by commas; as `--allow-package`, and both hold.
    ALLOW_PACKAGE = "BRUMATE_ALLOW_PACKAGE" since "0.1.0";
    /// Packages that may not be used, separated by commas; as `--deny-package`, and both hold.
    DENY_PACKAGE = "BRUMATE_DENY_PACKAGE" since "0.1.0";
    /// `true`: wheels need a known hash; as `--require-hashes`.
    REQUIRE_HASHES = "BRUMATE_REQUIRE_HASHES" since "0.1.0";
    /// File with rules for packages; as `--package-policy`.
    PACKAGE_POLICY = "BRUMATE_PACKAGE_POLICY" since "0.1.0";
    /// Lock whose packages are used; as `--locked`.
    LOCKED = "BRUMATE_LOCKED" since "0.1.0";
    /// Bytes of files that code may keep in the sandbox; as `--files`.
    FILES = "BRUMATE_FILES" since "0.1.0";
    /// Bytes that code may write to mounted directories; as `--mount-limit`.
    MOUNT_LIMIT = "BRUMATE_MOUNT_LIMIT" since "0.1.0";
    /// Time between KeyboardInterrupt and SIGKILL; as `--grace`.
    GRACE = "BRUMATE_GRACE" since "0.1.0";
    /// What is logged, in the syntax of tracing's `EnvFilter`; goes before `--verbose`.
    LOG = "BRUMATE_LOG" since "0.1.0";
    /// A level of Python's `logging`, where nothing else says what is logged; servers only.
    LOG_LEVEL = "LOG_LEVEL" since "0.1.0";
    /// As `--timeout`; servers of the interpreter's tools only.
    KERNEL_TIMEOUT = "KERNEL_TIMEOUT" since "0.1.0";
    /// As `--session-timeout`; servers of the interpreter's tools only.
    PLAIN_SESSION_TIMEOUT = "SESSION_TIMEOUT" since "0.1.0";
    /// Address of HTTP modes; as `--host`.
    HOST = "BRUMATE_HOST" since "0.1.0";
    /// Port of HTTP modes; as `--port`.
    PORT = "BRUMATE_PORT" since "0.1.0";
    /// Path of the endpoint; as `--path`.
    HTTP_PATH = "BRUMATE_HTTP_PATH" since "0.1.0";
    /// Names of hosts that are let in, separated by commas; as `--allow-host`.
    ALLOW_HOST = "BRUMATE_ALLOW_HOST" since "0.1.0";
    /// Origins of web pages that are let in, separated by commas; as `--allow-origin`.
    ALLOW_ORIGIN = "BRUMATE_ALLOW_ORIGIN" since "0.1.0";
    /// URL under which clients reach the server; as `--public-url`.
    PUBLIC_URL = "BRUMATE_PUBLIC_URL" since "0.1.0";
    /// Addresses of proxies, separated by commas; as `--trusted-proxy`.
    TRUSTED_PROXY = "BRUMATE_TRUSTED_PROXY" since "0.1.0";
    /// Bearer token of `brumate client`; `--token-file` names a file with one.
    CLIENT_TOKEN = "BRUMATE_CLIENT_TOKEN" since "0.1.0";
    /// File of tokens; as `--auth-tokens`.
    AUTH_TOKENS = "BRUMATE_AUTH_TOKENS" since "0.1.0";
    /// Authorization server whose access tokens are accepted; as `--auth-issuer`.
    AUTH_ISSUER = "BRUMATE_AUTH_ISSUER" since "0.1.0";
    /// URL that access tokens must be issued for; as `--audience`.
    AUDIENCE = "BRUMATE_AUDIENCE" since "0.1.0";
    /// Scopes that access tokens must have, separated by commas; as `--required-scope`.
    REQUIRED_SCOPE = "BRUMATE_REQUIRED_SCOPE" since "0.1.0";
    /// Introspection endpoint; as `--introspect`.
    INTROSPECT = "BRUMATE_INTROSPECT" since "0.1.0";
    /// Client identifier for it; as `--introspect-client`.
    INTROSPECT_CLIENT = "BRUMATE_INTROSPECT_CLIENT" since "0.1.0";
    /// File with its secret; as `--introspect-secret-file`.
    INTROSPECT_SECRET_FILE = "BRUMATE_INTROSPECT_SECRET_FILE" since "0.1.0";
    /// `true`: nobody needs a token; as `--allow-unauthenticated`.
    ALLOW_UNAUTHENTICATED = "BRUMATE_ALLOW_UNAUTHENTICATED" since "0.1.0";
    /// `true`: no images of what code imports repeatedly; as `--no-learned-images`.
    NO_LEARNED_IMAGES = "BRUMATE_NO_LEARNED_IMAGES" since "0.1.0";
    /// Certificates; as `--tls-cert`.
    TLS_CERT = "BRUMATE_TLS_CERT" since "0.1.0";
    /// Their key; as `--tls-key`.
    TLS_KEY = "BRUMATE_TLS_KEY" since "0.1.0";
    /// Directory for sessions of the protocol; as `--event-store`.
    EVENT_STORE = "BRUMATE_EVENT_STORE" since "0.1.0";
    /// Time of calls when the server ends; as `--drain-timeout`.
    DRAIN_TIMEOUT = "BRUMATE_DRAIN_TIMEOUT" since "0.1.0";
    /// `true`: traces hold code, arguments and results too.
    TRACE_CONTENT = "BRUMATE_TRACE_CONTENT" since "0.1.0";
    /// Runs at the same time; as `--max-concurrent`.
    MAX_CONCURRENT = "BRUMATE_MAX_CONCURRENT" since "0.1.0";
    /// Interpreters kept ready per image; as `--ready`.
    READY = "BRUMATE_READY" since "0.1.0";
    /// Idle time after which interpreters that are kept ready end; as `--ready-timeout`.
    READY_TIMEOUT = "BRUMATE_READY_TIMEOUT" since "0.1.0";
    /// Memory of a run; as `--memory`.
    MEMORY = "BRUMATE_MEMORY" since "0.1.0";
    /// Bytes of output that are kept; as `--output-limit`.
    OUTPUT_LIMIT = "BRUMATE_OUTPUT_LIMIT" since "0.1.0";
    /// `true` refuses to run when a wall of the sandbox is missing; as `--require-jail`.
    REQUIRE_JAIL = "BRUMATE_REQUIRE_JAIL" since "0.1.0";
    /// `xml` or `json`; as `--return-mode`.
    RETURN_MODE = "BRUMATE_RETURN_MODE" since "0.1.0";
    /// Wall-clock time of a run; as `--timeout`.
    TIMEOUT = "BRUMATE_TIMEOUT" since "0.1.0";
    /// Which tools are served; as `--tools`.
    TOOLS = "BRUMATE_TOOLS" since "0.1.0";
    /// The user's cache directory (XDG Base Directory Specification), when none is given.
    XDG_CACHE_HOME = "XDG_CACHE_HOME" since "0.1.0";
    /// The user's data directory (XDG Base Directory Specification), when none is given.
    XDG_DATA_HOME = "XDG_DATA_HOME" since "0.1.0";
    /// OpenTelemetry's collector of all signals, to which traces go.
    OTEL_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT" since "0.1.0";
    /// The collector of traces.
    OTEL_TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" since "0.1.0";
    /// How signals are sent.
    OTEL_PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL" since "0.1.0";
    /// How traces are sent.
    OTEL_TRACES_PROTOCOL = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL" since "0.1.0";
    /// Certificates that the collector of all signals is known by.
    OTEL_CERTIFICATE = "OTEL_EXPORTER_OTLP_CERTIFICATE" since "0.1.0";
    /// Certificates that the collector of traces is known by.
    OTEL_TRACES_CERTIFICATE = "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE" since "0.1.0";
    /// Milliseconds that the collector of all signals has for an answer.
    OTEL_TIMEOUT = "OTEL_EXPORTER_OTLP_TIMEOUT" since "0.1.0";
    /// Milliseconds that the collector of traces has for an answer.
    OTEL_TRACES_TIMEOUT = "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT" since "0.1.0";
    /// `otlp` or `none`: whether traces are sent.
    OTEL_TRACES_EXPORTER = "OTEL_TRACES_EXPORTER" since "0.1.0";
    /// `true`: no OpenTelemetry at all.
    OTEL_SDK_DISABLED = "OTEL_SDK_DISABLED" since "0.1.0";
    /// The name of this service in traces.
    OTEL_SERVICE_NAME = "OTEL_SERVICE_NAME" since "0.1.0";
    /// What else traces say of this service.
    OTEL_RESOURCE_ATTRIBUTES = "OTEL_RESOURCE_ATTRIBUTES" since "0.1.0";
    /// The user's home, for both directories.
    HOME = "HOME" since "0.1.0";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use brumate_session::explain;

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

    #[test]
    fn the_texts_about_limits_name_variables_that_exist() {
        for setting in explain::SETTINGS {
            assert!(ALL.iter().any(|variable| variable.name == setting.variable), "{setting}");
        }
    }
}
