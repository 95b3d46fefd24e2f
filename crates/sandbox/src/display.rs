//! Rich output: pictures, tables and specifications beside a program's text. The guest made all of it.

/// Something to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Display {
    mime: &'static str,
    data: Vec<u8>,
}

/// What data of a kind has to look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Bytes that start like this.
    Starts(&'static [u8]),
    Text,
    Json,
}

const KINDS: &[(&str, Form)] = &[
    ("image/png", Form::Starts(b"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", Form::Starts(b"\xff\xd8\xff")),
    ("image/gif", Form::Starts(b"GIF8")),
    ("image/webp", Form::Starts(b"RIFF")),
    ("image/svg+xml", Form::Text),
    ("text/html", Form::Text),
    ("text/markdown", Form::Text),
    ("text/latex", Form::Text),
    ("text/plain", Form::Text),
    ("application/json", Form::Json),
    ("application/vnd.plotly.v1+json", Form::Json),
    ("application/vnd.vegalite.v4+json", Form::Json),
    ("application/vnd.vegalite.v5+json", Form::Json),
    ("application/vnd.vegalite.v6+json", Form::Json),
    ("application/vnd.vega.v5+json", Form::Json),
    ("application/vnd.bokeh+json", Form::Json),
];

impl Display {
    /// The most displays in one run.
    pub const MAX_COUNT: usize = 16;
    /// The largest display, in bytes.
    pub const MAX_SIZE: usize = 8 << 20;
    /// All displays of one run together, in bytes.
    pub const MAX_TOTAL: usize = 32 << 20;

    /// What a guest wants to show, if it is what it claims to be. `is_json` says whether a text is JSON.
    pub fn new(mime: &str, data: Vec<u8>, is_json: impl FnOnce(&str) -> bool) -> Option<Self> {
        let (mime, form) = KINDS.iter().find(|(known, _)| *known == mime)?;
        let is_so = match form {
            Form::Starts(start) => data.starts_with(start),
            Form::Text => std::str::from_utf8(&data).is_ok(),
            Form::Json => std::str::from_utf8(&data).is_ok_and(is_json),
        };
        (is_so && data.len() <= Self::MAX_SIZE).then_some(Self { mime, data })
    }

    /// The displays of a run that are within the limits, and how many are not.
    pub fn within_limits(displays: impl IntoIterator<Item = Self>) -> (Vec<Self>, usize) {
        let (mut kept, mut dropped, mut total) = (Vec::new(), 0, 0);
        for display in displays {
            total += display.data.len();
            if kept.len() < Self::MAX_COUNT && total <= Self::MAX_TOTAL {
                kept.push(display);
            } else {
                dropped += 1;
            }
        }
        (kept, dropped)
    }

    /// Its MIME type, one of a few.
    pub fn mime(&self) -> &'static str {
        self.mime
    }

    /// Its data.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Its text, if it is one.
    pub fn text(&self) -> Option<&str> {
        let is_picture = KINDS.iter().any(|(mime, form)| *mime == self.mime && matches!(form, Form::Starts(_)));
        if is_picture { None } else { std::str::from_utf8(&self.data).ok() }
    }

    /// Whether it is a bitmap image, which clients show by themselves.
    pub fn is_picture(&self) -> bool {
        self.text().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_it_says_it_is() {
        let json = |text: &str| text.starts_with('{');
        assert!(Display::new("image/png", b"\x89PNG\r\n\x1a\n....".to_vec(), json).is_some_and(|it| it.is_picture()));
        assert_eq!(Display::new("image/png", b"<script>".to_vec(), json), None);
        assert_eq!(Display::new("text/x-shellscript", b"rm".to_vec(), json), None);
        assert_eq!(Display::new("text/html", b"\xff".to_vec(), json), None);
        assert_eq!(Display::new("application/json", b"nothing".to_vec(), json), None);
        assert!(Display::new("text/html", b"<b>".to_vec(), json).is_some_and(|it| !it.is_picture()));
        assert_eq!(Display::new("text/plain", vec![b'x'; Display::MAX_SIZE + 1], json), None);
    }

    #[test]
    fn so_many_and_no_more() {
        let one = |size| Display::new("text/plain", vec![b'x'; size], |_| true).expect("text");
        let (kept, dropped) = Display::within_limits((0..20).map(|_| one(1)));
        assert_eq!((kept.len(), dropped), (16, 4));
        let (kept, dropped) = Display::within_limits((0..6).map(|_| one(Display::MAX_SIZE)));
        assert_eq!((kept.len(), dropped), (4, 2));
    }
}
