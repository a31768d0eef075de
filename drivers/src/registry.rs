//! The table of all drivers, by name and by file system.
//!
//! To add a driver, write a file that implements [`Driver`], add a row to the table `drivers!` below, a `mod` to `lib.rs`, and its
//! place in the order of modules (`tests/suite/layers.rs` of the library). The hint `trib_driver` and its help, the recognition of
//! the file system, and the tests of every driver with every kernel and fabric use the row.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tributary_base::error::FileOperation;
use tributary_base::wire::{Output, Wire};
use tributary_base::{Error, Result};

use crate::driver::Driver;
use crate::hints::DriverHints;
use crate::storage::{FileSystem, OpenStorage, Storage};
use crate::system::SystemFiles;
use crate::{gpfs, lustre, nfs, posix};

macro_rules! drivers {
    ($($(#[$doc:meta])* $name:ident = $word:literal: $driver:expr,)+) => {
        /// The name of a file-system driver, as in the hint `trib_driver`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum DriverName {
            /// The driver for the file system of the file.
            #[serde(rename = "auto")]
            Auto,
            $($(#[$doc])* #[serde(rename = $word)] $name,)+
        }

        impl DriverName {
            /// All names, in the order of the documentation.
            pub const ALL: &[Self] = &[Self::Auto, $(Self::$name,)+];

            /// All names, separated by `|`.
            pub const ALLOWED: &str = concat!("auto" $(, "|", $word)+);

            /// Returns the name as the hint `trib_driver` spells it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    Self::Auto => "auto",
                    $(Self::$name => $word,)+
                }
            }

            /// Returns [`Driver::is_striped`] of the driver; false for [`DriverName::Auto`].
            pub fn is_striped(self) -> bool {
                match self {
                    Self::Auto => false,
                    $(Self::$name => $driver.is_striped(),)+
                }
            }
        }

        /// Returns the driver that [`driver`] returns, for storage that `files` opens.
        pub fn driver_on(files: &dyn OpenStorage, name: DriverName, path: &Path) -> Box<dyn Driver> {
            match name {
                DriverName::Auto => driver_on(files, detect_on(files, path), path),
                $(DriverName::$name => Box::new($driver),)+
            }
        }

        /// Returns the name of the driver for a file system with the type `magic`.
        fn of_magic(magic: u32) -> DriverName {
            let known: &[(DriverName, &dyn Driver)] = &[$((DriverName::$name, &$driver),)+];
            let found = known.iter().find(|(_, driver)| driver.magic() == Some(magic));
            found.map_or(DriverName::Posix, |(name, _)| *name)
        }
    };
}

drivers! {
    /// The driver for any POSIX file system: ranges of equal bytes.
    Posix = "posix": posix::Posix,
    /// The driver for Lustre: stripes go to aggregators in turn.
    Lustre = "lustre": lustre::Lustre,
    /// The driver for GPFS: equal ranges of whole blocks.
    Gpfs = "gpfs": gpfs::Gpfs,
    /// The driver for NFS: ranges of equal bytes, several aggregators a node.
    Nfs = "nfs": nfs::Nfs,
}

impl DriverName {
    /// Returns the name of the driver that [`driver_on`] returns: this name, or for [`DriverName::Auto`] the name of
    /// the driver for the file system.
    pub fn resolved(self, files: &dyn OpenStorage, path: &Path) -> Self {
        if self == Self::Auto { detect_on(files, path) } else { self }
    }

    /// Resolves like [`DriverName::resolved`], for a known file system.
    pub fn resolved_on(self, found: Option<FileSystem>) -> Self {
        if self == Self::Auto { of_file_system(found) } else { self }
    }
}

impl fmt::Display for DriverName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for DriverName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = Self::ALL.iter().find(|name| name.as_str().eq_ignore_ascii_case(text));
        known.copied().ok_or_else(|| Error::argument("driver", text, Self::ALLOWED))
    }
}

impl Wire for DriverName {
    const SIZE: Option<usize> = None;

    fn encode(&self, to: &mut impl Output) {
        self.as_str().to_string().encode(to);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        String::decode(from)?.parse().ok()
    }
}

/// Returns the driver with this name; for [`DriverName::Auto`], the driver for the file system of `path`.
pub fn driver(name: DriverName, path: &Path) -> Box<dyn Driver> {
    driver_on(&SystemFiles, name, path)
}

/// Returns the name of the driver for the file system of `path`, or else of its directory; never [`DriverName::Auto`]. Costs one or
/// two system calls on the calling rank.
pub fn detect(path: &Path) -> DriverName {
    detect_on(&SystemFiles, path)
}

/// Returns the name that [`detect`] returns, for storage that `files` opens.
pub fn detect_on(files: &dyn OpenStorage, path: &Path) -> DriverName {
    of_file_system(files.file_system(path))
}

fn of_file_system(found: Option<FileSystem>) -> DriverName {
    found.map_or(DriverName::Posix, |found| of_magic(found.magic))
}

/// Opens a file for writing. Creates a new file with the layout of the hints, if its file system has layouts ([`Driver::lay_out`]),
/// with any driver. Call it on one rank.
///
/// # Errors
/// [`Error::Io`] if the file cannot be created or the file system refuses the layout; [`Error::Hint`] for an impossible layout.
/// There is no new file then.
pub fn create(files: &dyn OpenStorage, path: &Path, hints: &DriverHints) -> Result<Box<dyn Storage>> {
    if hints.asks_for_stripes()
        && let Err(error) = lay_out(files, path, hints)
    {
        if matches!(&error, Error::Io { operation: FileOperation::SetStripes, .. }) {
            // If the file cannot be removed either, the caller still gets the first error.
            let _ = files.remove(path);
        }
        return Err(error);
    }
    files.create(path).map_err(|cause| Error::io(0, FileOperation::Open, path, None, &cause))
}

/// Creates a file with the layout of the hints, if its file system has layouts, a hint sets one, and the file does not exist;
/// otherwise does nothing. Call it on one rank before the file is created, because the layout cannot be changed later.
///
/// # Errors
/// The errors of [`create`]. If the file system refuses the layout, there is a new file without this layout, which
/// other processes may have opened.
pub fn lay_out(files: &dyn OpenStorage, path: &Path, hints: &DriverHints) -> Result<()> {
    driver_on(files, DriverName::Auto, path).lay_out(files, path, hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_in_any_case() {
        for name in DriverName::ALL {
            assert_eq!(name.to_string().to_uppercase().parse(), Ok(*name));
        }
        let all: Vec<&str> = DriverName::ALL.iter().map(|name| name.as_str()).collect();
        let refused = "ext4".parse::<DriverName>().unwrap_err();
        assert_eq!(refused.to_string(), format!("driver: ext4; allowed: {}", all.join("|")));
    }

    #[test]
    fn file_systems_are_known_by_their_types() {
        let of = |magic| of_magic(magic);
        assert_eq!(
            [0x0BD0_0BD0, 0x4750_4653, 0x6969, 0xEF53].map(of),
            [DriverName::Lustre, DriverName::Gpfs, DriverName::Nfs, DriverName::Posix]
        );
    }
}
