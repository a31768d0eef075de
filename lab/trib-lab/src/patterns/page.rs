//! Makes `lab/docs/patterns.md` and its pictures from the registry. Only tests use this module: they compare the
//! checked-in files with the result, or write them.

use std::fmt::Write;

use clap::Parser;

use super::parameters;
use crate::cli::{Cli, Command};
use crate::generated::{self, at_root};
use crate::picture;
use trib::source::{PatternSource, SOURCES};

const HEAD: &str = "\
<!-- Generated from trib/src/source/; regenerate with: lab/generate -->

# Patterns

Access patterns of real codes, as `trib replay NAME` runs them. The extents and the buffer of a rank depend only on rank, number of ranks and
parameters (`benchmarks/src/`, one module for each pattern). So the same pattern runs on threads and on MPI, is planned for any number of
ranks, and is compared with a file that one process writes element by element.

`trib-lab patterns` lists the patterns. `trib-lab patterns NAME --ranks P` computes the counts of a pattern for any number of ranks.
`trib-lab picture NAME --output F.svg` draws a pattern. A picture shows the file as cells in the colour of the rank that writes them; a
hatched cell has bytes of several ranks. If most cells of the whole file would be hatched, the picture shows a part of the file, which the
heading names. Below the file are the stripes and their aggregators A0, A1, ..., then the memory of the first ranks and its place in the
file. An exchange has no file: its picture shows one round, as bytes from sender to receiver. The pictures here have very small parameters.
Paths in the examples are from the root of the repository. `p` is the number of ranks.

Every replay has these options:

| option | what it does |
|---|---|
| `--verify` | compares the file with the serial one |
| `--read` | reads the file back collectively and compares every rank's buffer |
| `--read-only FILE` | reads a file that exists |
| `--buffer noncontiguous` | puts gaps of 16 bytes into every rank's memory |
| `--plan-only` | writes nothing and counts |
| `--json` | prints one object |
";

fn page() -> String {
    let mut page = HEAD.to_string();
    page.push_str("\n| pattern | what |\n|---|---|\n");
    for source in SOURCES {
        // Writing to a string does not fail.
        let _ = writeln!(page, "| [`{0}`](#{0}) | {1} |", source.name, source.about());
    }
    for source in SOURCES {
        section(&mut page, source);
    }
    page
}

fn section(page: &mut String, source: &PatternSource) {
    let PatternSource { name, code, origin, formulas, example, .. } = source;
    let _ = writeln!(page, "\n## {name}\n\n{code}\n\nSource: {origin}");
    let _ = writeln!(page, "\n![{name}: who owns what](patterns/{name}.svg)");
    let cell = |text: &str| text.replace('|', "\\|");
    page.push_str("\n| parameter | values | meaning |\n|---|---|---|\n");
    for parameter in parameters::of(source) {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} |",
            parameter.usage(),
            cell(&parameter.values()),
            cell(&parameter.meaning)
        );
    }
    page.push_str("\n| closed form | |\n|---|---|\n");
    for (what, formula) in *formulas {
        let _ = writeln!(page, "| {what} | {} |", cell(formula));
    }
    let _ = writeln!(page, "\n```sh\ntrib replay {name} {example}\n```");
}

fn assert_current(name: &str, expected: &str) {
    generated::assert_current(name, expected, "trib/src/source");
}

#[test]
fn the_page_in_docs_is_current() {
    assert_current("lab/docs/patterns.md", &page());
}

#[test]
fn the_pictures_in_docs_are_current() {
    // Files are named from the root, and stand in the pictures by that name. No other test relies on the directory.
    std::env::set_current_dir(at_root("")).unwrap();
    for source in SOURCES {
        let line = ["trib-lab", "picture", source.name].into_iter().chain(source.picture.split_whitespace());
        let Command::Picture(options) = Cli::try_parse_from(line).unwrap().command else { unreachable!() };
        let subject = options.pattern.subject(options.drawing.ranks).unwrap();
        let drawn = picture::draw(&subject, &options.drawing).unwrap();
        assert_current(&format!("lab/docs/patterns/{}.svg", source.name), &drawn);
    }
}

/// Checks that every row of the registry has a description and the other texts of the page.
#[test]
fn every_pattern_says_what_it_is() {
    for source in SOURCES {
        let words = [&source.about(), source.code, source.origin, source.example, source.picture];
        assert!(words.iter().all(|words| !words.trim().is_empty()), "{}", source.name);
        let formulas: Vec<_> = source.formulas.iter().map(|(what, _)| *what).collect();
        assert!(formulas.starts_with(&["requests", "bytes"]), "{}: {formulas:?}", source.name);
        assert!(!parameters::of(source).is_empty(), "{}", source.name);
        let line = ["trib", "replay", source.name].into_iter().chain(source.example.split_whitespace());
        assert!(trib::cli::Cli::try_parse_from(line).is_ok(), "{}: {}", source.name, source.example);
    }
}
