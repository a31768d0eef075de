//! Checks the order of modules in a folder: each may use only modules before it. (Cargo refuses circles of crates.) Counts the
//! floors of the modules, and the items that each gives to others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A folder of modules: the folder, the path before a module's name in code, the order from the bottom up, and the
/// exceptions.
pub type Folder = (&'static str, &'static str, &'static str, &'static [Exception]);

/// Checks that each module of the folders below `root` uses only modules before it.
///
/// # Panics
/// Panics if a module uses a later one, or is not in the order, and if an exception is not needed.
pub fn hold_modules(root: &Path, folders: &[Folder]) {
    for (folder, prefix, order, against) in folders {
        println!("{folder}:");
        check(&modules(&root.join(folder), prefix), order, against);
    }
}

/// A room of a folder: the module, its floor (the longest path of imports to a module that imports none), and the number of its
/// items that other modules of the folder name.
pub type Room = (String, usize, usize);

/// For each pair (module, module that it uses): the items that it names.
pub type NamedItems = BTreeMap<(String, String), BTreeSet<String>>;

/// Returns the rooms of a folder, and for each pair (room, room that it uses) the items that it names. `prefix` is the path before
/// a module's name in code.
///
/// # Panics
/// Panics if modules use each other in a circle.
pub fn rooms(folder: &Path, prefix: &str) -> (Vec<Room>, NamedItems) {
    let graph = modules(folder, prefix);
    let named = named_items(folder, prefix, &graph);
    let mut floors = BTreeMap::new();
    for _ in 0..=graph.len() {
        for (name, known) in &graph {
            let below: Option<Vec<usize>> = known.iter().map(|other| floors.get(other).copied()).collect();
            if let Some(below) = below {
                floors.insert(name.clone(), below.into_iter().max().map_or(0, |floor| floor + 1));
            }
        }
    }
    let rooms = graph.keys().map(|name| {
        let floor = *floors.get(name).unwrap_or_else(|| panic!("{name} is in a circle of modules"));
        let given: BTreeSet<_> = named.iter().filter(|((_, to), _)| to == name).flat_map(|(_, items)| items).collect();
        (name.clone(), floor, given.len())
    });
    (rooms.collect(), named)
}

/// Returns the items that the modules of a folder name of each other.
fn named_items(folder: &Path, prefix: &str, graph: &Graph) -> NamedItems {
    let mut files = Vec::new();
    sources(folder, &mut files);
    let mut named = BTreeMap::new();
    for file in &files {
        let parts: Vec<_> = file.strip_prefix(folder).unwrap().iter().map(|part| part.to_str().unwrap()).collect();
        let from = parts[0].trim_end_matches(".rs");
        if !graph.contains_key(from) {
            continue;
        }
        let text = code(file);
        for (at, _) in text.match_indices(prefix) {
            let mut paths = Vec::new();
            leaves(&text[at + prefix.len()..], &mut Vec::new(), &mut paths);
            for path in paths.iter().filter(|path| graph.contains_key(&path[0]) && path[0] != from) {
                // What follows a type is part of the type.
                let is_type = |name: &&String| name.starts_with(char::is_uppercase);
                let item = path.iter().find(is_type).or(path.last()).cloned().unwrap_or_default();
                named.entry((from.to_string(), path[0].clone())).or_insert_with(BTreeSet::new).insert(item);
            }
        }
    }
    named
}

