//! Limits of the machines behind an HTTP service.

use std::time::Duration;

/// Limits of the machines behind an HTTP service. Limits of clients are in `HttpOptions`.
#[derive(Debug, Clone)]
pub struct HttpLimits {
    /// How long a machine may take to say what it serves, and then its application to start. Default: 60 seconds.
    pub start_timeout: Duration,
    /// How long one Python function may keep the loop busy. Then it gets a `TimeoutError`. Default: 60 seconds.
    pub request_time_limit: Duration,
    /// How long a function may go on after its first `TimeoutError`. Then the machine is killed. Default: 10 seconds.
    pub interrupt_grace: Duration,
    /// How long an application may take to end. Then its machine is killed. Default: 10 seconds.
    pub shutdown_grace: Duration,
    /// Most machines, where sessions have machines of their own. Default: 64.
    pub max_machines: usize,
    /// Most machines of one principal, where sessions have machines of their own. Clients without a token share [`max_machines`].
    /// Default: 16.
    ///
    /// [`max_machines`]: HttpLimits::max_machines
    pub max_machines_each: usize,
    /// How long the machine of a session lives without a request. Default: 30 minutes.
    pub session_idle: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            start_timeout: Duration::from_secs(60),
            request_time_limit: Duration::from_secs(60),
            interrupt_grace: Duration::from_secs(10),
            shutdown_grace: Duration::from_secs(10),
            max_machines: 64,
            max_machines_each: 16,
            session_idle: Duration::from_secs(30 * 60),
        }
    }
}
