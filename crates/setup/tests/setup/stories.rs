//! What people see: all at once, one that fails, nothing to do.

use std::time::Duration;

use setup::{Event, How, NotUsable};

use crate::world::{RECIPE, World, names_in, outcomes};

/// All that there is, in order.
const ALL: [&str; 8] = ["javascript", "lua", "sql", "ruby", "clang", "php", "python", "numpy"];

#[test]
fn everything_is_provisioned_in_order_and_found_the_next_time() {
    let world = World::new();
    let mut ready_when_python_starts = None;
    let (summary, events) = world.provision_watched(&[], &setup::Cancel::default(), |event| {
        if *event == (Event::Started { name: "python" }) {
            ready_when_python_starts = Some(world.installed("javascript").is_ok());
        }
    });
    assert_eq!(outcomes(&summary), ALL.map(|name| (name, Ok(How::Built))));
    assert_eq!(ready_when_python_starts, Some(true), "what is ready is usable while the next is built");
    let javascript: Vec<&Event> = events.iter().take(9).collect();
    let step = |index: u32, text: &str| Event::Step { name: "javascript", index, of: 4, text: text.to_owned() };
    assert_eq!(
        javascript.get(..8).expect("events"),
        [
            &Event::Started { name: "javascript" },
            &Event::Building { name: "javascript", takes: setup::CATALOGUE[0].takes },
            &step(1, "fetch"),
            &step(2, "link"),
            &step(3, "make the snapshot"),
            &step(3, "start the reactor"),
            &step(4, "compile for this machine"),
            &step(4, "translate"),
        ]
    );
    assert!(matches!(javascript[8], Event::Done { name: "javascript", how: How::Built, .. }));
    for name in ALL {
        world.assert_usable(name);
    }
    world.assert_private();
    world.assert_nothing_temporary();

    let (summary, events) = world.provision(&[]);
    assert_eq!(outcomes(&summary), ALL.map(|name| (name, Ok(How::Found))));
    assert_eq!(events.len(), 2 * ALL.len(), "{events:?}");
    assert_eq!(ALL.map(|name| world.runs(name)), [1; ALL.len()]);
    assert_eq!(world.finish.made(), (ALL.len(), ALL.len()));
}

#[test]
fn what_a_runtime_builds_upon_comes_with_it() {
    let world = World::new();
    let (summary, _) = world.provision(&["numpy"]);
    assert_eq!(outcomes(&summary), [("python", Ok(How::Built)), ("numpy", Ok(How::Built))]);
    assert!(matches!(world.installed("javascript"), Err(NotUsable::NotProvisioned)));
}

#[test]
fn one_that_fails_says_why_and_stops_only_what_builds_upon_it() {
    let world = World::new();
    world.recipe(
        "python",
        r#"mkdir -p "$BELLJAR_WORK/log"; log="$BELLJAR_WORK/log/python.log"; echo details >"$log"
        echo "step 1/2 fetch"
        echo "some tool's noise" >&2
        echo "error: this machine lacks \`make\`; on Debian and Ubuntu: apt-get install make (log: $log)" >&2
        exit 1"#,
    );
    let (summary, events) = world.provision(&[]);
    assert!(!summary.is_complete());
    assert_eq!(outcomes(&summary)[0], ("javascript", Ok(How::Built)));
    let log = world.root().join("work/log/python.log");
    assert_eq!(
        summary.to_string(),
        format!(
            "error: `python` could not be provisioned: this machine lacks `make`; on Debian and Ubuntu: apt-get install make\n  \
             log: {}\n  \
             hint: `belljar setup` goes on where this stopped\n\
             error: `numpy` could not be provisioned: it builds upon `python`, which is not there\n  \
             hint: see what `python` needs\n",
            log.display()
        )
    );
    let failed: Vec<&str> = events
        .iter()
        .filter_map(|event| if let Event::Failed { name, .. } = event { Some(*name) } else { None })
        .collect();
    assert_eq!(failed, ["python", "numpy"]);
    assert!(matches!(world.installed("python"), Err(NotUsable::NotProvisioned)));
    assert_eq!(world.runs("numpy"), 0);

    world.recipe("python", RECIPE);
    let (summary, _) = world.provision(&[]);
    assert!(summary.is_complete(), "{summary}");
    assert_eq!(summary.to_string(), "");
}

#[test]
fn the_list_names_every_runtime_with_its_state() {
    let world = World::new();
    world.provision(&["javascript"]);
    let listed = world.setup().list();
    let states: Vec<(&str, bool)> = listed.iter().map(|row| (row.runtime.name, row.state.is_ok())).collect();
    assert_eq!(states, ALL.map(|name| (name, name == "javascript")));
    let installed = listed[0].state.as_ref().expect("installed");
    assert_eq!(installed.version(), "1.2.3");
    assert!(installed.size.get() > 0);
    let age = installed.built().elapsed().expect("in the past");
    assert!(age < Duration::from_mins(5), "{age:?}");
    let sources: Vec<String> = installed
        .manifest
        .sources
        .iter()
        .map(|source| format!("{} {} {}", source.name, source.version, source.hash))
        .collect();
    assert_eq!(sources, ["javascript 1.2.3-1 abc"]);
}

#[test]
fn scratch_space_is_cleared_when_all_is_there_but_for_downloads_and_logs() {
    let mut world = World::new();
    world.scratch = setup::Scratch::Clear;
    let fetch =
        r#"mkdir -p "$BELLJAR_WORK/downloads" "$BELLJAR_WORK/tree-@NAME@"; echo x >"$BELLJAR_WORK/downloads/@NAME@""#;
    world.recipe("javascript", &format!("{fetch}\n{RECIPE}"));
    world.recipe("python", &format!("{fetch}\nexit 1"));
    world.provision(&[]);
    assert_eq!(names_in(&world.root().join("work")), ["downloads", "log", "tree-javascript", "tree-python"]);

    world.recipe("python", RECIPE);
    world.provision(&[]);
    assert_eq!(names_in(&world.root().join("work")), ["downloads", "log"]);
    assert_eq!(names_in(&world.root().join("work/downloads")), ["javascript", "python"]);
}
