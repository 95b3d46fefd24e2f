//! Random processes of a server, and the server itself, are killed at random moments under a mixed load.

use std::thread;
use std::time::{Duration, Instant};

use testkit::random::Random;

use crate::caller::Caller;
use crate::programs::{QUICK, quick};
use crate::site::{Ending, Site};
use crate::tree::{Holdings, Tree, Victim};
use crate::world::World;
use crate::{SOON, seed, told};

const CALLERS: usize = 6;

/// Who is killed, one as often as another. The server itself seldom: every caller begins anew then.
const VICTIMS: [Victim; 11] = [
    Victim::Guest,
    Victim::Spare,
    Victim::Worker,
    Victim::Supervisor,
    Victim::Launcher,
    Victim::Guest,
    Victim::Spare,
    Victim::Worker,
    Victim::Supervisor,
    Victim::Launcher,
    Victim::Server,
];

#[expect(clippy::disallowed_methods, reason = "tests have no settings module")]
fn length() -> Duration {
    match std::env::var_os("BELLJAR_TEST_ALL") {
        Some(_) => Duration::from_mins(10),
        None => Duration::from_secs(12),
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "figures for whoever reads the log")]
fn whatever_is_killed_answers_are_right_or_say_why() {
    let Some(world) = World::new() else { return };
    let seed = seed();
    let site = Site::open(&world);
    for kind in QUICK {
        served_again(&site, &kind, Instant::now());
    }
    let before = Holdings::of(site.server());
    let started = Instant::now();
    thread::scope(|scope| {
        let _ending = Ending(&site);
        for number in 0..CALLERS {
            let caller = Caller::new(number, seed, &site);
            scope.spawn(move || caller.work());
        }
        let mut random = Random::new(seed);
        while site.goes_on() && started.elapsed() < length() {
            thread::sleep(Duration::from_millis(random.below(400)));
            let victim = *random.of(&VICTIMS.each_ref());
            let found = Tree::of(site.server()).find(victim);
            if found.is_empty() {
                continue;
            }
            let since = site.hit(victim, *random.of(&found.iter().collect::<Vec<_>>()));
            let first = usize::try_from(random.below(QUICK.len() as u64)).expect("an index");
            let kinds = QUICK.iter().cycle().skip(first).take(QUICK.len());
            let served: Vec<Duration> = kinds.map(|kind| served_again(&site, kind, since)).collect();
            site.note_back(victim, (served[0], served[QUICK.len() - 1]));
        }
    });
    eprintln!("{site}");
    before.assert_again(site.server(), SOON);
    assert_eq!(world.drafts(), Vec::<std::path::PathBuf>::new());
}

/// How long after a fault a program of this kind is answered rightly.
fn served_again(site: &Site<'_>, kind: &(&str, &str), since: Instant) -> Duration {
    let (arguments, expected) = quick(kind, "served");
    loop {
        let result = site.chance().endpoint.modern().call("run_code", &arguments).expect("an answer")["result"].take();
        if result["structuredContent"]["stdout"] == expected {
            return since.elapsed();
        }
        // A guest may have been this one.
        assert!(result["structuredContent"]["signal"] == "SIGKILL" || told(&result).starts_with("Failed"), "{result}");
        assert!(since.elapsed() < SOON, "{kind:?} is not served {:?} after the fault: {result}", since.elapsed());
    }
}
