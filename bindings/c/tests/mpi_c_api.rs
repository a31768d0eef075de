//! Tests the C API as users have it: installed, found by pkg-config and CMake, linked by programs in C, C++ and
//! Fortran.

use std::path::Path;
use std::process::Command;

use tributary_testing::fault_sweep::preloadable;
use tributary_testing::foreign_hints::ForeignHints;
use tributary_testing::installed::{Link, compile, crate_directory, expect, install, mpicc, prefix, printed, run};

const WORLDS: [usize; 3] = [1, 2, 4];

fn on_all_worlds(source: &str, link: Link, environment: &[(&str, &str)], words: &str) {
    let program = compile(&crate_directory().join(source), link);
    for ranks in WORLDS {
        run(&program, ranks, environment, words);
    }
}

#[test]
fn the_example_in_c() {
    on_all_worlds("examples/checkerboard.c", Link::Shared, &[], "verified");
}

#[test]
fn the_example_in_c_linked_statically() {
    on_all_worlds("examples/checkerboard.c", Link::Static, &[], "verified");
}

#[test]
fn the_example_in_cpp() {
    on_all_worlds("examples/lists.cpp", Link::Shared, &[], "verified");
}

#[test]
fn the_example_in_fortran() {
    on_all_worlds("examples/stripes.f90", Link::Shared, &[], "verified 5952 bytes");
}

/// Builds and runs a project of a tutorial as the tutorial's page says.
fn tutorial(project: &str, program: &str, words: &str) {
    let folder = prefix().join(project);
    expect(
        Command::new("cp").arg("-r").arg(prefix().join("share/doc/tributary/examples").join(project)).arg(&folder),
        "cp",
    );
    let wrapper = |variable, name: &str| format!("{variable}={}", mpicc().replace("mpicc", name));
    let mut make = Command::new("make");
    make.args([wrapper("MPICC", "mpicc"), wrapper("MPIFORT", "mpifort")]).env("TRIBUTARY_ROOT", prefix());
    expect(make.current_dir(&folder), "make");
    run(&folder.join(program), 4, &[], words);
}

#[test]
fn the_tutorial_in_c() {
    tutorial("c", "records", "the same");
}

#[test]
fn the_tutorial_in_fortran() {
    tutorial("fortran", "columns", "400 x 200 elements written and read back");
}

#[test]
fn the_library_on_top() {
    tutorial("library", "writer", "0 of 9600 values are wrong");
}

#[test]
fn every_function_does_what_the_header_says() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("hints");
    std::fs::write(&file, "cb_buffer_size=1MiB;cb_nodes=1;trib_throttle_data=5\n").unwrap();
    let environment = [
        ("TRIB_HINTS_FILE", file.to_str().unwrap()),
        ("TRIB_HINTS", "cb_buffer_size=2MiB;trib_throttle_data=6"),
        ("TRIB_TEST_VERSION", env!("CARGO_PKG_VERSION")),
    ];
    on_all_worlds("tests/programs/features.c", Link::Shared, &environment, "all well");
}

#[test]
fn hints_for_other_libraries_are_taken() {
    let foreign = ForeignHints::new();
    let environment = foreign.environment();
    let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    on_all_worlds("tests/programs/foreign.c", Link::Shared, &environment, "all well");
}

#[test]
fn bad_input_is_refused_alike_on_all_ranks() {
    on_all_worlds("tests/programs/refusals.c", Link::Shared, &[], "all well");
}

#[test]
fn ranks_in_different_calls_get_one_error() {
    for hints in ["", "trib_shared_memory=enable;trib_ranks_per_node=2", "trib_shared_memory=disable"] {
        on_all_worlds("tests/programs/mixed_calls.c", Link::Shared, &[("TRIB_HINTS", hints)], "all well");
    }
}

#[test]
fn a_file_size_limit_on_one_rank() {
    on_all_worlds("tests/programs/size_limit.c", Link::Shared, &[], "all well");
}

