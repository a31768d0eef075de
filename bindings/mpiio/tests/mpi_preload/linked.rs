//! Tests programs that are linked with the library in front of MPI, by the flags of `pkg-config tributary-mpiio`: they
//! run their collective calls on it with no variable set.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::abis::sorted;
use crate::common::family::{Family, ours};
use crate::common::launch::{Launch, Outcome, library};
use crate::common::programs::{Build, folder};
use crate::common::report::accelerated;

/// Returns an installation with the library under test, and with the files that link programs with it.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix =
            tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder in the target directory").keep();
        for folder in ["lib/pkgconfig", "share/mpi-profile"] {
            std::fs::create_dir_all(prefix.join(folder)).expect("folders of an installation");
        }
        let file = include_str!("../../package/tributary-mpiio.pc.in").replace("@VERSION@", "0.1.0");
        std::fs::write(prefix.join("lib/pkgconfig/tributary-mpiio.pc"), file).expect("the file of pkg-config");
        let file = include_str!("../../package/tributary.conf");
        std::fs::write(prefix.join("share/mpi-profile/tributary.conf"), file).expect("the profile");
        std::os::unix::fs::symlink(library(), prefix.join("lib/libtributary_mpiio.so")).expect("a link to the library");
        prefix
    })
}

/// Returns the words that `pkg-config` prints for the installation.
fn flags() -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.args(["--libs", "tributary-mpiio"]).env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    let output = command.output().expect("pkg-config");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).split_whitespace().map(String::from).collect()
}

/// Returns a profile's options for a program that is linked with static libraries of MPI and of ours.
fn statically() -> Vec<String> {
    static MADE: OnceLock<()> = OnceLock::new();
    MADE.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("package/static-library");
        let archive = library().with_file_name("libtributary_mpiio.a");
        let output = Command::new(script).arg(archive).arg(prefix().join("lib/libtributary_mpiio.a")).output();
        let output = output.expect("the script that makes the static library");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // MPICH's wrapper for Fortran takes the static library of its Fortran functions only if there is no shared one.
        let fortran = Command::new("cc").arg("-print-file-name=libmpichfort.a").output().expect("cc").stdout;
        let (fortran, folder) = (String::from_utf8_lossy(&fortran).trim().to_string(), prefix().join("static"));
        std::fs::create_dir(&folder).expect("a folder of the installation");
        std::os::unix::fs::symlink(fortran, folder.join("libmpichfort.a")).expect("a link to MPICH's library");
    });
    let folder = format!("-L{}", prefix().join("static").display());
    ["-static-mpi".to_string(), folder].into_iter().chain(profile("tributary")).collect()
}

/// Runs a program that is linked with the library; asks for reports only.
fn run(program: &Path, argument: &str) -> Outcome {
    Launch::new(3, program).arg(argument).env("TRIB_REPORT", "json").run()
}

/// Checks that a linked program does what it does with the library off, and that the library runs this function.
fn same(program: &Path, argument: &str, call: &str) {
    let plain = Launch::new(3, program).arg(argument).env("TRIB_DISABLE", "1").env("TRIB_REPORT", "json").run();
    assert!(plain.reports.is_empty() && !plain.stderr.contains("tributary"), "{}", plain.stderr);
    let outcome = run(program, argument);
    assert_eq!(sorted(&outcome.stdout), sorted(&plain.stdout));
    assert!(outcome.files == plain.files, "other files than with the library off");
    assert!(accelerated(&outcome.reports, call) > 0, "{}", outcome.stderr);
}

#[test]
fn a_program_in_c() {
    let program = Build { name: Some("abi_linked"), options: flags(), ..Build::default() }.compile("abi.c");
    same(&program, "data", "write_all");
}

#[test]
fn a_program_in_fortran() {
    for (way, name) in [("-DWITH_MPIF", "mpif_linked"), ("-DWITH_MPI", "mpi_linked"), ("-DWITH_F08", "f08_linked")] {
        let options = flags().into_iter().chain([way.to_string()]).collect();
        let program = Build { name: Some(name), options, ..Build::default() }.compile("collective.F90");
        same(&program, "", "write_all");
    }
}

/// The program calls no function of the library itself: a library that it is linked with does.
#[test]
fn a_program_whose_files_another_library_opens() {
    let options = ["-shared", "-fPIC"].map(String::from).to_vec();
    let other = Build { options, name: Some("like_pnetcdf_beside.so"), ..Build::default() }.compile("like_pnetcdf.c");
    let libraries = vec![other.display().to_string()];
    let build = Build { name: Some("driver_linked"), options: flags(), libraries, ..Build::default() };
    let outcome = run(&build.compile("driver.c"), "1.15");
    assert_eq!(outcome.stdout, "driver mpiio\n");
    assert_eq!(accelerated(&outcome.reports, "write_at_all"), 1, "{}", outcome.stderr);
}

/// A library that counts calls as Darshan does counts all of them if the program is linked with it first, and only the
/// calls that MPI runs if it is linked behind this library.
#[test]
fn darshan_linked_in_the_same_way() {
    let darshan = ["-Wl,--no-as-needed".to_string(), counting().display().to_string()];
    let (first, last) = (darshan.iter().cloned().chain(flags()), flags().into_iter().chain(darshan.iter().cloned()));
    assert_eq!(counted("driver_counted", darshan.to_vec()), (0, true, false));
    assert_eq!(counted("driver_darshan_first", first.collect()), (1, true, false));
    assert_eq!(counted("driver_darshan_last", last.collect()), (1, false, true));
}

