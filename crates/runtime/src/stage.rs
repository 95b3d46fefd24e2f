//! Which of two runs of the same program the caller sees.

use std::sync::{Mutex, PoisonError};

use sandbox::{EngineId, LiveOutput, Stream};
use tokio::sync::Notify;

/// How much output is held back while it is open which run will be shown. A run that writes more is the one shown.
const HOLD: usize = 1 << 20;

/// The caller's view. Output of a run is held back until we commit to that run; then it is shown, and everything after
/// it at once.
pub(crate) struct Stage<'a> {
    state: Mutex<State<'a>>,
    /// Notified when the native run starts.
    native_started: Notify,
}

struct State<'a> {
    live: &'a mut dyn LiveOutput,
    shown: Option<EngineId>,
    /// What each engine's run has written: everything while nothing is shown, as long as it fits.
    wasm: Kept,
    native: Kept,
}

/// The output of one run.
#[derive(Default)]
struct Kept {
    pieces: Vec<(Stream, Vec<u8>)>,
    size: usize,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(live: &'a mut dyn LiveOutput) -> Self {
        let state = State { live, shown: None, wasm: Kept::default(), native: Kept::default() };
        Self { state: Mutex::new(state), native_started: Notify::new() }
    }

    /// Waits until the native run's own program starts.
    pub(crate) async fn native_started(&self) {
        self.native_started.notified().await;
    }

    /// Shows this run from now on, including what it has written so far. False if another one is being shown.
    pub(crate) fn commit(&self, engine: EngineId) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.shown {
            None => {
                state.show(engine);
                true
            }
            Some(shown) => shown == engine,
        }
    }

    /// Shows this run instead of the other, if what was shown so far is the start of what this one wrote.
    pub(crate) fn switch_to(&self, engine: EngineId) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.shown == Some(engine) {
            return true;
        }
        let (ours, theirs) = match engine {
            EngineId::Wasm => (&state.wasm, &state.native),
            EngineId::Native => (&state.native, &state.wasm),
        };
        let rest: Option<Vec<(Stream, Vec<u8>)>> = [Stream::Stdout, Stream::Stderr]
            .into_iter()
            .map(|stream| Some((stream, ours.of(stream)?.strip_prefix(theirs.of(stream)?.as_slice())?.to_vec())))
            .collect();
        let Some(rest) = rest else { return false };
        for (stream, bytes) in rest.iter().filter(|(_, bytes)| !bytes.is_empty()) {
            state.live.output(*stream, bytes);
        }
        state.shown = Some(engine);
        true
    }
}

impl State<'_> {
    fn show(&mut self, engine: EngineId) {
        self.shown = Some(engine);
        let kept = match engine {
            EngineId::Wasm => &self.wasm,
            EngineId::Native => &self.native,
        };
        for (stream, bytes) in &kept.pieces {
            self.live.output(*stream, bytes);
        }
    }

    fn output(&mut self, engine: EngineId, stream: Stream, bytes: &[u8]) {
        let kept = match engine {
            EngineId::Wasm => &mut self.wasm,
            EngineId::Native => &mut self.native,
        };
        let fits = kept.keep(stream, bytes);
        if self.shown == Some(engine) {
            self.live.output(stream, bytes);
        } else if self.shown.is_none() && !fits {
            self.show(engine);
            self.live.output(stream, bytes);
        }
    }
}

impl Kept {
    /// Keeps the bytes; false, for good, once there are too many.
    fn keep(&mut self, stream: Stream, bytes: &[u8]) -> bool {
        let before = self.size;
        self.size = self.size.saturating_add(bytes.len());
        if self.size > HOLD {
            if before > HOLD {
                self.pieces.clear();
            }
            return false;
        }
        self.pieces.push((stream, bytes.to_vec()));
        true
    }

    /// All of one stream; `None` if not everything was kept.
    fn of(&self, wanted: Stream) -> Option<Vec<u8>> {
        let pieces = self.pieces.iter().filter(|(stream, _)| *stream == wanted);
        (self.size <= HOLD).then(|| pieces.flat_map(|(_, bytes)| bytes).copied().collect())
    }
}

/// One run's way to the stage.
pub(crate) struct Leg<'s, 'a> {
    stage: &'s Stage<'a>,
    engine: EngineId,
}

impl<'s, 'a> Leg<'s, 'a> {
    pub(crate) fn new(stage: &'s Stage<'a>, engine: EngineId) -> Self {
        Self { stage, engine }
    }
}

impl LiveOutput for Leg<'_, '_> {
    fn news(&mut self, text: &str) {
        self.stage.state.lock().unwrap_or_else(PoisonError::into_inner).live.news(text);
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        self.stage.state.lock().unwrap_or_else(PoisonError::into_inner).output(self.engine, stream, bytes);
    }

    fn started(&mut self) {
        match self.engine {
            EngineId::Native => self.stage.native_started.notify_one(),
            EngineId::Wasm => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen(Vec<u8>);

    impl LiveOutput for Seen {
        fn output(&mut self, _: Stream, bytes: &[u8]) {
            self.0.extend_from_slice(bytes);
        }
    }

    fn write(stage: &Stage<'_>, engine: EngineId, text: &str) {
        Leg::new(stage, engine).output(Stream::Stdout, text.as_bytes());
    }

    #[test]
    fn nothing_is_shown_until_committed() {
        let mut seen = Seen::default();
        let stage = Stage::new(&mut seen);
        write(&stage, EngineId::Wasm, "from wasm");
        assert!(stage.commit(EngineId::Native));
        write(&stage, EngineId::Native, "from native");
        assert!(!stage.commit(EngineId::Wasm));
        drop(stage);
        assert_eq!(seen.0, b"from native");
    }

    #[test]
    fn switching_needs_the_same_start() {
        for (native, wasm, expected, switched) in [
            ("one ", "one two", "one two", true),
            ("", "one two", "one two", true),
            ("other", "one two", "other", false),
        ] {
            let mut seen = Seen::default();
            let stage = Stage::new(&mut seen);
            stage.commit(EngineId::Native);
            write(&stage, EngineId::Wasm, wasm);
            write(&stage, EngineId::Native, native);
            assert_eq!(stage.switch_to(EngineId::Wasm), switched);
            drop(stage);
            assert_eq!(seen.0, expected.as_bytes(), "{native} {wasm}");
        }
    }

    #[test]
    fn a_flood_commits_by_itself() {
        let mut seen = Seen::default();
        let stage = Stage::new(&mut seen);
        let chunk = "x".repeat(HOLD / 4);
        for _ in 0..6 {
            write(&stage, EngineId::Wasm, &chunk);
        }
        assert!(!stage.commit(EngineId::Native));
        drop(stage);
        assert_eq!(seen.0.len(), 6 * chunk.len());
    }
}
