//! The drivers that there are, by name and by file system.
//!
//! A new driver is one file beside this one, which implements [`Driver`], and its row in the table `drivers!` below. The `mod` of
//! the file in `lib.rs` is what Rust wants, and its place in the order of modules (`tests/suite/layers.rs` of the library) what
//! the library's tests ask for. The hint `trib_driver` and its help, recognition of the file system, and the tests that take every
//! driver through every kernel and fabric come from the row.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tributary_base::wire::Wire;
use tributary_base::{Error, Result};

use crate::driver::Driver;
use crate::hints::DriverHints;
use crate::storage::{FileSystem, OpenStorage, Storage};
use crate::system::SystemFiles;
use crate::{gpfs, lustre, posix};

macro_rules! drivers {
    ($($(#[$doc:meta])* $name:ident = $word:literal: $driver:expr,)+) => {
        /// A file-system driver, by the word that stands for it in the hint `trib_driver`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum DriverName {
            /// By the file system that the file is on.
            #[serde(rename = "auto")]
            Auto,
            $($(#[$doc])* #[serde(rename = $word)] $name,)+
        }

        impl DriverName {
            /// Every one, in the order of the documentation.
            pub const ALL: &[Self] = &[Self::Auto, $(Self::$name,)+];

            /// The words, separated by `|`.
            pub const ALLOWED: &str = concat!("auto" $(, "|", $word)+);

            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    Self::Auto => "auto",
                    $(Self::$name => $word,)+
                }
            }

            /// As [`Driver::is_striped`]; false of [`DriverName::Auto`].
            pub fn is_striped(self) -> bool {
                match self {
                    Self::Auto => false,
                    $(Self::$name => $driver.is_striped(),)+
                }
            }
        }

        /// As [`driver`], on `files`.
        pub fn driver_on(files: &dyn OpenStorage, name: DriverName, path: &Path) -> Box<dyn Driver> {
            match name {
                DriverName::Auto => driver_on(files, detect_on(files, path), path),
                $(DriverName::$name => Box::new($driver),)+
            }
        }

        /// The driver of a file system by its type.
        fn of_magic(magic: u32) -> DriverName {
            let known: &[(DriverName, &dyn Driver)] = &[$((DriverName::$name, &$driver),)+];
            let found = known.iter().find(|(_, driver)| driver.magic() == Some(magic));
            found.map_or(DriverName::Posix, |(name, _)| *name)
        }
    };
}

drivers! {
    /// Any POSIX file system: ranges of equal bytes.
    Posix = "posix": posix::Posix,
    /// Stripe-cyclic domains.
    Lustre = "lustre": lustre::Lustre,
    /// Equal ranges of whole blocks.
    Gpfs = "gpfs": gpfs::Gpfs,
}

impl DriverName {
    /// The name of the driver that [`driver_on`] gives: itself, or for [`DriverName::Auto`] that of the file system.
    pub fn resolved(self, files: &dyn OpenStorage, path: &Path) -> Self {
        if self == Self::Auto { detect_on(files, path) } else { self }
    }

    /// As [`DriverName::resolved`], where the file system is known already.
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
    fn encode(&self, to: &mut Vec<u8>) {
        self.as_str().to_string().encode(to);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        String::decode(from)?.parse().ok()
    }
}

/// The driver of that name; for [`DriverName::Auto`], the one of the file system that `path` is (or will be) on.
pub fn driver(name: DriverName, path: &Path) -> Box<dyn Driver> {
    driver_on(&SystemFiles, name, path)
}

/// The driver of the file system that `path`, or else its directory, is on; never [`DriverName::Auto`]. Costs a system
/// call or two on the calling rank.
pub fn detect(path: &Path) -> DriverName {
    detect_on(&SystemFiles, path)
}

/// As [`detect`], on `files`.
pub fn detect_on(files: &dyn OpenStorage, path: &Path) -> DriverName {
    of_file_system(files.file_system(path))
}

fn of_file_system(found: Option<FileSystem>) -> DriverName {
    found.map_or(DriverName::Posix, |found| of_magic(found.magic))
}

/// Opens a file for writing; makes it if it is not there, with the hinted layout where the file system that it is to be on has
/// layouts ([`Driver::lay_out`]), whatever driver is in use. Call it on one rank.
///
/// # Errors
/// [`Error::Io`] when the file cannot be made or the file system refuses the layout; [`Error::Hint`] for a layout that cannot be.
/// There is no new file then.
pub fn create(files: &dyn OpenStorage, path: &Path, hints: &DriverHints) -> Result<Box<dyn Storage>> {
    if let Err(error) = lay_out(files, path, hints) {
        if matches!(&error, Error::Io { operation, .. } if operation == lustre::SET_STRIPES) {
            // That the file stays where even removing fails is told by the first error well enough.
            let _ = files.remove(path);
        }
        return Err(error);
    }
    files.create(path).map_err(|cause| Error::io(0, "open", path, None, &cause))
}

/// Makes a file with the hinted layout, if the file system that it is to be on has layouts, one is hinted, and no file is there;
/// otherwise nothing happens. Call it on one rank, before anybody makes the file: no call gives a file another layout later.
///
/// # Errors
/// As [`create`]. Where the file system refuses the layout there is a new file without one, which others may have opened.
pub fn lay_out(files: &dyn OpenStorage, path: &Path, hints: &DriverHints) -> Result<()> {
    driver_on(files, DriverName::Auto, path).lay_out(files, path, hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words() {
        for name in DriverName::ALL {
            assert_eq!(name.to_string().to_uppercase().parse(), Ok(*name));
        }
        assert_eq!(DriverName::ALLOWED, "auto|posix|lustre|gpfs");
        let refused = "ext4".parse::<DriverName>().unwrap_err();
        assert_eq!(refused.to_string(), "driver: ext4; allowed: auto|posix|lustre|gpfs");
    }

    #[test]
    fn file_systems_are_known_by_their_types() {
        let of = |magic| of_magic(magic);
        assert_eq!(
            [0x0BD0_0BD0, 0x4750_4653, 0xEF53].map(of),
            [DriverName::Lustre, DriverName::Gpfs, DriverName::Posix]
        );
    }
}
