//! Structures of Open MPI that the component shares with it. Their fields have the names and the order of
//! Open MPI's headers `opal/mca/mca.h` (the component), `ompi/mca/io/io.h` (its functions and the table) and
//! `ompi/request/request.h`, in the releases 4.0.7, 4.1.4, 4.1.8 and 5.0.9 and the branch v6.0.x of 2026-08.

use std::ffi::{c_int, c_void};

/// Code with which a component says that it cannot be used, without a message of Open MPI.
pub const NOT_AVAILABLE: c_int = -16;
/// Open MPI's general error code.
pub const ERROR: c_int = -1;

/// Open MPI's first part of a component, with the version 2.1 of its component architecture.
#[repr(C)]
pub struct Component {
    architecture: [c_int; 3],
    project: [u8; 16],
    project_version: [c_int; 3],
    framework: [u8; 32],
    framework_version: [c_int; 3],
    name: [u8; 64],
    version: [c_int; 3],
    open: Option<ComponentFunction>,
    close: Option<ComponentFunction>,
    query: Option<ComponentFunction>,
    register: Option<ComponentFunction>,
    flags: i32,
    reserved: [u8; 28],
}

/// A function of a component that Open MPI calls once; returns 0 or a code.
pub type ComponentFunction = unsafe extern "C" fn() -> c_int;

impl Component {
    /// Creates a component of the framework `io`. Open MPI calls `register` and then `open` before it uses the
    /// component.
    pub const fn new(name: &str, register: ComponentFunction, open: ComponentFunction) -> Self {
        Self {
            architecture: [2, 1, 0],
            project: text("ompi"),
            project_version: [4, 1, 0],
            framework: text("io"),
            framework_version: [2, 0, 0],
            name: text(name),
            version: [
                number(env!("CARGO_PKG_VERSION_MAJOR")),
                number(env!("CARGO_PKG_VERSION_MINOR")),
                number(env!("CARGO_PKG_VERSION_PATCH")),
            ],
            open: Some(open),
            close: None,
            query: None,
            register: Some(register),
            flags: 0,
            reserved: [0; 28],
        }
    }

    /// Returns the component's own version; for a component of Open MPI, the version of Open MPI.
    pub fn version(&self) -> [c_int; 3] {
        self.version
    }

    /// Returns the version of the framework that the component is made for.
    pub fn framework_version(&self) -> [c_int; 3] {
        self.framework_version
    }

    /// Takes the versions of the framework and the project from another component.
    pub fn take_version_of(&mut self, other: &Self) {
        (self.framework_version, self.project_version) = (other.framework_version, other.project_version);
    }
}

/// A component of the framework `io`: its functions follow in the order of `io.h`.
#[repr(C)]
pub struct IoComponent {
    /// The part that all components have.
    pub component: Component,
    metadata: u32,
    reserved: [u8; 32],
    /// `init_query`, `file_query`, `file_unquery`, `delete_query`, `delete_unquery`, `delete_select`,
    /// `register_datarep`.
    pub functions: [*const c_void; 7],
}

// SAFETY: Open MPI reads the structure, and changes nothing in it.
unsafe impl Sync for IoComponent {}

/// Creates the structure of a component of the framework `io`.
pub const fn io_component(component: Component, functions: [*const c_void; 7]) -> IoComponent {
    IoComponent { component, metadata: 0, reserved: [0; 32], functions }
}

const fn text<const N: usize>(text: &str) -> [u8; N] {
    let (mut all, bytes, mut at) = ([0; N], text.as_bytes(), 0);
    while at < bytes.len() {
        all[at] = bytes[at];
        at += 1;
    }
    all
}

const fn number(text: &str) -> c_int {
    let (bytes, mut at, mut number) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        number = number * 10 + (bytes[at] - b'0') as c_int;
        at += 1;
    }
    number
}

/// The series of Open MPI, by the functions in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Series {
    /// 4.0 and 4.1: 51 functions, without those for an info; counts are of type `int`.
    Four,
    /// 5.0: 53 functions; counts are of type `int`.
    Five,
    /// 6: the same 53 functions; counts are of type `size_t`.
    Six,
}

