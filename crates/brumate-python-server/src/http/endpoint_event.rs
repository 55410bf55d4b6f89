//! The first event of an HTTP+SSE stream (2024-11-05): it has the id of the session.

use percent_encoding::percent_decode_str;

/// Most bytes of a stream that are searched for the event.
const MAX_SEARCHED_BYTES: usize = 8 << 10;

/// Searches the beginning of a stream for the id of its session.
#[derive(Debug, Default)]
pub(super) struct EndpointEvent {
    begun: Vec<u8>,
    done: bool,
}

impl EndpointEvent {
    /// Takes the next bytes of the stream. Returns the id once, when its event is complete.
    pub(super) fn take(&mut self, data: &[u8]) -> Option<String> {
        if self.done {
            return None;
        }
        let room = MAX_SEARCHED_BYTES - self.begun.len();
        self.begun.extend_from_slice(&data[..data.len().min(room)]);
        let text = String::from_utf8_lossy(&self.begun).replace("\r\n", "\n");
        let complete = text.rfind("\n\n").map(|end| &text[..end]);
        let mut events = complete.into_iter().flat_map(|text| text.split("\n\n"));
        let id = events.find_map(endpoint).and_then(|target| session_id(target.split_once('?')?.1));
        self.done = id.is_some() || self.begun.len() == MAX_SEARCHED_BYTES;
        if self.done {
            self.begun = Vec::new();
        }
        id
    }
}

/// Returns the data of an `endpoint` event.
fn endpoint(event: &str) -> Option<&str> {
    let field = |name: &str| {
        let mut lines = event.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        lines.next().map(|value| value.strip_prefix(' ').unwrap_or(value))
    };
    field("data").filter(|_| field("event") == Some("endpoint"))
}

/// Returns the id of a session in the query of a target.
pub(super) fn session_id(query: &str) -> Option<String> {
    let id = query.split('&').find_map(|pair| pair.strip_prefix("session_id="))?;
    percent_decode_str(id).decode_utf8().ok().map(|id| id.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_when_its_event_is_complete() {
        let stream = b": hello\r\n\r\nevent: endpoint\r\ndata: /messages/?session_id=a%20b&x=1\r\n\r\nevent: message\n";
        let mut event = EndpointEvent::default();
        let found: Vec<String> = stream.iter().filter_map(|byte| event.take(&[*byte])).collect();
        assert_eq!(found, ["a b"]);
        for other in ["data: /x?session_id=1\n\n", "event: endpoint\ndata: /x\n\n", "event: endpoint\n\n", "x"] {
            assert_eq!(EndpointEvent::default().take(other.as_bytes()), None, "{other}");
        }
        let mut long = EndpointEvent::default();
        assert_eq!(long.take(&[b' '; MAX_SEARCHED_BYTES + 1]), None);
        assert_eq!(long.take(b"\n\nevent: endpoint\ndata: /x?session_id=1\n\n"), None);
    }
}
