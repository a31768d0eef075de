//! Tests `trib doctor` on programs of every kind, file systems, variables and hints.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tributary_testing::fault_sweep::preloadable;

fn library() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("libtributary_mpiio.so")
}

fn doctor(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    doctor_of(&library(), arguments, environment)
}

fn doctor_of(library: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    command.args(["doctor", "--library"]).arg(library).args(arguments);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).envs(environment.iter().copied());
    command.output().unwrap()
}

fn json(arguments: &[&str], environment: &[(&str, &str)]) -> Value {
    let output = doctor(&[&["--json"], arguments].concat(), environment);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// Returns the problems that the command finds about a program.
fn problems(program: &Path) -> Vec<String> {
    let found = json(&["--", "srun", "-n", "2", program.to_str().unwrap()], &[]);
    assert_eq!(found["launcher"]["name"], "Slurm", "{found}");
    let problems = found["problems"].as_array().unwrap().iter().map(|problem| problem.as_str().unwrap().to_string());
    problems.filter(|problem| problem.starts_with("program: ")).collect()
}

/// Compiles a program in C and returns the path.
fn compile(folder: &Path, name: &str, text: &str, options: &[&str]) -> std::path::PathBuf {
    let (source, made) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&source, text).unwrap();
    let output = Command::new("cc").args(options).arg("-o").arg(&made).arg(source).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    made
}

#[test]
fn programs_that_can_be_preloaded_and_those_that_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let main = "int main(void) { return 0; }";
    let good = compile(folder.path(), "good", main, &[]);
    assert_eq!(problems(&good), [""; 0]);
    let with_mpi = "int PMPI_Type_size(void) { return 0; }\nint main(void) { return PMPI_Type_size(); }";
    for (name, text, options, says) in [
        ("static", main, &["-static"][..], "it is linked statically, so nothing can be preloaded"),
        ("inside", with_mpi, &[], "MPI is linked into it statically"),
        ("musl", main, &["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"], "it is linked with musl"),
    ] {
        let program = compile(folder.path(), name, text, options);
        let said = problems(&program);
        assert!(said.len() == 1 && said[0].starts_with(&format!("program: {}: {says}", program.display())), "{said:?}");
    }
    // Another processor: s390, by its number in the head.
    let mut bytes = std::fs::read(&good).unwrap();
    bytes[18] = 22;
    let foreign = folder.path().join("foreign");
    std::fs::write(&foreign, bytes).unwrap();
    std::fs::set_permissions(&foreign, PermissionsExt::from_mode(0o755)).unwrap();
    assert!(problems(&foreign)[0].contains("it is of another processor"), "{:?}", problems(&foreign));
    // Neither a program nor a script.
    std::fs::write(&foreign, "echo").unwrap();
    assert!(problems(&foreign)[0].contains("neither a program of Linux nor a script with #!"));
}

/// Tests a setuid program. Only root can give a file to another user; for others su is such a file.
#[test]
fn a_program_of_another_user_that_is_setuid() {
    let folder = tempfile::tempdir().unwrap();
    let is_root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
    if !is_root {
        assert!(problems(Path::new("/usr/bin/su"))[0].contains("it is setuid"));
        return;
    }
    let program = compile(folder.path(), "program", "int main(void) { return 0; }", &[]);
    std::os::unix::fs::chown(&program, Some(1), Some(1)).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o6755)).unwrap();
    let said = problems(&program);
    assert!(said.len() == 2 && said[0].contains("it is setuid") && said[1].contains("it is setgid"), "{said:?}");
}

#[test]
fn a_script_is_looked_at_by_its_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/usr/bin/env sh\n").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let found = json(&["--", script.to_str().unwrap()], &[]);
    assert_eq!(found["program"]["script"], script.to_str().unwrap());
    assert!(found["program"]["path"].as_str().unwrap().ends_with("/sh"), "{found}");
    assert!(found["next"].as_str().unwrap().contains("the report says whether the program makes collective calls"));
    std::fs::write(&script, "#!/nowhere/python\n").unwrap();
    let output = doctor(&["--", script.to_str().unwrap()], &[]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("its interpreter /nowhere/python is not there"));
    assert_eq!(output.status.code(), Some(1));
}

