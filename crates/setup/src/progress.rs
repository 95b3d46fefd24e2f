//! Progress for people: one bar that is redrawn on a terminal, a line a step elsewhere.

use std::fmt;
use std::io::{IsTerminal as _, Stderr, Write};
use std::os::fd::AsFd as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::event::{Event, How};

/// How often the bar is redrawn: the clock in it shows that a long step is alive.
const TICK: Duration = Duration::from_millis(200);
const NOTABLE: Duration = Duration::from_mins(1);
const BAR_WIDTH: usize = 24;
const USUAL_COLUMNS: usize = 80;

/// How to show progress.
pub enum Style {
    /// A bar on a line of its own, redrawn in place; asks how wide the terminal is.
    Bar(Box<dyn Fn() -> usize + Send>),
    /// A line for each step.
    Lines,
}

impl fmt::Debug for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bar(_) => "Bar",
            Self::Lines => "Lines",
        })
    }
}

impl Style {
    /// A bar on a terminal, lines elsewhere.
    pub fn of(stderr: &Stderr) -> Self {
        match stderr.as_fd().try_clone_to_owned() {
            Ok(terminal) if stderr.is_terminal() => Self::Bar(Box::new(move || {
                let size = rustix::termios::tcgetwinsize(&terminal).map_or(0, |size| usize::from(size.ws_col));
                if size == 0 { USUAL_COLUMNS } else { size }
            })),
            _ => Self::Lines,
        }
    }
}

/// Shows events. Not being able to write is no reason to stop provisioning.
#[derive(Debug)]
pub struct Progress<W: Write + Send + 'static> {
    screen: Arc<Mutex<Screen<W>>>,
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

impl<W: Write + Send + 'static> Progress<W> {
    /// Shows nothing yet. `writer` is standard error.
    pub fn new(writer: W, style: Style) -> Self {
        let is_bar = matches!(style, Style::Bar(_));
        let screen = Arc::new(Mutex::new(Screen { writer, style, current: None }));
        let ticker = is_bar.then(|| tick(Arc::clone(&screen)));
        Self { screen, ticker }
    }

    /// Shows what happened.
    pub fn show(&self, event: &Event) {
        lock(&self.screen).show(event);
    }
}

impl<W: Write + Send + 'static> Drop for Progress<W> {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.ticker.take() {
            drop(stop);
            thread.join().ok();
        }
        lock(&self.screen).clear();
    }
}

#[derive(Debug)]
struct Screen<W> {
    writer: W,
    style: Style,
    current: Option<Current>,
}

/// The runtime whose turn it is.
#[derive(Debug)]
struct Current {
    name: &'static str,
    index: u32,
    of: u32,
    text: String,
    since: Instant,
}

impl<W: Write> Screen<W> {
    fn show(&mut self, event: &Event) {
        match event {
            Event::Started { name } => {
                self.current = Some(Current { name, index: 0, of: 0, text: String::new(), since: Instant::now() });
            }
            Event::Waiting { name, other } => {
                let other = if other.is_empty() { "at work" } else { other };
                let text = format!("another belljar is {other}: waiting");
                self.line(&format!("{name}: {text}"));
                self.update(|current| current.text = text);
            }
            // Nobody has to be told to be patient for seconds.
            Event::Building { takes, .. } if *takes < NOTABLE => {}
            Event::Building { name, takes } => {
                let minutes = takes.as_secs().div_ceil(60);
                let takes = if minutes == 1 { "a minute".to_owned() } else { format!("{minutes} minutes") };
                self.note(&format!("{name}: building it takes about {takes}"));
            }
            Event::Step { name, index, of, text } => {
                self.line(&format!("{name}: step {index}/{of} {text}"));
                self.update(|current| (current.index, current.of, current.text) = (*index, *of, text.clone()));
            }
            Event::Done { name, version, how, took } => {
                let took = clock(*took);
                let what = match how {
                    How::Found => "is ready".to_owned(),
                    How::Compiled => format!("is ready, compiled in {took}"),
                    How::Snapshotted | How::Built => format!("is ready, built in {took}"),
                    How::Imported => format!("is ready, imported in {took}"),
                };
                self.end(&format!("✓ {name} {version} {what}"));
            }
            Event::Failed { name, failure } => self.end(&format!("✗ {name}: {}", failure.why)),
        }
        self.draw();
    }

    fn update(&mut self, change: impl FnOnce(&mut Current)) {
        if let Some(current) = &mut self.current {
            change(current);
        }
    }

    /// A line that stays, above the bar.
    fn note(&mut self, text: &str) {
        self.clear();
        writeln!(self.writer, "{text}").ok();
    }

