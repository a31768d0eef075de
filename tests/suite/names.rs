//! Checks the list of names that the project takes, `docs/reference/abi.md#names`, against the files that take them.

use std::collections::BTreeSet;
use std::path::Path;

/// Names of the list that no file below takes: patterns, the command's variable and files, and GIO's header.
const OTHERS: [&str; 7] =
    ["trib.1", "trib-*.1", "trib_*", "TRIB_*", "TRIBUTARY_ROOT", "etc/tributary.conf", ".tribcap"];

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns what follows `before` up to a character of `ends`, at each place in a text.
fn after<'a>(text: &'a str, before: &str, ends: &[char]) -> Vec<&'a str> {
    text.split(before).skip(1).filter_map(|rest| rest.split(ends).next()).collect()
}

/// Returns the names of the entries of a folder that end so, without the ending.
fn entries(folder: &str, ending: &str) -> Vec<String> {
    let all = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
    let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| Some(name.strip_suffix(ending)?.to_string())).collect()
}

/// Returns the packages of the workspace that can be published, and the names of their libraries if they have another.
fn crates() -> Vec<String> {
    let workspace = text("Cargo.toml");
    let members =
        after(&workspace, "\nmembers = [", &[']'])[0].split(',').map(|member| member.trim().trim_matches('"'));
    let manifests = members.map(|member| text(&format!("{member}/Cargo.toml")));
    let published = manifests.filter(|manifest| !manifest.contains("\npublish = false\n"));
    published
        .flat_map(|manifest| {
            ["\n[package]\nname = \"", "\n[lib]\nname = \""].map(|key| {
                let manifest = format!("\n{manifest}");
                after(&manifest, key, &['"']).first().map(ToString::to_string)
            })
        })
        .flatten()
        .collect()
}

/// Returns the names of libraries that `bindings/install` writes. Those with `_c` have another name there.
fn libraries() -> Vec<String> {
    let script = text("bindings/install");
    let words = script.split(|letter: char| !(letter.is_ascii_alphanumeric() || "_.".contains(letter)));
    let libraries = words.filter(|word| {
        let is_library = word.starts_with("libtributary") || word.starts_with("mca_io_");
        is_library
            && !word.starts_with("libtributary_c.")
            && [".so", ".so.0", ".a"].iter().any(|end| word.ends_with(end))
    });
    libraries.map(String::from).collect()
}

/// Returns the names that the files of packages have or contain.
fn packages() -> Vec<String> {
    let said = [
        ("packages/python/pyproject.toml", "\nname = \"", '"'),
        ("packages/python/pyproject.toml", "\npackages = [\"", '"'),
        ("packages/debian/control.in", "Package: ", '\n'),
        ("packages/conda/recipe.yaml.in", "\n  name: ", '\n'),
        ("packages/easybuild/tributary.eb.in", "\nname = '", '\''),
        ("packages/recipes", "recipe spack/package.py.in \"$folder/spack/packages/", '/'),
    ];
    said.iter()
        .map(|(file, before, end)| match after(&text(file), before, &[*end])[..] {
            [name] => name.to_string(),
            ref names => panic!("{file}: {before:?} is there {} times; expected: once", names.len()),
        })
        .collect()
}

/// Adds the symbols that Rust sources below a folder export under names of the project's own.
fn symbols(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            symbols(&entry, found);
        } else if entry.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&entry).unwrap();
            let named = after(&text, "export_name = \"", &['"']).into_iter().map(String::from);
            let version =
                after(&text, "pub static tributary_", &[':']).into_iter().map(|end| format!("tributary_{end}"));
            found.extend(named.chain(version).filter(|name| !name.contains("MPI_")));
        }
    }
}

#[test]
fn the_list_has_every_name_and_no_other() {
    let mut found: BTreeSet<String> = [crates(), libraries(), packages()].into_iter().flatten().collect();
    for crate_name in ["c", "gio", "mpiio"] {
        let build = text(&format!("bindings/{crate_name}/build.rs"));
        found.extend(after(&build, "-soname,", &['"']).into_iter().map(String::from));
        found.extend(entries(&format!("bindings/{crate_name}/package"), ".pc.in"));
    }
    for crate_name in ["c", "common", "gio", "mpiio"] {
        symbols(&Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("bindings/{crate_name}/src")), &mut found);
    }
    for folder in ["bindings/c/include", "bindings/gio/include"] {
        found.extend(entries(folder, ""));
    }
    found.extend(entries("bindings/c/package", "Config.cmake.in"));
    found.extend(entries("bindings/mpiio/package", ".conf"));
    found.extend(entries("packages/modulefiles", ".lua.in"));

    let page = text("docs/reference/abi.md");
    let table = page.split("\n## Names\n").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("the list");
    let cells = table.lines().filter(|line| line.starts_with("| ")).filter_map(|line| line.split('|').nth(2));
    let mut listed: BTreeSet<_> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(String::from).collect();
    for other in OTHERS {
        assert!(listed.remove(other), "the list has no {other}");
    }
    assert_eq!(listed, found, "the list (left) and the names in the source (right)");
}