/// Adds the full paths of the tree of paths at the start of `text`, such as `a::{b, c::d}`, to `all`. `path` is the path before
/// the tree. Returns the number of bytes of the tree.
fn leaves(text: &str, path: &mut Vec<String>, all: &mut Vec<Vec<String>>) -> usize {
    let depth = path.len();
    let mut at = 0;
    loop {
        let name = text[at..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        at += name.len();
        if !name.is_empty() {
            path.push(name);
        }
        match text[at..].strip_prefix("::") {
            Some(rest) if rest.starts_with('{') => {
                at += 3;
                loop {
                    at +=
                        text[at..].len() - text[at..].trim_start_matches(|c: char| c.is_whitespace() || c == ',').len();
                    if text[at..].starts_with('}') || text[at..].is_empty() {
                        break;
                    }
                    let len = leaves(&text[at..], path, all);
                    // After a name may follow `as`, or what is no path.
                    at += len.max(1);
                }
                at += 1;
                break;
            }
            Some(_) => at += 2,
            None => {
                all.push(path.clone());
                break;
            }
        }
    }
    path.truncate(depth);
    at
}

type Graph = BTreeMap<String, BTreeSet<String>>;
/// A dependency against the order: the item that depends, the item that it depends on, and the reason.
pub type Exception = (&'static str, &'static str, &'static str);

/// Checks the graph against the order, and prints it.
fn check(graph: &Graph, order: &str, against: &[Exception]) {
    let mut text = String::new();
    for (name, known) in graph {
        let _ = writeln!(text, "{name} -> {}", known.iter().cloned().collect::<Vec<_>>().join(", "));
    }
    println!("{text}");
    let wrong = wrong(graph, &order.split_whitespace().collect::<Vec<_>>(), against);
    assert!(wrong.is_empty(), "{}\n\n{text}", wrong.join("\n"));
}

/// Returns messages about violations that are not listed, and about exceptions that are not needed.
fn wrong(graph: &Graph, order: &[&str], against: &[Exception]) -> Vec<String> {
    let place = |name: &str| order.iter().position(|it| *it == name);
    let mut wrong = Vec::new();
    wrong.extend(order.iter().filter(|it| !graph.contains_key(**it)).map(|it| format!("{it} is not there")));
    for (name, known) in graph {
        wrong.extend(place(name).is_none().then(|| format!("{name} has no place in the order")));
        for other in known {
            let is_listed = against.iter().any(|(from, to, _)| (*from, *to) == (name, other));
            let is_below = place(other).is_some_and(|other| Some(other) < place(name));
            match (is_below, is_listed) {
                (false, false) => wrong.push(format!("{name} -> {other} goes against the order")),
                (true, true) => wrong.push(format!("{name} -> {other} keeps the order: take it off the list")),
                _ => {}
            }
        }
    }
    let is_gone = |(from, to, _): &&Exception| !graph.get(*from).is_some_and(|known| known.contains(*to));
    let gone = against.iter().filter(is_gone);
    wrong.extend(gone.map(|(from, to, why)| format!("{from} -> {to} is no more: take it off the list ({why})")));
    wrong
}

/// Adds all source files below a folder to `into`, without those of tests.
pub(crate) fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut all = Vec::new();
    sources_below(folder, &mut all);
    into.extend(all.into_iter().filter(|path| !path.ends_with("tests.rs")));
}

/// Adds all source files below a folder to `into`, those of tests too.
pub fn sources_below(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources_below(&path, into);
        } else if path.extension().is_some_and(|it| it == "rs") {
            into.push(path);
        }
    }
}

/// Returns the code of a file without comments and without modules of tests, which end at a line that begins with a
/// brace.
pub(crate) fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let (mut kept, mut is_test, mut is_next) = (String::new(), false, false);
    for line in text.lines() {
        if is_next {
            is_test = line.ends_with('{');
        }
        is_next = line == "#[cfg(test)]" || line.starts_with("#[cfg(all(test,") || is_next && line.starts_with("#[");
        if !is_test {
            kept.push_str(line.split("//").next().unwrap_or_default());
            kept.push('\n');
        }
        is_test &= line != "}";
    }
    kept
}

/// Returns the first names after a path's `::`: one name, or the names of a group in braces.
fn heads(rest: &str) -> Vec<String> {
    let head = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = rest.strip_prefix('{') else { return vec![head(rest)] };
    let (mut all, mut depth, mut begins) = (Vec::new(), 1, true);
    for (at, letter) in group.char_indices() {
        if begins && !letter.is_whitespace() {
            all.push(head(&group[at..]));
            begins = false;
        }
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' => begins = depth == 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    all.retain(|name| !name.is_empty());
    all
}

/// Returns the names behind every path in `code` that begins at the root: with `prefix` (such as `crate::`), or with
/// as many `super::` as the file is deep.
fn from_root(code: &str, prefix: &str, depth: usize) -> Vec<String> {
    let supers = "super::".repeat(depth);
    let starts = [prefix, supers.as_str()];
    let rests = starts.iter().flat_map(|start| code.match_indices(start).map(|(at, _)| &code[at + start.len()..]));
    rests.flat_map(heads).filter(|name| name != "super").collect()
}

/// Returns the names that a root file re-exports, with their modules or crates.
fn given_out(root: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for line in root.lines().filter_map(|line| line.strip_prefix("pub use ")) {
        match (line.split_once("::"), line.trim_end_matches(';').split_once(" as ")) {
            (Some((module, rest)), _) => {
                let names = rest.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty());
                all.extend(names.map(|name| (name.to_string(), module.to_string())));
            }
            (None, Some((other, name))) => drop(all.insert(name.to_string(), other.to_string())),
            (None, None) => panic!("{line}"),
        }
    }
    all
}