    /// A line that stays, where there is no bar.
    fn line(&mut self, text: &str) {
        if matches!(self.style, Style::Lines) {
            writeln!(self.writer, "{text}").ok();
        }
    }

    /// The last line about a runtime, which stays.
    fn end(&mut self, text: &str) {
        self.note(text);
        self.current = None;
    }

    fn draw(&mut self) {
        let (Style::Bar(columns), Some(current)) = (&self.style, &self.current) else { return };
        let line = current.line(columns());
        write!(self.writer, "\r{line}\x1b[K").ok();
        self.writer.flush().ok();
    }

    fn clear(&mut self) {
        if matches!(self.style, Style::Bar(_)) && self.current.is_some() {
            write!(self.writer, "\r\x1b[K").ok();
            self.writer.flush().ok();
        }
    }
}

impl Current {
    /// `python     ━━━━━━────────── 3/8 build the cross compiler 1:12`, one column short of the terminal's width: a full line would wrap.
    fn line(&self, columns: usize) -> String {
        let filled = match self.of {
            0 => 0,
            // A step that is going on is not done.
            of => BAR_WIDTH * self.index.saturating_sub(1) as usize / of as usize,
        };
        let bar = format!("{}{}", "━".repeat(filled), "─".repeat(BAR_WIDTH.saturating_sub(filled)));
        let count = if self.of == 0 { String::new() } else { format!("{}/{} ", self.index, self.of) };
        let head = format!("  {:<11}{bar} {} {count}", self.name, clock(self.since.elapsed()));
        let line = format!("{head}{}", self.text);
        line.chars().take(columns.saturating_sub(1)).collect()
    }
}

fn tick<W: Write + Send + 'static>(screen: Arc<Mutex<Screen<W>>>) -> (Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = mpsc::channel();
    let thread = thread::spawn(move || {
        while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            lock(&screen).draw();
        }
    });
    (stop, thread)
}

fn lock<T>(screen: &Mutex<T>) -> MutexGuard<'_, T> {
    screen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `1:12`.
fn clock(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Failure;

    /// What a story looks like.
    fn shown(style: fn() -> Style) -> String {
        let seen = Shared::default();
        let progress = Progress::new(seen.clone(), style());
        let step = |index, text: &str| Event::Step { name: "python", index, of: 4, text: text.to_owned() };
        let failure = Failure { why: "no network".to_owned(), hint: String::new(), log: None };
        for event in [
            Event::Started { name: "python" },
            Event::Waiting { name: "python", other: "building python".to_owned() },
            Event::Waiting { name: "python", other: String::new() },
            Event::Building { name: "python", takes: Duration::from_secs(10) },
            Event::Building { name: "python", takes: Duration::from_mins(5) },
            step(1, "fetch"),
            step(3, "make the snapshot, which has a long description"),
            Event::Done { name: "python", version: "3.13".to_owned(), how: How::Built, took: Duration::from_secs(72) },
            Event::Started { name: "numpy" },
            Event::Failed { name: "numpy", failure },
        ] {
            progress.show(&event);
        }
        drop(progress);
        let bytes = lock(&seen.0).clone();
        String::from_utf8(bytes).expect("UTF-8")
    }

    #[derive(Debug, Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            lock(&self.0).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn without_a_terminal_every_step_is_a_line() {
        assert_eq!(
            shown(|| Style::Lines),
            "python: another belljar is building python: waiting\n\
             python: another belljar is at work: waiting\n\
             python: building it takes about 5 minutes\n\
             python: step 1/4 fetch\n\
             python: step 3/4 make the snapshot, which has a long description\n\
             ✓ python 3.13 is ready, built in 1:12\n\
             ✗ numpy: no network\n"
        );
    }

    #[test]
    fn a_bar_is_one_line_that_never_wraps() {
        let text = shown(|| Style::Bar(Box::new(|| 60)));
        let lasting: Vec<&str> = text.lines().map(|line| line.rsplit("\x1b[K").next().unwrap_or(line)).collect();
        assert_eq!(
            lasting,
            [
                "python: building it takes about 5 minutes",
                "✓ python 3.13 is ready, built in 1:12",
                "✗ numpy: no network"
            ]
        );
        let drawn: Vec<&str> = text
            .split(['\r', '\n'])
            .filter_map(|part| part.strip_suffix("\x1b[K"))
            .filter(|part| !part.is_empty())
            .collect();
        assert!(drawn.iter().all(|line| line.chars().count() < 60), "{drawn:?}");
        let bars = [
            "  python     ──────────────────────── 0:00 1/4 fetch",
            "  python     ━━━━━━━━━━━━──────────── 0:00 3/4 make the sna",
        ];
        for bar in bars {
            assert!(drawn.contains(&bar), "{bar} in {drawn:?}");
        }
    }
}