/// A library that is preloaded stands in for DAOS.
#[test]
fn files_on_daos_are_left_to_mpi() {
    let folder = tempfile::tempdir().unwrap();
    let daos = preloadable("cc", "dfuse", &folder.path().join("dfuse.so"));
    std::fs::create_dir(folder.path().join("dfuse")).unwrap();
    let library = std::env::current_exe().unwrap().with_file_name("libtributary_mpiio.so");
    let says = |path: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
        command.args(["doctor", "--path", path, "--library"]).arg(&library).current_dir(folder.path());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("LD_PRELOAD", &daos);
        let printed = String::from_utf8(command.output().unwrap().stdout).unwrap();
        printed.lines().find(|line| line.starts_with("files:")).unwrap_or_default().to_string()
    };
    let left = "; MPI runs the calls on files there, unless trib_driver=posix is set";
    let (there, beside) = (says("dfuse/file"), says("file"));
    assert!(there.contains(": daos, driver posix") && there.ends_with(left), "{there}");
    assert!(!beside.contains("daos") && !beside.ends_with(left) && beside.contains("driver"), "{beside}");
}

#[test]
fn calls_on_files_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let printed = String::from_utf8(doctor(&["--measure", path], &[]).stdout).unwrap();
    let text = printed.lines().find_map(|line| line.split_once("keeps these numbers: ")).expect(&printed).1;
    let known = tributary::machine::parse("printed", text.as_bytes()).unwrap();
    let costs = known.files.unwrap();
    assert!((1e-8..1.0).contains(&costs.call_seconds) && (1e-12..1e-6).contains(&costs.byte_seconds), "{costs:?}");
    let found = json(&["--measure", path], &[("PMI_RANK", "1")]);
    assert!(found["measured"]["byte_seconds"].as_f64() > Some(0.0), "{found}");
    let other = String::from_utf8(doctor(&["--measure", path], &[("PMI_RANK", "1")]).stdout).unwrap();
    assert!(other.starts_with("process 1: a call on the file takes ") && other.lines().count() == 1, "{other}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file is removed");
    let output = doctor(&["--measure", "/nowhere"], &[]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("measure: /nowhere: ") && output.status.code() == Some(1), "{error}");
}