/// Returns the library that counts calls as Darshan does.
fn counting() -> PathBuf {
    let options = ["-shared", "-fPIC"].map(String::from).to_vec();
    Build { options, name: Some("counting_linked.so"), ..Build::default() }.compile("counting.c")
}

/// Links a program with these options and runs it. Returns the number of calls that this library ran, and whether the
/// counting library has counted one write of each rank, and none.
fn counted(name: &'static str, options: Vec<String>) -> (u64, bool, bool) {
    let libraries = vec![folder().join("like_pnetcdf.c").display().to_string()];
    let outcome = run(&Build { name: Some(name), options, libraries, ..Build::default() }.compile("driver.c"), "1.14");
    let counts = |writes| {
        (0..3).all(|rank| outcome.stderr.contains(&format!("counting: rank {rank}: 1 opens, {writes} writes, 0 reads")))
    };
    (accelerated(&outcome.reports, "write_at_all"), counts(1), counts(0))
}

/// Returns the option of MPICH's compiler wrappers with a profile of the installation.
fn profile(name: &str) -> Vec<String> {
    vec![format!("-profile={}", prefix().join("share/mpi-profile").join(name).display())]
}

/// Programs that are linked with MPICH's static library, and with ours in front of it: with no dynamic linker that finds
/// MPI's functions. (Debian's MPICH needs libraries that are not there as static ones, so those are shared.)
#[test]
fn static_programs() {
    if ours() != Family::Mpich {
        return;
    }
    let build = |name, more: &[&str], source: &str| {
        let options = statically().into_iter().chain(more.iter().map(ToString::to_string)).collect();
        let program = Build { name: Some(name), options, ..Build::default() }.compile(source);
        let needed = Command::new("readelf").arg("--dynamic").arg(&program).output().expect("readelf").stdout;
        let needed = String::from_utf8_lossy(&needed).into_owned();
        assert!(needed.contains("libc.so") && !needed.contains("mpi"), "{needed}");
        program
    };
    same(&build("abi_static", &[], "abi.c"), "data", "write_all");
    same(&build("mpif_static", &["-DWITH_MPIF"], "collective.F90"), "", "write_all");
    same(&build("mpi_static", &["-DWITH_MPI"], "collective.F90"), "", "write_all");
    same(&build("requests_static", &[], "requests.c"), "", "iwrite_all");
}

/// The table of the static library has names of functions that MPI has, and nothing else that looks like one: machine code
/// may hold parts of names (an object with such bytes is added here). What only some MPI libraries have is a weak name.
#[test]
fn the_static_library_names_functions_of_mpi() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder in the target directory");
    let at = |name: &str| folder.path().join(name);
    std::fs::copy(library().with_file_name("libtributary_mpiio.a"), at("built.a")).expect("a copy of the archive");
    std::fs::write(at("code.c"), "const char code[] = \"\\x12PMPI_TypH1\\xc0\";").expect("a source");
    let done = |command: &mut Command| {
        let output = command.output().expect("a command");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    done(Command::new("cc").arg("-c").arg(at("code.c")).arg("-o").arg(at("code.o")));
    done(Command::new("ar").arg("rs").arg(at("built.a")).arg(at("code.o")));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("package/static-library");
    done(Command::new(script).arg(at("built.a")).arg(at("made.a")));
    let program = Build::default().compile("names.c");
    let libraries = done(Command::new("ldd").arg(program));
    let mpi =
        libraries.lines().filter(|line| line.contains("libmpi")).filter_map(|line| line.split_whitespace().nth(2));
    let has: String = mpi.map(|path| done(Command::new("nm").args(["-D", "--defined-only", path]))).collect();
    let has: Vec<&str> = has.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let wants = done(Command::new("nm").arg(at("made.a")));
    let wants: Vec<&str> = wants.lines().filter_map(|line| line.trim().strip_prefix("U PMPI_")).collect();
    assert!(wants.len() > 100, "{} names", wants.len());
    let unknown: Vec<_> = wants.iter().filter(|name| !has.contains(&format!("PMPI_{name}").as_str())).collect();
    assert!(unknown.is_empty(), "no functions of MPI: {unknown:?}");
}

/// MPICH's compiler wrappers link programs with the library by its profile; with Darshan's in front, Darshan counts.
#[test]
fn by_a_profile_of_the_compiler_wrapper() {
    if ours() != Family::Mpich {
        return;
    }
    let build = |name, source: &str| {
        Build { name: Some(name), options: profile("tributary"), ..Build::default() }.compile(source)
    };
    same(&build("abi_profile", "abi.c"), "data", "write_all");
    let options = profile("tributary").into_iter().chain(["-DWITH_F08".to_string()]).collect();
    same(&Build { name: Some("f08_profile"), options, ..Build::default() }.compile("collective.F90"), "", "write_all");
    // A user's profile of both: Darshan's sets the libraries in front of MPI, and this library's adds to them.
    let ours = prefix().join("share/mpi-profile/tributary.conf").display().to_string();
    let both =
        format!("export PROFILE_PRELIB='-Wl,--no-as-needed {}'\nprofConffile={ours}\n. {ours}\n", counting().display());
    std::fs::write(prefix().join("share/mpi-profile/both.conf"), both).expect("a profile");
    assert_eq!(counted("driver_profile", profile("tributary")), (1, false, false));
    assert_eq!(counted("driver_profile_darshan", profile("both")), (1, true, false));
}
