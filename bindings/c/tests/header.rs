//! Tests that `include/tributary.h` matches the functions and their documentation.

use std::path::Path;

use cbindgen::{Builder, Config, DocumentationStyle, ExportConfig, Language, Style};

const HEAD: &str = "\
/* The C API of Tributary: collective I/O of many ranks in one shared file.
 *
 * Most functions return a trib_status; a few return a text or a number. All ranks of the file's communicator must call a
 * collective function, in the same order on each rank, and all ranks get the same status. The one exception is a NULL
 * file: only the calling rank gets that error. A pointer may be NULL only where the function says so; any other NULL is
 * TRIB_ERR_ARGUMENT. Sizes and offsets are in bytes; sizes, offsets and counts have 64 bits.
 *
 * docs/tutorial/c.md in Tributary's repository has a first program; docs/reference/hints.md lists the hints.
 *
 * Generated from bindings/c/src; regenerate with: ./generate */";

/// Names of the source files, in the order of the header.
const SOURCES: [&str; 8] =
    ["status", "file", "collective", "extents", "nonblocking", "independent", "hints", "statistics"];

fn header() -> String {
    let config = Config {
        header: Some(HEAD.to_string()),
        include_guard: Some("TRIBUTARY_H".to_string()),
        sys_includes: ["mpi.h", "stddef.h", "stdint.h"].map(String::from).to_vec(),
        no_includes: true,
        cpp_compat: true,
        language: Language::C,
        style: Style::Type,
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::Doxy,
        line_length: 120,
        export: ExportConfig { include: vec!["trib_mode".to_string()], ..ExportConfig::default() },
        ..Config::default()
    };
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut builder = Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(sources.join(source).with_extension("rs"));
    }
    let mut text = Vec::new();
    builder.generate().expect("sources that cbindgen can read").write(&mut text);
    String::from_utf8(text).expect("a header in UTF-8")
}

#[test]
fn the_header_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/tributary.h");
    let header = header();
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    if kept != header && std::env::var_os("TRIB_REGENERATE").is_some() {
        return std::fs::write(&path, &header).expect("a header that may be written");
    }
    assert!(kept == header, "include/tributary.h does not match src/; ./generate writes it");
}

#[test]
fn every_function_is_in_the_header_and_documented() {
    let header = header();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut functions = 0;
    for entry in std::fs::read_dir(sources).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for name in text.split("extern \"C-unwind\" fn ").skip(1).filter_map(|rest| rest.split('(').next()) {
            let at = header.find(&format!("{name}(")).unwrap_or_else(|| panic!("{name} is not in the header"));
            let before = header[..at].rsplit('\n').nth(1);
            assert_eq!(before.map(str::trim), Some("*/"), "{name} has no documentation");
            functions += 1;
        }
    }
    assert!(functions > 25, "{functions} functions");
}

/// The Fortran module is written by hand. It has every function of the header except the two that number the hints;
/// its `trib_open` binds `trib_open_fortran`.
#[test]
fn the_fortran_module_is_complete() {
    let module = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("include/tributary.f90")).unwrap();
    let header = header();
    let words = header.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '('));
    let names = words.filter_map(|word| word.split_once('(')).map(|(name, _)| name);
    let without = ["trib_open", "trib_hint_at", "trib_hint_count"];
    for name in names.filter(|name| name.starts_with("trib_") && !without.contains(name)) {
        let bound = module.contains(&format!("function {name}(")) || module.contains(&format!("name=\"{name}\""));
        assert!(bound, "{name} is not in tributary.f90");
    }
    let constants =
        header.split(|c: char| !(c.is_ascii_uppercase() || c == '_')).filter(|word| word.starts_with("TRIB_"));
    for constant in constants.filter(|word| !word.starts_with("TRIB_HINTS") && *word != "TRIB_REGENERATE") {
        assert!(module.contains(&constant.to_lowercase()), "{constant} is not in tributary.f90");
    }
}