#[test]
fn the_sites_file_is_that_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (library, conf) = (root.join("lib/libtributary_mpiio.so"), root.join("etc/tributary.conf"));
    for folder in ["lib", "etc"] {
        std::fs::create_dir(root.join(folder)).unwrap();
    }
    std::fs::copy(std::env::current_exe().unwrap().with_file_name("libtributary_mpiio.so"), &library).unwrap();
    std::fs::write(&conf, "hints /dev/shm/*:cb_nodes=2\nleave /proc/*\noff env\nlog /nowhere/jobs\nleaf /home/*\n")
        .unwrap();
    let look = |arguments: &[&str], variable: Option<&str>| -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
        command.args(["doctor", "--json", "--library"]).arg(&library).args(arguments);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .envs(variable.map(|value| ("TRIB_CONF", value)));
        serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
    };
    let of_site = |found: &Value| {
        found["problems"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .filter(|line| line.starts_with("site: "))
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    let line = |number: usize| format!("{}, line {number}", conf.display());

    let found = look(&["--path", "/dev/shm"], None);
    assert_eq!(found["site"]["file"], conf.to_str().unwrap(), "{found}");
    assert_eq!(found["site"]["log"][0]["problem"], "No such file or directory", "{found}");
    assert_eq!(
        (&found["hints"][0]["key"], &found["hints"][0]["source"]),
        (&"cb_nodes".into(), &line(1).into()),
        "{found}"
    );
    let keyword = format!("site: {}: \"leaf\" is no keyword; did you mean leave?", line(5));
    let log =
        "site: log /nowhere/jobs: No such file or directory; allowed: a file or a folder to which all users can write";
    let due = [keyword, log.to_string()];
    assert_eq!((of_site(&found), &found["hints_ignored"]), (due.to_vec(), &Value::Array(vec![])));
    // A decision of the site is no problem.
    for (arguments, number, says) in [(&["--path", "/proc"][..], 2, "leave /proc/*"), (&["--", "env"], 3, "off env")] {
        let found = look(arguments, None);
        assert_eq!(found["policy"], format!("{}: {says}", line(number)));
        assert_eq!(of_site(&found), due);
        let found = look(arguments, Some("/dev/null"));
        assert_eq!((&found["policy"], of_site(&found)), (&Value::Null, vec![]));
    }
    // All lines with faults are reported, also lines that do not apply to the path.
    std::fs::write(
        &conf,
        "hints /dev/shm/*:cb_bufer_size=1M\nhints /other/*:cb_nodes=lots\nleave relative/*\nlogg syslog\noff env\n",
    )
    .unwrap();
    for variable in [None, conf.to_str()] {
        let said = of_site(&look(&["--path", "/dev/shm"], variable));
        assert_eq!(said.len(), 4, "{said:?}");
        for (number, (said, due)) in said.iter().zip(["cb_bufer_size", "lots", "relative/*", "logg"]).enumerate() {
            assert!(said.starts_with(&format!("site: {}: ", line(number + 1))) && said.contains(due), "{said}");
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_trib")).args(["doctor", "--library"]).arg(&library).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = look(&[], Some("/nowhere"))["problems"].to_string();
    assert!(said.contains("TRIB_CONF: /nowhere: No such file"), "{said}");
    // A line that counts for no file is a warning.
    std::fs::write(&conf, "hints /scratch/*:cb_nodes=2\nhints /scratch/*.nc:cb_nodes=4\n").unwrap();
    let found = look(&[], None);
    let warning = format!("site: {}: hints /scratch/*.nc counts for no file", line(2));
    assert!(found["warnings"][0].as_str().unwrap().starts_with(&warning), "{found}");
    assert_eq!(of_site(&found), [""; 0]);
    // A file that cannot be read.
    std::fs::remove_file(&conf).and_then(|()| std::fs::create_dir(&conf)).unwrap();
    let found = look(&[], None);
    let said = of_site(&found);
    assert!(said.len() == 1 && said[0].starts_with(&format!("site: {}: ", conf.display())), "{found}");
    assert!(said[0].contains("Is a directory") && found["hints_ignored"] == Value::Array(vec![]), "{found}");
}

#[test]
fn variables_and_hints_in_force_and_ignored() {
    let environment = [("TRIB_HINTS", "cb_nodes=2;cb_nodez=3;romio_cb_pfr=enable"), ("TRIB_REPROT", "1")];
    let found = json(&["--hints", "cb_nodes=4", "--path", "/dev/shm"], &environment);
    assert_eq!(found["place"]["driver"], "posix");
    assert_eq!(found["place"]["file_system"], "tmpfs");
    assert_eq!((&found["hints"][0]["key"], &found["hints"][0]["value"]), (&"cb_nodes".into(), &"4".into()));
    let ignored: Vec<_> = found["hints_ignored"].as_array().unwrap().iter().collect();
    let why = |key: &str| ignored.iter().find(|hint| hint["key"] == key).map(|hint| hint["why"].as_str().unwrap());
    assert_eq!(why("cb_nodez"), None);
    assert_eq!(why("romio_cb_pfr"), Some("the driver chooses the file domains"));
    let problems = found["problems"].to_string();
    assert!(problems.contains("variable TRIB_REPROT: `1` is not read; did you mean TRIB_REPORT?"), "{problems}");
    let said = "hint cb_nodez=3 of TRIB_HINTS: unknown key; did you mean cb_nodes?";
    assert!(problems.contains(said), "{problems}");
    let output = doctor(&["--hints", "cb_node=2"], &[("TRIB_HINTS_FILE", "/nowhere/hints")]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("\nproblem:      TRIB_HINTS_FILE: /nowhere/hints: No such file"), "{said}");
    assert!(said.lines().last().unwrap().starts_with("next:  "), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1);
}

#[test]
fn a_folder_that_is_not_there_is_a_problem() {
    for (path, is_there) in
        [("/nowhere/x.nc", false), ("/nowhere/a/b", false), ("/dev/shm/new.nc", true), ("/dev/shm", true)]
    {
        let problems = json(&["--path", path], &[])["problems"].to_string();
        assert_eq!(!problems.contains(&format!("path: {path}: there is no folder /nowhere")), is_there, "{problems}");
    }
}

/// Returns the problems that the command finds, and checks the exit code.
fn problems_of(output: &Output) -> Vec<String> {
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let problems = found["problems"].as_array().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(!problems.is_empty())), "{output:?}");
    problems.iter().map(|problem| problem.as_str().unwrap().to_string()).collect()
}

#[test]
fn a_library_that_cannot_be_loaded_is_a_problem() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("libtributary_mpiio.so");
    let whole = std::fs::read(library()).unwrap();
    for (bytes, says) in [
        (&b"a text, and no library at all"[..], "cannot be loaded: "),
        (&whole[..30], "cannot be loaded: file too short"),
        (&whole[..100_000], "a program with LD_PRELOAD="),
    ] {
        std::fs::write(&at, bytes).unwrap();
        let said = problems_of(&doctor_of(&at, &["--json"], &[]));
        assert!(said.iter().any(|said| said.starts_with("library: ") && said.contains(says)), "{says}: {said:?}");
        // trib run starts nothing then.
        let output = Command::new(env!("CARGO_BIN_EXE_trib"))
            .args(["run", "--library"])
            .arg(&at)
            .args(["--", "echo", "started"])
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stdout)), (Some(1), ""), "{error}");
        assert!(error.contains("trib: library: ") && error.contains(says), "{says}: {error}");
    }
    let said = problems_of(&doctor(&["--json"], &[("LD_PRELOAD", "/nowhere/lib.so")]));
    let due = "variable LD_PRELOAD: /nowhere/lib.so cannot be loaded: cannot open shared object file; allowed: libraries that can be";
    assert!(said.iter().any(|said| said.starts_with(due)), "{said:?}");
}