#[test]
fn stripes_of_new_files() {
    let lustre = preloadable(&mpicc(), "lustre", &prefix().join("lustre.so"));
    let environment = [("LD_PRELOAD", lustre.to_str().unwrap())];
    on_all_worlds("tests/programs/striped.c", Link::Shared, &environment, "all well");
}

#[test]
fn buffers_in_device_memory() {
    let source = crate_directory().join("../mpiio/tests/programs/gpu.c");
    let cuda = prefix().join("libcuda.so.1");
    let mut compiler = Command::new(mpicc());
    expect(compiler.args(["-shared", "-fPIC", "-DRUNTIME_CUDA", "-o"]).arg(&cuda).arg(&source), "the compiler");
    let environment = [("TRIB_TEST_GPU", cuda.to_str().unwrap())];
    on_all_worlds("tests/programs/device.c", Link::Shared, &environment, "all well");
}

/// Returns the names that a shared library exports, sorted.
fn exports(library: &Path) -> Vec<String> {
    let listed = expect(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(library), "nm");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut exported: Vec<_> = listed.lines().filter_map(|line| Some(line.split(' ').next()?.to_string())).collect();
    exported.sort_unstable();
    exported
}

#[test]
fn the_shared_library_exports_the_functions_of_the_header_and_its_version() {
    let header = std::fs::read_to_string(prefix().join("include/tributary.h")).unwrap();
    let library = prefix().join("lib/libtributary.so");
    let exported = exports(&library);
    let words = header.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '('));
    let declared = words.filter_map(|word| word.split_once('(')).map(|(name, _)| name);
    let mut declared: Vec<_> = declared.filter(|name| name.starts_with("trib_")).collect();
    declared.push("tributary_version");
    declared.sort_unstable();
    assert_eq!(exported, declared);
}

#[test]
fn every_shared_library_tells_its_name_and_version() {
    let lib = prefix().join("lib");
    let program = prefix().join("version");
    let mut compiler = Command::new(mpicc());
    compiler.arg(crate_directory().join("tests/programs/version.c")).arg("-o").arg(&program).arg("-ldl");
    expect(&mut compiler, "the compiler");
    for (library, soname) in [
        ("libtributary.so", "libtributary.so.0"),
        ("libtributary_mpiio.so", "libtributary_mpiio.so"),
        ("libtributary_gio.so", "libgio.so.0"),
    ] {
        let library = lib.join(library);
        let told = expect(Command::new("readelf").arg("-d").arg(&library), "readelf");
        assert!(printed(&told).contains(&format!("Library soname: [{soname}]")), "{}", printed(&told));
        let output = expect(Command::new(&program).arg(&library), "the program that looks at the symbol");
        assert_eq!(printed(&output), format!("{}\n", env!("CARGO_PKG_VERSION")), "{}", library.display());
    }
}

#[test]
fn pkg_config_gives_the_flags_a_program_needs() {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    let flags = expect(command.args(["--cflags", "--libs", "tributary"]), "pkg-config");
    let flags = String::from_utf8(flags.stdout).unwrap();
    let program = prefix().join("by-pkg-config");
    let mut compiler = Command::new(mpicc());
    compiler.arg(crate_directory().join("examples/checkerboard.c")).args(flags.split_whitespace());
    expect(compiler.arg("-o").arg(&program), "the compiler");
    let lib = prefix().join("lib");
    run(&program, 2, &[("LD_LIBRARY_PATH", lib.to_str().unwrap())], "verified");
}

