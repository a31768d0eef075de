//! Tests ranks on several hosts: host names that differ, each for two ranks, in namespaces of their own. If the
//! system does not permit these (only root may create them), a hint makes the ranks of one host pretend to be on
//! several, which uses the same code.

use std::path::Path;
use std::process::Command;

use crate::common::family::{Family, ours};
use crate::common::launch::Launch;
use crate::common::matrix::same;
use crate::common::programs::compile;
use crate::common::report::accelerated;

fn may_name_hosts() -> bool {
    let tried = Command::new("unshare").args(["--uts", "hostname", "host0"]).output();
    tried.is_ok_and(|output| output.status.success())
}

/// Returns a run of `program` on hosts of two ranks.
fn on_hosts(program: &Path) -> Launch {
    if !may_name_hosts() {
        return Launch::new(4, program).env("TRIB_HINTS", "trib_shared_memory=enable; trib_ranks_per_node=2");
    }
    let name = "host$((${PMI_RANK:-$OMPI_COMM_WORLD_RANK} / 2))";
    let launch = Launch::new(4, Path::new("/usr/bin/unshare"));
    let launch = match ours() {
        // Nobody knows the addresses of these names.
        Family::Mpich => launch.env("MPICH_INTERFACE_HOSTNAME", "127.0.0.1"),
        Family::OpenMpi => launch,
    };
    let script = format!("hostname {name} && exec \"$@\"");
    let launch = ["--uts", "sh", "-c", &script, "sh"].into_iter().fold(launch, Launch::arg);
    launch.arg(program.to_string_lossy())
}

/// Checks that the result is the same as without the library on one host.
fn check(source: &str, arguments: &[&str], calls: &[&str]) {
    let program = compile(source);
    let with = |launch: Launch| arguments.iter().copied().fold(launch, Launch::arg);
    let plain = with(Launch::new(4, &program)).run();
    let there = with(on_hosts(&program)).with_library().run();
    same(&there, &plain, source);
    for call in calls {
        assert!(
            accelerated(&there.reports, call) > 0,
            "{source}: {call} was never run by the engine\n{}",
            there.stderr
        );
    }
}

#[test]
fn views_of_every_kind_on_several_hosts() {
    check("views.c", &[], &["write_all", "write_at_all", "read_all", "read_at_all"]);
}

#[test]
fn calls_in_two_halves_on_several_hosts() {
    check("split.c", &[], &["write_all_begin", "read_at_all_begin"]);
}

#[test]
fn cells_and_segments_on_several_hosts() {
    check("btio.c", &[], &["write_all", "read_all"]);
    check("ior.c", &[], &[]);
}