#[test]
fn what_is_not_there_is_a_problem() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    let program = program.to_str().unwrap();
    let path = folder.path().to_str().unwrap();
    let says = |words: &[&str], environment: &[(&str, &str)]| {
        problems_of(&doctor(&[&["--json"], words].concat(), environment)).join("\n")
    };
    let said = says(&["--", "srun", "-n", "2", "sh"], &[("PATH", path)]);
    assert!(said.contains("launcher: srun: no such program; load the module of Slurm"), "{said}");
    let said = says(&["--", "srun", "-n", "2", program], &[]);
    assert!(said.contains(&format!("program: {program}: it is not executable; chmod +x {program}")), "{said}");
    let said = says(&[], &[("TRIB_DISABLE", "1")]);
    assert!(said.contains("variable TRIB_DISABLE: it is set, so MPI runs all calls; remove it"), "{said}");
    assert!(!says(&[], &[("TRIB_DISABLE", "0")]).contains("TRIB_DISABLE"));
}

/// Tests what only root owns. Root itself may write and read everything, so it runs the command as another user.
#[test]
fn what_this_user_may_not_use_is_a_problem() {
    use std::os::unix::process::CommandExt;
    if std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) != 0 {
        let said = problems_of(&doctor(&["--json", "--path", "/usr/file"], &[])).join("\n");
        assert!(said.contains("path: /usr: Permission denied"), "{said}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let set = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let (trib, copy) = (folder.path().join("trib"), folder.path().join("libtributary_mpiio.so"));
    std::fs::copy(env!("CARGO_BIN_EXE_trib"), &trib).unwrap();
    std::fs::copy(library(), &copy).unwrap();
    set(&copy, 0o600);
    set(folder.path(), 0o755);
    let mut command = Command::new(&trib);
    command.args(["doctor", "--json", "--path"]).arg(folder.path()).arg("--library").arg(&copy);
    command.env_clear().current_dir("/").uid(65534).gid(65534);
    let output = loop {
        match command.output() {
            // Another thread of this process may be starting a program, with the copy still open for writing.
            Err(cause) if cause.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
            other => break other.unwrap(),
        }
    };
    let said = problems_of(&output).join("\n");
    assert!(said.contains(&format!("path: {}: Permission denied", folder.path().display())), "{said}");
    assert!(said.contains(&format!("library: {} cannot be loaded: cannot open", copy.display())), "{said}");
}