#[test]
fn cmake_finds_the_package() {
    let build = prefix().join("by-cmake");
    let source = crate_directory().join("examples/checkerboard.c");
    let define = |key: &str, value: &Path| format!("-D{key}={}", value.display());
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(crate_directory().join("tests/consumer")).arg("-B").arg(&build);
    configure.args([define("CMAKE_PREFIX_PATH", prefix()), define("MPI_C_COMPILER", Path::new(&mpicc()))]);
    expect(configure.arg(define("SOURCE", &source)), "cmake (the tests need it: Debian package cmake)");
    expect(Command::new("cmake").arg("--build").arg(&build), "cmake --build");
    for program in ["shared", "static"] {
        run(&build.join(program), 2, &[], "verified");
    }
    // Asking for another version fails.
    let asks = build.join("asks");
    std::fs::create_dir_all(&asks).unwrap();
    let text = "cmake_minimum_required(VERSION 3.18)\nproject(asks C)\nfind_package(Tributary 0.2 REQUIRED)\n";
    std::fs::write(asks.join("CMakeLists.txt"), text).unwrap();
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&asks).arg("-B").arg(asks.join("build")).arg(define("CMAKE_PREFIX_PATH", prefix()));
    let output = configure.output().unwrap();
    assert!(!output.status.success() && printed(&output).contains("0.2"), "{}", printed(&output));
}

#[test]
fn what_is_installed() {
    let lib = prefix().join("lib");
    for (link, target) in [
        ("libtributary.so", "libtributary.so.0".to_string()),
        ("libtributary.so.0", format!("libtributary.so.{}", env!("CARGO_PKG_VERSION"))),
    ] {
        assert_eq!(std::fs::read_link(lib.join(link)).unwrap(), Path::new(&target));
        assert!(lib.join(target).is_file());
    }
    // A folder on LD_LIBRARY_PATH takes the place of no program's GIO.
    let gio = lib.join("tributary/gio/libgio.so.0");
    assert_eq!(gio.canonicalize().unwrap(), lib.join("libtributary_gio.so").canonicalize().unwrap());
    assert!(std::fs::symlink_metadata(lib.join("libgio.so.0")).is_err());
    // Nor does Open MPI of the same prefix look in this folder by itself.
    let component = lib.join("tributary/openmpi/mca_io_tributary.so");
    assert_eq!(component.canonicalize().unwrap(), lib.join("libtributary_mpiio.so").canonicalize().unwrap());
    for library in ["libtributary_mpiio.so", "libtributary_gio.so"] {
        assert!(std::fs::symlink_metadata(lib.join(library)).unwrap().is_file());
    }
}

/// Returns the sections of an ELF file.
fn sections(file: &Path) -> String {
    printed(&expect(Command::new("readelf").args(["--section-headers", "--wide"]).arg(file), "readelf"))
}

/// Returns the name of a library's debug file and the checksum of its contents (as in zip files), which the library
/// contains.
fn debug_link(library: &Path) -> (String, u32) {
    let folder = tempfile::tempdir().unwrap();
    let section = folder.path().join("section");
    let mut objcopy = Command::new("objcopy");
    objcopy.arg("--dump-section").arg(format!(".gnu_debuglink={}", section.display()));
    expect(objcopy.arg(library).arg(folder.path().join("copy")), "objcopy");
    let section = std::fs::read(section).unwrap();
    let name = section.split(|byte| *byte == 0).next().unwrap();
    let sum = u32::from_le_bytes(section[section.len() - 4..].try_into().unwrap());
    (String::from_utf8(name.to_vec()).unwrap(), sum)
}

#[test]
fn debug_information_is_in_files_of_its_own() {
    let lib = prefix().join("lib");
    let built = std::env::current_exe().unwrap();
    let built =
        ["libtributary_c.so", "libtributary_mpiio.so", "libtributary_gio.so"].map(|name| built.with_file_name(name));
    for (library, built) in ["libtributary.so", "libtributary_mpiio.so", "libtributary_gio.so"].iter().zip(built) {
        let library = lib.join(library).canonicalize().unwrap();
        assert_eq!(exports(&library), exports(&built));
        assert!(exports(&library).len() > 10, "{}", library.display());
        let (name, sum) = debug_link(&library);
        let debug = lib.join(".debug").join(&name);
        assert_eq!(name, format!("{}.debug", library.file_name().unwrap().to_str().unwrap()));
        assert_eq!(sum, crc32fast::hash(&std::fs::read(&debug).unwrap()), "{name}");
        assert!(!sections(&library).contains(".debug_"), "{}", sections(&library));
        assert!(!sections(&library).contains(".symtab"), "{}", sections(&library));
        for section in [".debug_line", ".debug_info", ".symtab"] {
            assert!(sections(&debug).contains(section), "{name}: {section}");
        }
    }
    for library in ["libtributary.a", "libtributary_gio.a"] {
        let sections = sections(&lib.join(library));
        assert!(sections.contains(".text") && !sections.contains(".debug_"), "{library}");
    }
}

