//! Checks the order of the modules in larger folders, from the bottom up: each may use only those before it. Exceptions
//! are listed with the reason; a list of exceptions may only get shorter. (Cargo refuses circles of crates.)

use std::fmt::Write;
use std::path::Path;

use tributary_testing::layers::{Folder, Room, hold_modules, rooms, sources_below};
use tributary_testing::seams::{Seam, hold_seams};

/// Folders of modules: the folder, the path before a module's name in code, the order, and the exceptions.
const FOLDERS: &[Folder] = &[
    (
        "src",
        "crate::",
        "world access device schedule fabric collectives exchange hints machine engine",
        &[(
            "fabric",
            "collectives",
            "before ranks share memory they agree on it by messages (shared/combine, shared/group, shared/hosts)",
        )],
    ),
    // No driver knows the registry.
    (
        "drivers/src",
        "crate::",
        "storage mounts direct system hints placement domains driver lov posix gpfs nfs lustre registry hostile",
        &[],
    ),
    ("src/engine", "crate::engine::", "trace choose io exchange shared agree file", &[]),
    ("bindings/mpiio/src", "crate::", "mpi view opening file entry calls exports", &[]),
    (
        "trib/src",
        "crate::",
        "generated numbers limits rest launcher cli calls buffers rank_program verify report exchange source listing picture hints \
            variables manual plan_only output text parallel capture explain agreement compare doctor run replay main",
        &[("cli", "source", "the parameters of a pattern")],
    ),
];

/// What the engine asks of the place where it runs. Nothing else in `src` makes these calls, or keeps state of the process
/// ([`STATE`]), so that another world can be put in their place.
const SEAMS: &[Seam] = &[
    ("src/world/clock.rs", &["Instant::now", "SystemTime::now"]),
    ("src/world/jobs.rs", &["Builder::new().name", "thread::panicking", "available_parallelism", "Select::new"]),
    (
        "src/world/waits.rs",
        &["thread::yield_now", "thread::sleep", "thread::park", "thread::current", "spin_loop", "Condvar", "SYS_futex"],
    ),
    ("src/world/process.rs", &["thread_local!"]),
    (
        "src/engine/io/calls.rs",
        &[
            ".write_at(",
            ".write_parts_at(",
            ".read_at(",
            ".next_data(",
            "files.open(",
            ".sync()",
            "control().settle",
            "control().see_other_hosts",
            "control().end",
            "control().hold",
            "control().is_held",
            "control().lock_range",
            "control().at_once",
            "control().writes_later",
            "control().identity",
            "control().open_direct",
        ],
    ),
];

/// Macros of `src/world/process.rs` that declare state, and types of statics that are constants.
const STATE: (&[&str], &[&str]) = (&["per_process", "own_state", "per_thread"], &["Kernel", "&[&Kernel]", "Extents"]);

#[test]
fn the_world_is_asked_in_one_place() {
    hold_seams(Path::new(env!("CARGO_MANIFEST_DIR")), "src", SEAMS, STATE.0, STATE.1);
}

#[test]
fn modules_know_those_below_them_only() {
    hold_modules(Path::new(env!("CARGO_MANIFEST_DIR")), FOLDERS);
}

/// The rooms of the engine from the top: the floor (the longest path of imports down), the number of items that other rooms name,
/// and what the room does.
const ENGINE: &[(&str, usize, usize, &str)] = &[
    ("file", 5, 0, "a call from begin to end"),
    ("agree", 4, 19, "what ranks bring and decide together"),
    ("exchange", 3, 8, "rounds of messages to aggregators"),
    ("shared", 3, 9, "windows in the memory of a host"),
    ("io", 2, 36, "the file: handle, window queue, holes, late writes"),
    ("choose", 1, 60, "the path, windows, layers; every threshold"),
    ("trace", 0, 28, "told what happens; knows no other room"),
];

/// The rooms of the preload library, as in [`ENGINE`].
const MPIIO: &[(&str, usize, usize, &str)] = &[
    ("exports", 5, 0, "the exported functions; the component of Open MPI"),
    ("calls", 4, 11, "the handlers of the functions"),
    ("entry", 3, 10, "the entry of every call"),
    ("file", 2, 35, "open files: who runs their calls, the report"),
    ("opening", 1, 5, "the agreement in MPI_File_open"),
    ("view", 1, 5, "file views, file pointers, datatypes"),
    ("mpi", 0, 52, "the program's MPI library"),
];

