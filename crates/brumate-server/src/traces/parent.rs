//! The parent span of a request (W3C Trace Context).

use std::str::FromStr;

use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

/// Longest `tracestate` that is passed on, in bytes. The standard demands at least 512.
const MAX_STATE: usize = 512;

/// Parses `traceparent` and `tracestate`. Returns `None` for a malformed `traceparent`. OpenTelemetry's own parser also accepts
/// ids of other lengths.
pub(super) fn parse(traceparent: Option<&str>, tracestate: Option<&str>) -> Option<SpanContext> {
    let mut fields = traceparent?.split('-');
    let mut field = |length| fields.next().filter(|field| field.len() == length && field.bytes().all(is_lower_hex));
    let (version, trace, span, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
    // Later versions may have more fields. Version ff is invalid.
    if version == "ff" || (version == "00" && fields.next().is_some()) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let state = tracestate.filter(|state| state.len() <= MAX_STATE);
    let state = state.and_then(|state| TraceState::from_str(state).ok()).unwrap_or_default();
    let context = SpanContext::new(TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?, flags, true, state);
    // Ids that consist of zeros are invalid.
    context.is_valid().then_some(context)
}

fn is_lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    #[test]
    fn what_the_standard_allows_is_read() {
        let found = parse(Some(&format!("00-{TRACE}-{SPAN}-01")), Some("vendor=1,other=2")).expect("a parent");
        assert_eq!((found.trace_id().to_string(), found.span_id().to_string()), (TRACE.to_owned(), SPAN.to_owned()));
        assert!(found.is_sampled() && found.is_remote());
        assert_eq!(found.trace_state().header(), "vendor=1,other=2");
        let unsampled = parse(Some(&format!("00-{TRACE}-{SPAN}-00")), None).expect("a parent");
        assert!(!unsampled.is_sampled());
        // Unknown flags are accepted, and not passed on.
        let flags = parse(Some(&format!("00-{TRACE}-{SPAN}-ff")), None).expect("a parent");
        assert_eq!(flags.trace_flags(), TraceFlags::SAMPLED);
        for later in [format!("01-{TRACE}-{SPAN}-01"), format!("fe-{TRACE}-{SPAN}-01-what-ever")] {
            assert!(parse(Some(&later), None).is_some(), "{later}");
        }
    }

    #[test]
    fn what_is_malformed_is_no_parent() {
        let (zeros, short) = ("0".repeat(32), &TRACE[1..]);
        let malformed = [
            String::new(),
            "00".to_owned(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-01-"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("00-{TRACE}-{SPAN}-0g"),
            format!("0-{TRACE}-{SPAN}-01"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{TRACE}-{}-01", &zeros[..16]),
            format!("00-{short}-{SPAN}-01"),
            format!("00-+{short}-{SPAN}-01"),
            format!("00-{TRACE}0-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}0-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{}-01", SPAN.to_uppercase()),
            format!(" 00-{TRACE}-{SPAN}-01"),
            format!("00_{TRACE}_{SPAN}_01"),
            "é".repeat(55),
        ];
        for given in malformed {
            assert!(parse(Some(&given), None).is_none(), "{given}");
        }
        assert!(parse(None, Some("vendor=1")).is_none());
    }

    #[test]
    fn a_state_that_is_too_long_or_malformed_is_left_out() {
        let parent = format!("00-{TRACE}-{SPAN}-01");
        for state in [format!("vendor={}", "x".repeat(MAX_STATE)), "no pairs".to_owned()] {
            let found = parse(Some(&parent), Some(&state)).expect("a parent");
            assert_eq!(found.trace_state().header(), "", "{state}");
        }
    }
}
