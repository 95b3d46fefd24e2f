//! `write_file`, `read_file` and `list_files`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ToolAnnotations};
use runtime::RunError;
use sandbox::{EntryKind, FilePart, FolderEntry, PathError, Refusal, SessionName, WorkspacePath, WriteMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Call, Description, LIST_FILES, READ_FILE, WRITE_FILE, answer};
use crate::result::mime_of;
use crate::{arguments, icons, room, uri};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteArguments {
    session: String,
    /// Relative path; folders are made
    path: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    base64: Option<String>,
    /// Add to the end of the file
    #[serde(default)]
    append: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    session: String,
    path: String,
    /// First byte
    #[serde(default)]
    offset: u64,
    /// Most bytes
    #[serde(default)]
    limit: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    session: String,
    /// Folder
    #[serde(default)]
    path: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Written {
    path: String,
    /// Size of the file now
    bytes: u64,
    uri: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Read {
    path: String,
    /// Size of the whole file
    bytes: u64,
    mime: &'static str,
    offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    /// Where to read on
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    files: Vec<Entry>,
    /// There are more than these
    more: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    path: String,
    /// file, folder or other
    kind: &'static str,
    bytes: u64,
    mime: &'static str,
}

pub(super) fn describe_write() -> Description {
    Description {
        name: WRITE_FILE,
        title: "Write a file",
        text: "Put a file into a session's workspace (opens the session): `text`, or `base64`. `append` builds a long file in parts."
            .to_owned(),
        input: arguments::schema_of::<WriteArguments>(),
        output: arguments::schema_of_result::<Written>(),
        annotations: ToolAnnotations::with_title("Write a file")
            .read_only(false)
            .destructive(true)
            .idempotent(false)
            .open_world(false),
        icon: icons::RUN,
    }
}

pub(super) fn describe_read() -> Description {
    Description {
        name: READ_FILE,
        title: "Read a file",
        text: "Read a file of a session's workspace: text, image or base64.".to_owned(),
        input: arguments::schema_of::<ReadArguments>(),
        output: arguments::schema_of_result::<Read>(),
        annotations: reads("Read a file"),
        icon: icons::LIST,
    }
}

pub(super) fn describe_list() -> Description {
    Description {
        name: LIST_FILES,
        title: "List files",
        text: "What a session's workspace holds.".to_owned(),
        input: arguments::schema_of::<ListArguments>(),
        output: arguments::schema_of_result::<Listed>(),
        annotations: reads("List files"),
        icon: icons::LIST,
    }
}

pub(super) fn reads(title: &str) -> ToolAnnotations {
    ToolAnnotations::with_title(title).read_only(true).destructive(false).idempotent(true).open_world(false)
}

fn path_of(given: &str) -> Result<WorkspacePath, Refusal> {
    WorkspacePath::new(given).map_err(|error: PathError| {
        let shown: String = given.chars().flat_map(char::escape_debug).take(80).collect();
        let message = format!("`{shown}` cannot name a file of the workspace: {error}");
        Refusal::new("path", message, "use a relative path without `..`, such as `data/prices.csv`")
    })
}

fn contents_of(text: Option<String>, base64: Option<String>) -> Result<Vec<u8>, Refusal> {
    match (text, base64) {
        (Some(text), None) => Ok(text.into_bytes()),
        (None, Some(encoded)) => BASE64_STANDARD.decode(encoded).map_err(|error| {
            let message = format!("`base64` cannot be decoded: {error}");
            Refusal::new("base64", message, "use standard base64 with padding, or send `text`")
        }),
        (None, None) => Err(Refusal::new("text", "there is nothing to write", "send `text`, or `base64` for bytes")),
        (Some(_), Some(_)) => Err(Refusal::new("text", "there are both `text` and `base64`", "send one of them")),
    }
}

impl Call<'_> {
    pub(super) async fn write_file(self, given: Option<Map<String, Value>>) -> Result<CallToolResult, RunError> {
        let given: WriteArguments = arguments::read(given)?;
        let (session, path) = (SessionName::new(&given.session)?, path_of(&given.path)?);
        let contents = contents_of(given.text, given.base64)?;
        let mode = if given.append { WriteMode::Append } else { WriteMode::Replace };
        let bytes = self.runtime.write_file((self.caller, &session), &path, &contents, mode).await?;
        let uri = uri::session_file(session.as_str(), path.as_str());
        let text = format!("`{path}` in session `{session}` has {bytes} bytes");
        Ok(answer(text, &Written { path: path.to_string(), bytes, uri }))
    }

    pub(super) async fn read_file(self, given: Option<Map<String, Value>>) -> Result<CallToolResult, RunError> {
        let given: ReadArguments = arguments::read(given)?;
        let (session, path) = (SessionName::new(&given.session)?, path_of(&given.path)?);
        let mime = mime_of(path.as_str());
        let is_picture = mime.starts_with("image/") && mime != "image/svg+xml";
        // Twice in an answer, as text and in its structure; a picture once, a third larger.
        let most = if is_picture { self.room.answer / 2 } else { self.room.answer / 5 } as u64;
        let limit = given.limit.unwrap_or(most);
        if limit > most {
            let message = format!("`limit` of {limit} bytes is more than an answer holds");
            return Err(Refusal::new("limit", message, format!("read up to {most} at a time, with `offset`")).into());
        }
        let part = FilePart { offset: given.offset, limit };
        let read = self.runtime.read_file((self.caller, &session), &path, part).await?;
        let is_whole = given.offset == 0 && read.bytes.len() as u64 == read.size;
        if is_picture && is_whole && sandbox::Display::new(mime, read.bytes.clone(), |_| true).is_some() {
            let about = Read {
                path: path.to_string(),
                bytes: read.size,
                mime,
                offset: 0,
                text: None,
                base64: None,
                next_offset: None,
            };
            let mut result = answer(format!("`{path}`, {} bytes", read.size), &about);
            result.content.push(ContentBlock::image(BASE64_STANDARD.encode(&read.bytes), mime));
            return Ok(result);
        }
        let (text, base64, taken) = if let Some(text) = text_of(&read.bytes) {
            let text = room::beginning(text, self.room.answer / 5 * 2);
            (Some(text.to_owned()), None, text.len())
        } else {
            let bytes = read.bytes.get(..self.room.answer / 5).unwrap_or(&read.bytes);
            (None, Some(BASE64_STANDARD.encode(bytes)), bytes.len())
        };
        let end = given.offset.saturating_add(taken as u64);
        let next_offset = (taken > 0 && end < read.size).then_some(end);
        let shown = text.as_ref().or(base64.as_ref()).cloned().unwrap_or_default();
        let shown = match next_offset {
            Some(next) => format!("{shown}\n[{taken} of {} bytes; read on with offset {next}]", read.size),
            None => shown,
        };
        let about =
            Read { path: path.to_string(), bytes: read.size, mime, offset: given.offset, text, base64, next_offset };
        Ok(answer(shown, &about))
    }

    pub(super) async fn list_files(self, given: Option<Map<String, Value>>) -> Result<CallToolResult, RunError> {
        let given: ListArguments = arguments::read(given)?;
        let session = SessionName::new(&given.session)?;
        let folder = given.path.as_deref().filter(|path| !matches!(*path, "" | "." | "./")).map(path_of).transpose()?;
        let mut listed = self.runtime.list_files((self.caller, &session), folder.as_ref()).await?;
        let mut more = listed.len() > FolderEntry::MAX_COUNT;
        listed.truncate(FolderEntry::MAX_COUNT);
        let mut space = self.room.answer / 4;
        let fits = |entry: &FolderEntry| {
            let size = room::encoded(&entry.path) + 80;
            let has_room = size <= space;
            space = space.saturating_sub(size);
            has_room
        };
        let all = listed.len();
        let files: Vec<Entry> = listed.into_iter().take_while(fits_all(fits)).map(Entry::from).collect();
        more |= files.len() < all;
        let line = |entry: &Entry| match entry.kind {
            "file" => format!("{} ({} bytes)", entry.path, entry.bytes),
            "folder" => format!("{}/", entry.path),
            _ => format!("{} (not a regular file)", entry.path),
        };
        let mut lines: Vec<String> = files.iter().map(line).collect();
        if files.is_empty() {
            lines.push("(nothing)".to_owned());
        }
        if more {
            lines.push("[there are more; list a folder]".to_owned());
        }
        Ok(answer(lines.join("\n"), &Listed { files, more }))
    }
}

/// For `take_while`, which asks with a reference.
fn fits_all(mut fits: impl FnMut(&FolderEntry) -> bool) -> impl FnMut(&FolderEntry) -> bool {
    move |entry| fits(entry)
}

impl From<FolderEntry> for Entry {
    fn from(entry: FolderEntry) -> Self {
        let kind = match entry.kind {
            EntryKind::File => "file",
            EntryKind::Folder => "folder",
            EntryKind::Other => "other",
        };
        let mime = if entry.kind == EntryKind::File { mime_of(&entry.path) } else { "" };
        Self { path: entry.path, kind, bytes: entry.size, mime }
    }
}

/// The text that these bytes are, without a character that was cut at their end.
fn text_of(bytes: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => {
            std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    (!text.contains('\0')).then_some(text)
}
