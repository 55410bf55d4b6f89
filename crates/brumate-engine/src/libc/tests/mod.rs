//! Tests of the calls as the guest makes them: through memory.
