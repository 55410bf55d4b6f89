//! The HTTP commands with real MCP clients. Cases of standard input and output run here as well, each with the clients and transports
//! that matter for it. `http_cases.py` and `abuse_cases.py` have cases of HTTP only, `trace_cases.py` has a collector of traces, and
//! `typescript_cases.py` runs clients of another SDK.

use crate::support::mcp_client::{Client, MCP1, MCP2, MCP2_LEGACY, run, run_over};

/// A transport, and a client.
type ClientOverTransport = (&'static str, Client);

const MODERN: ClientOverTransport = ("http", MCP2);
const LEGACY: ClientOverTransport = ("http", MCP2_LEGACY);
const FIRST: ClientOverTransport = ("http", MCP1);
const STATELESS: ClientOverTransport = ("http-stateless", MCP2);
const STATELESS_LEGACY: ClientOverTransport = ("http-stateless", MCP2_LEGACY);
const SSE: ClientOverTransport = ("sse", MCP1);

macro_rules! cases {
    ($($module:ident { $($case:ident: $($way:ident)+;)+ })+) => {
        $(mod $module {
            $(mod $case {
                $(
                    #[test]
                    #[allow(non_snake_case, reason = "named as the way is")]
                    fn $way() {
                        let (transport, client) = super::super::$way;
                        super::super::run_over(transport, stringify!($module), stringify!($case), client);
                    }
                )+
            })+
        })+
    };
}

cases! {
    cases {
        listing: MODERN LEGACY FIRST STATELESS STATELESS_LEGACY SSE;
        golden: MODERN LEGACY FIRST STATELESS STATELESS_LEGACY SSE;
        numbers: MODERN STATELESS SSE;
        structured: MODERN FIRST;
        arguments: MODERN LEGACY STATELESS SSE;
        busy: MODERN SSE;
        cancel: MODERN LEGACY FIRST SSE;
        progress: MODERN LEGACY FIRST STATELESS STATELESS_LEGACY SSE;
        logging: MODERN LEGACY FIRST STATELESS SSE;
    }
    session_cases {
        transcript: MODERN LEGACY FIRST STATELESS SSE;
        restart: MODERN FIRST;
    }
    cell_cases {
        stopping: MODERN LEGACY SSE;
        questions: MODERN LEGACY FIRST STATELESS SSE;
        nobody_to_ask: MODERN FIRST;
    }
    file_cases {
        traversal: MODERN;
        files: MODERN FIRST;
        uploads: MODERN;
    }
    contract_cases {
        missing_sessions: MODERN LEGACY;
    }
    contract_file_cases {
        resource_types: MODERN FIRST;
        list_changed: MODERN FIRST SSE;
    }
}

/// What `cases::busy` asks of the server is the same for all clients.
mod long_tier {
    #[test]
    #[ignore = "long tier"]
    fn busy_with_the_first_client() {
        let (transport, client) = super::FIRST;
        super::run_over(transport, "cases", "busy", client);
    }
}

/// Every case of a module, with the newer client's interpreter: they bring clients of their own. Those after `long` are for the long tier.
macro_rules! modules {
    ($($module:ident: $($case:ident),+ $((long: $($long:ident),+))?;)+) => {
        $(mod $module {
            $(#[test]
            fn $case() {
                super::run(stringify!($module), stringify!($case), super::MCP2);
            })+
            $(mod long_tier {
                $(#[test]
                #[ignore = "long tier"]
                fn $long() {
                    super::super::run(stringify!($module), stringify!($long), super::super::MCP2);
                })+
            })?
        })+

        #[test]
        fn no_case_is_forgotten() {
            $(
                let python = include_str!(concat!("../../../../tests/python/", stringify!($module), ".py"));
                let definitions = python.lines().filter_map(|line| line.strip_prefix("async def "));
                let mut written: Vec<&str> = definitions.filter_map(|line| line.strip_suffix("(setup: Setup) -> None:")).collect();
                written.sort_unstable();
                let mut run = vec![$(stringify!($case),)+ $($(stringify!($long)),+)?];
                run.sort_unstable();
                assert_eq!(written, run);
            )+
        }
    };
}

modules! {
    http_cases: tokens, strangers, mounts, guarded, health, abuse, encrypted;
    http_call_cases: draining, tasks, resumed, vanished;
    oauth_cases: signed, introspected;
    abuse_cases: slow, halves, floods, nonsense, thieves, storm, ending;
    unread_cases: unread, unread_older, same_id, revoked (long: stalled, unread_notes);
    crowd_cases: encrypted, stateless, event_store, tasks;
    trace_cases: over_http, over_stdio, of_tasks, unwanted, refused, unheard, silent;
    typescript_cases: over_stdio, over_http, over_sse;
}