/// Without objcopy the script neither splits off debug files nor makes the static preload library, says so, and leaves
/// neither of an earlier installation.
#[test]
fn the_script_does_without_objcopy() {
    let folder = tempfile::tempdir().unwrap();
    let built = std::env::current_exe().unwrap();
    let mut command = install();
    command.arg("--built").arg(built.parent().unwrap()).arg(folder.path());
    expect(&mut command, "bindings/install");
    let library = folder.path().join("lib/libtributary_mpiio.so");
    let debug = folder.path().join("lib/.debug/libtributary_mpiio.so.debug");
    assert!(debug.is_file() && !sections(&library).contains(".debug_"));
    for document in ["docs/README.md", "docs/reference/site.md", "docs/explained/btio.html", "examples/tributary.conf"]
    {
        assert!(folder.path().join("share/doc/tributary").join(document).is_file(), "{document}");
    }
    let output = expect(command.env("OBJCOPY", "no-such-objcopy"), "bindings/install");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.contains("no-such-objcopy is not there") && said.contains("no libtributary_mpiio.a"), "{said}");
    assert!(!folder.path().join("lib/libtributary_mpiio.a").exists());
    assert!(!debug.exists() && sections(&library).contains(".debug_"));
}

/// Builds and installs from a folder outside the project, with a stand-in for Cargo.
#[test]
fn the_script_runs_in_any_folder_and_needs_no_mpi() {
    let folder = tempfile::tempdir().unwrap();
    let cargo = folder.path().join("cargo");
    let libraries = "libtributary_c.so libtributary_c.a libtributary_mpiio.so libtributary_mpiio.a libtributary_gio.so \
                     libtributary_gio.a";
    let script = format!(
        "#!/bin/sh\n[ -f \"$3\" ] || exit 1\nmkdir -p \"$CARGO_TARGET_DIR/release\"\n\
         for name in {libraries}; do ln -s \"$BUILT/$name\" \"$CARGO_TARGET_DIR/release/$name\"; done\n\
         ln -s /bin/true \"$CARGO_TARGET_DIR/release/trib\"\n"
    );
    let built = std::env::current_exe().unwrap();
    std::fs::write(&cargo, script).unwrap();
    std::fs::set_permissions(&cargo, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut command = install();
    command.env("PATH", path).env("MPICC", "false").env("CARGO_TARGET_DIR", folder.path().join("built"));
    command.env("BUILT", std::path::absolute(built.parent().unwrap()).unwrap());
    expect(command.current_dir(folder.path()).arg("there"), "bindings/install");
    assert!(folder.path().join("there/lib/libtributary_mpiio.so").is_file());
    assert!(folder.path().join("there/include/tributary.h").is_file());
    expect(&mut std::process::Command::new(folder.path().join("there/bin/trib")), "what is installed as trib");
}

#[test]
fn the_script_refuses_what_it_cannot_install() {
    let cases: [(&[&str], &str); 5] = [
        (&[], "no prefix"),
        (&["--fast", "somewhere"], "option --fast is not known"),
        (&["one", "two"], "two prefixes, one and two"),
        (&["--built"], "--built needs a directory"),
        (&["--built", "nowhere", "somewhere"], "nowhere/libtributary_c.so is not there"),
    ];
    for (arguments, words) in cases {
        let output = install().args(arguments).output().unwrap();
        let said = printed(&output);
        assert!(!output.status.success() && said.contains(words), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let help = expect(install().arg("--help"), "--help");
    assert!(printed(&help).contains("--built DIRECTORY"));
}
