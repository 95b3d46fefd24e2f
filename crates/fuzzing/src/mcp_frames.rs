use std::sync::LazyLock;

use crate::conversation::Conversation;

static CONVERSATION: LazyLock<Conversation> = LazyLock::new(Conversation::new);

/// Whatever a client sends over stdio: no panic, and nothing but messages of the protocol in return.
pub fn mcp_frames(input: &[u8]) {
    // A client may be past the opening, or not.
    let Some((first, rest)) = input.split_first() else { return };
    let mut said = if first % 4 == 0 { Vec::new() } else { Conversation::opening() };
    said.extend_from_slice(rest);
    said.push(b'\n');
    CONVERSATION.hear(said);
}
