//! Tests individual file pointers, which are wrong in MPICH for views with lower bounds: the library keeps its own.

use super::{HOSTS, launch, prints_ok};
use crate::common::family::{Family, ours};
use crate::common::launch::is_component;

/// Runs a program that fails without the library, with these variables, and expects `ok`.
fn is_ok_with(source: &str, ranks: usize, arguments: &[&str], variables: &[(&str, &str)]) {
    let with = launch(source, ranks, arguments).with_library();
    let with = variables.iter().fold(with, |launch, (name, value)| launch.env(name, *value));
    for (how, launch) in [("with", with.clone()), (HOSTS, with.hints(HOSTS))] {
        prints_ok(&launch.run(), &format!("{source} {arguments:?} {variables:?} on {ranks} ranks, {how}"));
    }
}

#[test]
fn positions_are_right_in_all_views() {
    is_ok_with("posview.c", 2, &[], &[]);
}

/// Note: OMPIO loses bytes of this program in atomic mode, also without the library.
#[test]
fn calls_of_all_kinds_share_a_pointer() {
    for (ranks, seed) in [(1, "1"), (2, "2"), (3, "3")] {
        match ours() {
            Family::Mpich => is_ok_with("pointers.c", ranks, &[seed], &[]),
            Family::OpenMpi => is_ok_with("pointers.c", ranks, &[seed, "60", "without"], &[]),
        }
    }
}

/// The library does not call MPI_File_get_position in these views: Open MPI's ROMIO crashes there.
#[test]
fn the_pointer_of_another_romio_is_not_asked() {
    // The component stands in front of OMPIO only.
    if ours() == Family::OpenMpi && !is_component() {
        for ranks in [1, 2] {
            is_ok_with("pointers.c", ranks, &["1", "60", "without"], &[("OMPI_MCA_io", "romio321")]);
        }
    }
}
