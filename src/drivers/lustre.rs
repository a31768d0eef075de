//! Lustre: stripe `s` belongs to aggregator `s mod A`, so that each server's locks go to few clients (main paper, figure
//! 2 (a)). By default there are as many aggregators as stripes, dealt to the nodes in turn.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::lov::{self, Stripes};
use super::{Domains, Driver, Layout, Written, file_system, open, placement};
use crate::error::{Error, Result};
use crate::hints::{DriverName, Hints};
use crate::topology::{Rank, Topology};

/// `f_type` of `statfs`.
pub(super) const MAGIC: u32 = 0x0BD0_0BD0;

/// The stripe size where none is hinted or told, in bytes: Lustre's own default.
const UNIT: u64 = 1 << 20;
/// Lustre takes stripe sizes in multiples of this many bytes.
const GRAIN: u64 = 1 << 16;
/// Rounds of all aggregators together stay below this, so that offsets of windows do not overflow.
const FARTHEST: u64 = 1 << 62;
/// The longest value of an extended attribute on Linux, in bytes.
const LONGEST: usize = 1 << 16;

/// Opens a new file without a layout yet (`O_LOV_DELAY_CREATE`): two flags without meaning for other regular files.
const DELAY_CREATE: i32 = libc::O_NOCTTY | libc::O_ASYNC;

// LL_IOC_LOV_SETSTRIPE is declared with the size of a long, not of what it points to.
nix::ioctl_write_ptr_bad!(set_stripe, nix::request_code_write!(b'f', 154, size_of::<libc::c_long>()), [u8; 32]);

pub(super) struct Lustre;

impl Driver for Lustre {
    fn name(&self) -> DriverName {
        DriverName::Lustre
    }

    fn create(&self, path: &Path, hints: &Hints) -> Result<File> {
        let real = is_real(path);
        let (unit, count) = (hinted_unit(hints, real)?, hints.striping_factor);
        if real && (unit.is_some() || count.is_some()) {
            create_striped(path, unit, count)?;
        }
        open(path)
    }

    /// What is hinted, or else what the file tells, or else stripes of 1 MiB over an unknown number of servers (factor 0).
    fn layout(&self, path: &Path, file: &File, hints: &Hints) -> Result<Layout> {
        let real = is_real(path);
        let (unit, count) = (hinted_unit(hints, real)?, hints.striping_factor);
        let own = if real { told(file, path) } else { None };
        let fits = |own: Stripes| {
            unit.is_none_or(|unit| unit == own.unit) && count.is_none_or(|count| count == u32::from(own.count))
        };
        if own.is_some_and(|own| !fits(own)) {
            tracing::warn!(path = %path.display(), ?own, ?unit, ?count, "the file is striped otherwise than hinted");
        }
        Ok(Layout {
            unit: unit.or(own.map(|own| own.unit)).map_or(UNIT, u64::from),
            factor: count.or(own.map(|own| u32::from(own.count))).unwrap_or(0),
        })
    }

    /// Where the stripe count is not known, one per node is taken.
    fn aggregators(&self, topology: &Topology, layout: &Layout, hints: &Hints) -> Result<Vec<Rank>> {
        let wanted = match layout.factor {
            0 => placement::per_node(topology, hints),
            stripes => stripes as usize,
        };
        placement::choose(topology, hints, wanted)
    }

    /// So many stripes that both servers and aggregators have had their turns.
    fn period(&self, layout: &Layout, aggregators: usize) -> u64 {
        let (servers, aggregators) = (u64::from(layout.factor.max(1)), aggregators as u64);
        let common =
            (1..=servers.min(aggregators)).rev().find(|n| servers % n == 0 && aggregators % n == 0).unwrap_or(1);
        layout.unit.saturating_mul(servers / common).saturating_mul(aggregators)
    }

    fn domains(&self, layout: &Layout, aggregators: usize, _: Written<'_>, hints: &Hints) -> Domains {
        let aggregators = aggregators as u64;
        let held = hints.cb_buffer_size / layout.unit;
        let stripes = held.min(FARTHEST / layout.unit.saturating_mul(aggregators)).max(1);
        Domains::Cyclic { stripe: layout.unit, aggregators, stripes }
    }
}

/// The hinted stripe size, which Lustre counts in 32 bits and a real one in whole grains.
fn hinted_unit(hints: &Hints, real: bool) -> Result<Option<u32>> {
    let Some(bytes) = hints.striping_unit else { return Ok(None) };
    match u32::try_from(bytes) {
        Ok(unit) if !real || bytes % GRAIN == 0 => Ok(Some(unit)),
        _ if real => Err(Error::hint("striping_unit", bytes, "multiples of 65536 bytes below 4 GiB on Lustre")),
        _ => Err(Error::hint("striping_unit", bytes, "1 to 4294967295 bytes with the Lustre driver")),
    }
}