#[test]
fn rooms_have_few_floors_and_narrow_doors() {
    for (folder, prefix, table) in [("src/engine", "crate::engine::", ENGINE), ("bindings/mpiio/src", "crate::", MPIIO)]
    {
        let (found, named) = rooms(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), prefix);
        for ((from, to), items) in &named {
            println!("{from} -> {to}: {}", items.iter().cloned().collect::<Vec<_>>().join(" "));
        }
        let mut expected: Vec<Room> =
            table.iter().map(|&(name, floor, items, _)| (name.to_string(), floor, items)).collect();
        expected.sort();
        assert_eq!(found, expected, "{folder}: rooms, floors, or items that rooms give to others have changed");
    }
}

/// Width and height of a floor of the picture, and of a room.
const FLOOR: (usize, usize) = (760, 84);
const ROOM: (usize, usize) = (330, 60);

/// Draws the rooms of the engine on their floors.
fn picture() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine");
    let top = ENGINE.iter().map(|room| room.1).max().unwrap();
    let height = 60 + FLOOR.1 * (top + 1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"Helvetica, Arial, sans-serif\" role=\"img\" aria-labelledby=\"title\">\n\
         <title id=\"title\">The rooms of the engine on their floors; a room uses only rooms below it</title>\n\
         <defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"6\" refY=\"3\" orient=\"auto\">\
         <path d=\"M0,0 L6,3 L0,6 z\" fill=\"#57606a\"/></marker></defs>\n\
         <rect x=\"1\" y=\"1\" width=\"{}\" height=\"{}\" rx=\"10\" fill=\"#ffffff\" stroke=\"#d0d7de\" stroke-width=\"1.5\"/>\n\
         <text x=\"24\" y=\"32\" font-size=\"16\" fill=\"#1f2328\" font-weight=\"bold\">src/engine: a room uses only rooms on lower \
         floors</text>\n",
        FLOOR.0 - 2,
        height - 2,
        width = FLOOR.0,
    );
    for (number, (name, floor, items, about)) in ENGINE.iter().enumerate() {
        let beside: Vec<_> = (0..ENGINE.len()).filter(|&other| ENGINE[other].1 == *floor).collect();
        let part = beside.iter().position(|&other| other == number).unwrap();
        let middle = FLOOR.0 * (2 * part + 1) / (2 * beside.len());
        let (x, y) = (middle - ROOM.0 / 2, 48 + FLOOR.1 * (top - floor));
        let mut files = Vec::new();
        sources_below(&root.join(name), &mut files);
        let given = if *items == 0 { String::new() } else { format!(", gives {items} items to others") };
        let _ = write!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"#eef4fb\" stroke=\"#4a7db5\"/>\n\
             <text x=\"{middle}\" y=\"{}\" font-size=\"14\" text-anchor=\"middle\" fill=\"#1f2328\" font-weight=\"bold\">{name}</text>\n\
             <text x=\"{middle}\" y=\"{}\" font-size=\"12\" text-anchor=\"middle\" fill=\"#1f2328\">{about}</text>\n\
             <text x=\"{middle}\" y=\"{}\" font-size=\"11\" text-anchor=\"middle\" fill=\"#57606a\">{} \
             files{given}</text>\n",
            ROOM.0,
            ROOM.1,
            y + 19,
            y + 36,
            y + 52,
            files.len(),
        );
        if *floor > 0 {
            let _ = writeln!(
                svg,
                "<path d=\"M{middle},{} V{}\" stroke=\"#57606a\" stroke-width=\"1.5\" marker-end=\"url(#tip)\"/>",
                y + ROOM.1,
                y + FLOOR.1 - 2
            );
        }
    }
    svg + "</svg>\n"
}

/// The picture of the page about the rooms is drawn from the code; `./generate` draws it anew.
#[test]
fn the_picture_of_the_engine_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-it-works/rooms.svg");
    let drawn = picture();
    if std::env::var_os("TRIB_REGENERATE").is_some() {
        return std::fs::write(path, drawn).unwrap();
    }
    assert!(std::fs::read_to_string(path).is_ok_and(|kept| kept == drawn), "./generate draws the picture anew");
}