/// Returns the modules in a folder, and the modules there that each uses. Code in the root file itself belongs to no
/// module.
fn modules(folder: &Path, prefix: &str) -> Graph {
    let root =
        ["lib.rs", "main.rs", "mod.rs"].map(|name| folder.join(name)).into_iter().find(|it| it.exists()).unwrap();
    let given_out = given_out(&code(&root));
    let mut files = Vec::new();
    sources(folder, &mut files);
    let mut graph = Graph::new();
    let is_module = |name: &str| folder.join(name).is_dir() || folder.join(format!("{name}.rs")).exists();
    let owner = |name: String| if is_module(&name) { Some(name) } else { given_out.get(&name).cloned() };
    for file in files.iter().filter(|file| **file != root) {
        let parts: Vec<_> = file.strip_prefix(folder).unwrap().iter().map(|part| part.to_str().unwrap()).collect();
        let module = parts[0].trim_end_matches(".rs").to_string();
        let depth = parts.len() - usize::from(file.ends_with("mod.rs"));
        let known = graph.entry(module.clone()).or_default();
        let owners = from_root(&code(file), prefix, depth).into_iter().filter_map(owner);
        known.extend(owners.filter(|name| *name != module && is_module(name)));
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read() {
        let text =
            "use crate::{a::{b, c}, D, e};\nuse super::super::f::{g};\nlet x = crate::h::i(crate::J);\nuse super::k;";
        assert_eq!(from_root(text, "crate::", 2), ["a", "D", "e", "h", "J", "f"]);
        assert_eq!(from_root("use crate::a::{b, c};\nuse crate::d;", "crate::a::", 2), ["b", "c"]);
        assert_eq!(given_out("pub use access::{Extent, Extents};\npub use hints::Hints;")["Extents"], "access");
        assert_eq!(given_out("pub use a::{b::{C}, D};")["C"], "a");
        assert_eq!(given_out("pub use other as name;")["name"], "other");
    }

    #[test]
    fn trees_of_paths_are_read() {
        let read = |text: &str| {
            let mut all = Vec::new();
            leaves(text, &mut Vec::new(), &mut all);
            all.iter().map(|path| path.join("::")).collect::<Vec<_>>()
        };
        assert_eq!(read("a::b::C::of(1)"), ["a::b::C::of"]);
        assert_eq!(read("a::{b::{C, d},\n    E};"), ["a::b::C", "a::b::d", "a::E"]);
        assert_eq!(read("a::{self, B};"), ["a::self", "a::B"]);
    }

    #[test]
    fn what_goes_against_the_order_is_found() {
        let graph = |edges: &[(&str, &[&str])]| -> Graph {
            edges
                .iter()
                .map(|(name, known)| (name.to_string(), known.iter().map(|it| it.to_string()).collect()))
                .collect()
        };
        let found = |edges: &[(&str, &[&str])], against: &[Exception]| wrong(&graph(edges), &["a", "b", "c"], against);
        let good: &[(&str, &[&str])] = &[("a", &[]), ("b", &["a"]), ("c", &["a", "b"])];
        assert_eq!(found(good, &[]), [""; 0]);
        let circle: &[(&str, &[&str])] = &[("a", &["c"]), ("b", &["a"]), ("c", &["b"])];
        assert_eq!(found(circle, &[]), ["a -> c goes against the order"]);
        assert_eq!(found(circle, &[("a", "c", "so it is")]), [""; 0]);
        assert_eq!(found(good, &[("a", "c", "so it is")]), ["a -> c is no more: take it off the list (so it is)"]);
        assert_eq!(found(good, &[("c", "a", "so it is")]), ["c -> a keeps the order: take it off the list"]);
        let other: &[(&str, &[&str])] = &[("a", &[]), ("b", &["d"]), ("d", &[])];
        let expected = ["c is not there", "b -> d goes against the order", "d has no place in the order"];
        assert_eq!(found(other, &[]), expected);
    }
}