impl Series {
    /// Returns the series of an Open MPI of version `version` with this version of the framework `io`; None if the
    /// table of functions is not known.
    pub fn known(version: [c_int; 3], framework: [c_int; 3]) -> Option<Self> {
        match (framework, version) {
            ([2, 0, 0], [4, 0 | 1, _]) => Some(Self::Four),
            ([2, 0, 0], [5, 0, _]) => Some(Self::Five),
            ([3, 0, 0], [6, _, _]) => Some(Self::Six),
            _ => None,
        }
    }

    /// Returns the functions in the table, in order, by their names without `MPI_File_`.
    pub fn functions(self) -> impl Iterator<Item = &'static str> {
        let of_infos = if self == Self::Four { &[] as &[&str] } else { &["set_info", "get_info"] };
        FIRST.iter().chain(of_infos).chain(&LAST).copied()
    }

    /// Returns true if counts are of type `size_t`.
    pub fn has_large_counts(self) -> bool {
        self == Self::Six
    }
}

const FIRST: [&str; 6] = ["open", "close", "set_size", "preallocate", "get_size", "get_amode"];
const LAST: [&str; 45] = [
    "set_view",
    "get_view",
    "read_at",
    "read_at_all",
    "write_at",
    "write_at_all",
    "iread_at",
    "iwrite_at",
    "iread_at_all",
    "iwrite_at_all",
    "read",
    "read_all",
    "write",
    "write_all",
    "iread",
    "iwrite",
    "iread_all",
    "iwrite_all",
    "seek",
    "get_position",
    "get_byte_offset",
    "read_shared",
    "write_shared",
    "iread_shared",
    "iwrite_shared",
    "read_ordered",
    "write_ordered",
    "seek_shared",
    "get_position_shared",
    "read_at_all_begin",
    "read_at_all_end",
    "write_at_all_begin",
    "write_at_all_end",
    "read_all_begin",
    "read_all_end",
    "write_all_begin",
    "write_all_end",
    "read_ordered_begin",
    "read_ordered_end",
    "write_ordered_begin",
    "write_ordered_end",
    "get_type_extent",
    "set_atomicity",
    "get_atomicity",
    "sync",
];

/// Maximum number of functions in a component's table.
pub const MOST_FUNCTIONS: usize = FIRST.len() + 2 + LAST.len();

/// A table of functions. A table of Open MPI 4 is shorter.
pub type Table = [*const c_void; MOST_FUNCTIONS];

/// Offset of the type in a request of Open MPI, in bytes, in a build without Open MPI's debugging.
pub const REQUEST_TYPE: usize = 56;
/// Offset of the object that a request belongs to, in bytes, in such a build.
pub const REQUEST_OBJECT: usize = 152;
/// Type in a request of a file.
pub const TYPE_FILE: c_int = 1;
/// Type in a generalised request.
pub const TYPE_GENERALISED: c_int = 2;

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn structures_have_the_sizes_of_open_mpi() {
        assert_eq!(offset_of!(Component, framework), 40);
        assert_eq!(offset_of!(Component, name), 84);
        assert_eq!(offset_of!(Component, open), 160);
        assert_eq!(size_of::<Component>(), 224);
        assert_eq!(offset_of!(IoComponent, functions), 264);
        assert_eq!(Series::Four.functions().count(), 51);
        assert_eq!(Series::Five.functions().count(), 53);
    }

    #[test]
    fn unknown_series_are_refused() {
        assert_eq!(Series::known([4, 1, 4], [2, 0, 0]), Some(Series::Four));
        assert_eq!(Series::known([5, 0, 11], [2, 0, 0]), Some(Series::Five));
        assert_eq!(Series::known([6, 1, 0], [3, 0, 0]), Some(Series::Six));
        for (version, framework) in [([5, 1, 0], [2, 0, 0]), ([7, 0, 0], [3, 0, 0]), ([6, 0, 0], [3, 1, 0])] {
            assert_eq!(Series::known(version, framework), None);
        }
    }
}
