//! A result for clients that read text: output first, then the value, then one line on anything unusual; pictures as pictures, other files
//! as links.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{ContentBlock, Resource};
use sandbox::{Display, LastValue, Outcome, OutputFile, SessionState, Status, signal_name};

use crate::result::{Addresses, mime_of};
use crate::{room, uri};

/// The most links. All files are in the structured result.
const MOST_LINKS: usize = 32;
/// The most packages that are told of. All are in the structured result.
const MOST_PACKAGES: usize = 8;
/// What a block takes beside its contents.
const BLOCK: usize = 200;

/// All of it takes no more than `room`.
pub(crate) fn content(outcome: &Outcome, at: Addresses<'_>, room: usize) -> Vec<ContentBlock> {
    let text = text(outcome, at.run);
    // Pictures that there is no room for are links.
    let mut room = room.saturating_sub(room::encoded(&text));
    let mut blocks = vec![ContentBlock::text(text)];
    let mut links = 0;
    for (number, display) in (1..).zip(&outcome.displays) {
        match shown(display, room) {
            Some((block, size)) => {
                room -= size;
                blocks.push(block);
            }
            None => {
                if let Some(run) = at.run {
                    let link = Resource::new(uri::run_display(run, number), format!("display {number}"))
                        .with_mime_type(display.mime())
                        .with_size(display.data().len() as u64);
                    room = room.saturating_sub(link.uri.len() + BLOCK);
                    blocks.push(ContentBlock::resource_link(link));
                }
            }
        }
    }
    for file in &outcome.files {
        match picture(file, room) {
            Some((block, size)) => {
                room -= size;
                blocks.push(block);
            }
            None => {
                if let Some(uri) = at.of_file(file).filter(|_| links < MOST_LINKS) {
                    let link = link(file, uri);
                    let size = link.uri.len() + room::encoded(&link.name) + BLOCK;
                    if size <= room {
                        room -= size;
                        links += 1;
                        blocks.push(ContentBlock::resource_link(link));
                    }
                }
            }
        }
    }
    blocks
}

fn text(outcome: &Outcome, run: Option<&str>) -> String {
    let mut parts = Vec::new();
    let (mut stdout, mut stderr) = (outcome.stdout.clone(), outcome.stderr.clone());
    for stream in [&mut stdout, &mut stderr] {
        stream.shorten(room::TEXT_STREAM, room::cost);
    }
    let printed = stdout.text.trim_end_matches('\n');
    if !printed.is_empty() {
        parts.push(printed.to_owned());
    }
    let complaints = stderr.text.trim_end_matches('\n');
    if !complaints.is_empty() {
        parts.push(format!("[stderr]\n{complaints}"));
    }
    if let Some(diagnostics) = &outcome.diagnostics {
        parts.push(format!("[compiler]\n{}", diagnostics.trim_end_matches('\n')));
    }
    match &outcome.value {
        Some(LastValue::Json(value) | LastValue::Printed(value)) => {
            parts.push(format!("[value] {}", room::shortened(value, room::TEXT_VALUE)));
        }
        None if parts.is_empty() && outcome.status.is_success() => parts.push("(no output)".to_owned()),
        None => {}
    }
    parts.extend(unusual(outcome, run, [("stdout", stdout.dropped), ("stderr", stderr.dropped)]));
    parts.join("\n")
}

/// What a reader should know and would not see.
fn unusual(outcome: &Outcome, run: Option<&str>, dropped: [(&str, u64); 2]) -> Option<String> {
    let mut remarks = Vec::new();
    match outcome.status {
        Status::Completed { exit_code: 0 } => {}
        Status::Completed { exit_code } => remarks.push(format!("exit code {exit_code}")),
        Status::Crashed { signal } => remarks.push(format!("crashed with {}", signal_name(signal))),
        Status::TimedOut => remarks.push(format!("timed out after {:.1} s", outcome.usage.wall.as_secs_f64())),
        Status::LimitExceeded(limit) => remarks.push(format!("ended: over its {limit} limit")),
        Status::Cancelled => remarks.push("cancelled".to_owned()),
    }
    match &outcome.state {
        Some(SessionState::Lost(why)) => {
            remarks.push(format!("the session's variables are gone, its files are there: {why}"));
        }
        Some(SessionState::Gone) => {
            let gone =
                "the process that held the session had ended, and its variables and files are gone; this is a new one";
            remarks.push(gone.to_owned());
        }
        Some(SessionState::Kept) | None => {}
    }
    if let Some(hint) = outcome.error.as_ref().and_then(|error| error.hint.as_ref()) {
        remarks.push(hint.clone());
    }
    if let Some(promotion) = &outcome.promoted {
        remarks.push(format!("ran natively: {}", promotion.reason));
    }
    if let Some(problem) = outcome.packages.as_ref().and_then(|packages| packages.problem.as_ref())
        && !outcome.status.is_success()
    {
        remarks.push(problem.clone());
    }
    if let Some(packages) = outcome.packages.as_ref().filter(|packages| !packages.cached)
        && let Some(layer) = &packages.layer
    {
        let names: Vec<String> = layer.packages.iter().take(MOST_PACKAGES).map(ToString::to_string).collect();
        remarks.push(format!("installed {} in {:.1} s", names.join(", "), packages.took.as_secs_f64()));
    }
    for (stream, dropped) in dropped {
        if dropped > 0 {
            let place =
                run.map(|run| format!(", more of it is in {}", uri::run_stream(run, stream))).unwrap_or_default();
            remarks.push(format!("{dropped} bytes of {stream} are not shown{place}"));
        }
    }
    if !outcome.skipped_files.is_empty() {
        remarks.push(format!("{} files were not brought back", outcome.skipped_files.len()));
    }
    (!remarks.is_empty()).then(|| format!("[{}]", remarks.join("; ")))
}

/// A file that is what its name says, and that clients can show, with its size as it is sent.
fn picture(file: &OutputFile, room: usize) -> Option<(ContentBlock, usize)> {
    let contents = file.contents.as_ref()?;
    let size = contents.len().div_ceil(3) * 4 + BLOCK;
    let mime = mime_of(file.path.as_str());
    let is_that: fn(&[u8]) -> bool = match mime {
        "image/png" => |bytes| bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
        "image/jpeg" => |bytes| bytes.starts_with(b"\xff\xd8\xff"),
        "image/gif" => |bytes| bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a"),
        "image/webp" => |bytes| bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"),
        _ => return None,
    };
    let is_shown = size <= room && is_that(contents);
    is_shown.then(|| (ContentBlock::image(BASE64_STANDARD.encode(contents), mime), size))
}

/// A picture of pixels, with its size as it is sent. The rest is for those who ask for it: the value's text says what a reader needs.
fn shown(display: &Display, room: usize) -> Option<(ContentBlock, usize)> {
    let size = display.data().len().div_ceil(3) * 4 + BLOCK;
    let is_shown = display.is_picture() && size <= room;
    is_shown.then(|| (ContentBlock::image(BASE64_STANDARD.encode(display.data()), display.mime()), size))
}

fn link(file: &OutputFile, uri: String) -> Resource {
    let path = file.path.as_str();
    Resource::new(uri, path).with_mime_type(mime_of(path)).with_size(file.size)
}