/// Whether the file is on Lustre, and not only taken as if it were.
fn is_real(path: &Path) -> bool {
    file_system(path).is_some_and(|found| found.magic == MAGIC)
}

/// Makes the file with a layout, unless it is there already; where the layout is refused, the new file is removed.
fn create_striped(path: &Path, unit: Option<u32>, count: Option<u32>) -> Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o644).custom_flags(DELAY_CREATE);
    let file = match options.open(path) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        opened => opened.map_err(|cause| Error::io(0, "open", path, 0, &cause))?,
    };
    let request = lov::request(unit, count.and_then(|count| u16::try_from(count).ok()));
    // SAFETY: the descriptor is open; the call reads the 32 bytes of the request, which outlive it, and keeps nothing.
    let set = unsafe { set_stripe(file.as_raw_fd(), &request) };
    set.map(|_| ()).map_err(|cause| {
        // The file is of no use to anybody; that it stays where even removing fails is told by the first error well enough.
        let _ = std::fs::remove_file(path);
        Error::io(0, "setstripe", path, 0, &cause.into())
    })
}

/// The layout that the file tells; a warning when it is none that can be used as it is.
fn told(file: &File, path: &Path) -> Option<Stripes> {
    let path = path.display();
    match attribute(file) {
        Err(cause) => {
            tracing::warn!(%path, %cause, "the stripes of the file cannot be read; stripes of 1 MiB are assumed");
            None
        }
        Ok(bytes) => match lov::read(&bytes) {
            Err(cause) => {
                tracing::warn!(%path, cause, "the stripes of the file are not understood; stripes of 1 MiB are assumed");
                None
            }
            Ok(stripes) => {
                if stripes.components > 1 {
                    tracing::warn!(%path, ?stripes, "a composite layout: its component with most stripes is taken for all");
                }
                Some(stripes)
            }
        },
    }
}

fn attribute(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0u8; LONGEST];
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: the descriptor is open, the name ends with a zero, and at most `bytes.len()` bytes are written to `bytes`.
    let len = unsafe { libc::fgetxattr(fd, c"lustre.lov".as_ptr(), bytes.as_mut_ptr().cast(), bytes.len()) };
    bytes.truncate(usize::try_from(len).map_err(|_| io::Error::last_os_error())?);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_that_is_refused_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        if super::super::detect(dir.path()) == DriverName::Lustre {
            return; // It would not be refused.
        }
        let path = dir.path().join("new");
        let error = create_striped(&path, Some(1 << 20), Some(4)).unwrap_err();
        assert!(matches!(&error, Error::Io { operation, .. } if operation == "setstripe"), "{error}");
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_is_there_keeps_its_layout_and_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("old");
        std::fs::write(&path, "kept").unwrap();
        create_striped(&path, Some(1 << 20), Some(4)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"kept");
        let real = super::super::detect(&path) == DriverName::Lustre;
        assert_eq!(told(&File::open(&path).unwrap(), &path).is_some(), real);
    }

    #[test]
    fn stripe_sizes() {
        let unit = |text: &str, real| hinted_unit(&Hints::parse(text).unwrap(), real);
        assert_eq!(unit("", true), Ok(None));
        assert_eq!(unit("striping_unit=64k", true), Ok(Some(65_536)));
        assert_eq!(unit("striping_unit=10", false), Ok(Some(10)));
        for (text, real) in [("striping_unit=10", true), ("striping_unit=4G", true), ("striping_unit=4G", false)] {
            assert!(matches!(unit(text, real), Err(Error::Hint { .. })), "{text}");
        }
    }

    #[test]
    fn rounds() {
        let stripes = |layout: Layout, aggregators, text: &str| {
            let written = Written { start: 5, end: 7, histogram: &[] };
            match Lustre.domains(&layout, aggregators, written, &Hints::parse(text).unwrap()) {
                Domains::Cyclic { stripe, aggregators: a, stripes } => {
                    assert_eq!((stripe, a), (layout.unit, aggregators as u64));
                    stripes
                }
                other => panic!("{other:?}"),
            }
        };
        let cori = Layout { unit: 1 << 20, factor: 64 };
        assert_eq!(stripes(cori, 64, ""), 16);
        assert_eq!(stripes(cori, 64, "cb_buffer_size=1M"), 1);
        assert_eq!(stripes(cori, 64, "cb_buffer_size=512k"), 1);
        assert_eq!(stripes(cori, 64, "cb_buffer_size=2500k"), 2);
        // 2^62 bytes for each of 64 aggregators do not fit offsets.
        assert_eq!(stripes(cori, 64, "cb_buffer_size=4194304T"), 1 << 36);
    }
}
