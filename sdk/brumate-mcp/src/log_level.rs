//! Levels of log messages.

#![expect(deprecated, reason = "logging, which the protocol keeps until July 2027 at least")]

use rmcp::model as wire;

/// The level of a log message (RFC 5424), as MCP has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the standard's")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    pub(crate) fn from_wire(level: wire::LoggingLevel) -> Self {
        match level {
            wire::LoggingLevel::Debug => Self::Debug,
            wire::LoggingLevel::Info => Self::Info,
            wire::LoggingLevel::Notice => Self::Notice,
            wire::LoggingLevel::Warning => Self::Warning,
            wire::LoggingLevel::Error => Self::Error,
            wire::LoggingLevel::Critical => Self::Critical,
            wire::LoggingLevel::Alert => Self::Alert,
            wire::LoggingLevel::Emergency => Self::Emergency,
        }
    }

    pub(crate) fn into_wire(self) -> wire::LoggingLevel {
        match self {
            Self::Debug => wire::LoggingLevel::Debug,
            Self::Info => wire::LoggingLevel::Info,
            Self::Notice => wire::LoggingLevel::Notice,
            Self::Warning => wire::LoggingLevel::Warning,
            Self::Error => wire::LoggingLevel::Error,
            Self::Critical => wire::LoggingLevel::Critical,
            Self::Alert => wire::LoggingLevel::Alert,
            Self::Emergency => wire::LoggingLevel::Emergency,
        }
    }
}
