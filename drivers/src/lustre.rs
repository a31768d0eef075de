//! The driver for Lustre: stripe `s` belongs to aggregator `s mod A`, so that each server's locks go to few clients
//! (main paper, figure 2 (a)). By default there are as many aggregators as stripes, and nodes provide them in turn.

use std::ffi::CStr;
use std::io;
use std::path::Path;

use tributary_base::error::FileOperation;
use tributary_base::{Error, Extent, Rank, Result, Topology};

use crate::domains::Domains;
use crate::driver::{Driver, Layout, Written, window};
use crate::hints::DriverHints;
use crate::lov::{self, Stripes};
use crate::placement;
use crate::storage::{FileSystem, Mode, OpenStorage, Storage, StripeRequest};

/// Type that statfs(2) returns for Lustre.
pub(crate) const MAGIC: u32 = FileSystem::LUSTRE;

/// Stripe size if no hint sets one and the file has none, in bytes: Lustre's own default.
const UNIT: u64 = 1 << 20;
/// Granularity of stripe sizes in bytes: Lustre accepts only multiples of it.
const GRAIN: u64 = 1 << 16;
/// Maximum number of bytes that all aggregators together hold in one round, so that offsets of windows do not overflow.
const FARTHEST: u64 = 1 << 62;
/// Name of the extended attribute that describes a file's stripes.
pub(crate) const ATTRIBUTE: &CStr = c"lustre.lov";

/// Number of the group lock that aggregators take: the same on all of them.
const GROUP: u32 = u32::from_be_bytes(*b"trib");

pub struct Lustre;

impl Driver for Lustre {
    fn magic(&self) -> Option<u32> {
        Some(MAGIC)
    }

    fn is_striped(&self) -> bool {
        true
    }

    fn lay_out(&self, files: &dyn OpenStorage, path: &Path, hints: &DriverHints) -> Result<()> {
        if hints.asks_for_stripes() && is_real(files, path) { create_striped(files, path, hints) } else { Ok(()) }
    }

    /// Takes the stripes of the file, or else the stripes of the hints, or else stripes of 1 MiB over an unknown number of
    /// servers (factor 0).
    fn layout(&self, files: &dyn OpenStorage, path: &Path, file: &dyn Storage, hints: &DriverHints) -> Result<Layout> {
        let is_real = is_real(files, path);
        let layout = match is_real.then(|| stripes_of(file, path)).flatten() {
            Some(Stripes { unit, count, components }) => Layout { components, ..Layout::of(unit.into(), count.into()) },
            None => {
                let unit = hinted_unit(hints, false)?.map_or(UNIT, u64::from);
                Layout::of(unit, hints.striping_factor.unwrap_or(0))
            }
        };
        // A group lock belongs to one handle; direct writes use another handle, which would wait for the lock.
        let direct_from = hints.direct_from(is_real).filter(|_| !hints.announces_writes);
        Ok(Layout { direct_from, ..layout })
    }

    /// Chooses as many aggregators as stripes; if the stripe count is not known, one per node.
    fn aggregators(&self, topology: &Topology, layout: &Layout, hints: &DriverHints) -> Result<Vec<Rank>> {
        let wanted = match layout.factor {
            0 => placement::per_node(topology, hints, 1),
            stripes => stripes as usize,
        };
        placement::choose(topology, hints, wanted)
    }

    /// Returns the stripe size, in bytes.
    fn lock_unit(&self, layout: &Layout) -> u64 {
        layout.unit
    }

    /// Returns the number of bytes after which both the order of servers and the order of aggregators repeat: the stripe
    /// size times the least common multiple of the stripe count and the number of aggregators.
    fn period(&self, layout: &Layout, aggregators: usize) -> u64 {
        let (servers, aggregators) = (u64::from(layout.factor.max(1)), aggregators as u64);
        let common =
            (1..=servers.min(aggregators)).rev().find(|n| servers % n == 0 && aggregators % n == 0).unwrap_or(1);
        layout.unit.saturating_mul(servers / common).saturating_mul(aggregators)
    }

    /// Takes the file's group lock, so that aggregators do not take each other's locks away.
    fn will_write(&self, file: &dyn Storage, _: Extent) -> io::Result<()> {
        file.control().lock_for_group(GROUP, true)
    }

    fn has_written(&self, file: &dyn Storage, _: Extent) {
        // Closing the file releases the lock too; nothing else can be done about an error.
        let _ = file.control().lock_for_group(GROUP, false);
    }

    /// Gives stripes to aggregators in turn. A large dense write whose windows go past the cache of the clients is
    /// divided into contiguous ranges of whole stripes instead: no client takes a lock for these writes, and each
    /// goes to several servers at once.
    fn domains(&self, layout: &Layout, aggregators: usize, written: Written<'_>, hints: &DriverHints) -> Domains {
        let Written { start, end, bytes, .. } = written;
        if let Some(from) = layout.direct_from {
            let is_dense = bytes >= end.saturating_sub(start) / 8 * 7;
            if is_dense && bytes / aggregators as u64 >= from {
                let window = window(layout, hints).max(from.next_multiple_of(layout.unit));
                return Domains::equal_blocks(start, end, layout.unit, aggregators, window);
            }
        }
        let aggregators = aggregators as u64;
        let held = hints.cb_buffer_size / layout.unit;
        let stripes = held.min(FARTHEST / layout.unit.saturating_mul(aggregators)).max(1);
        Domains::Cyclic { stripe: layout.unit, aggregators, stripes }
    }
}

/// Returns the hinted stripe size in bytes. Lustre takes 32 bits, and a real Lustre takes only multiples of [`GRAIN`].
fn hinted_unit(hints: &DriverHints, real: bool) -> Result<Option<u32>> {
    let Some(bytes) = hints.striping_unit else { return Ok(None) };
    match u32::try_from(bytes) {
        Ok(unit) if !real || bytes % GRAIN == 0 => Ok(Some(unit)),
        _ if real => Err(Error::hint("striping_unit", bytes, "multiples of 65536 bytes below 4 GiB on Lustre")),
        _ => Err(Error::hint("striping_unit", bytes, "1 to 4294967295 bytes with the Lustre driver")),
    }
}

/// Returns true if the file is really on Lustre; false if a hint selected this driver on another file system.
fn is_real(files: &dyn OpenStorage, path: &Path) -> bool {
    files.file_system(path).is_some_and(|found| found.magic == MAGIC)
}

/// Creates the file with the hinted layout, unless it exists. If Lustre refuses more stripes than servers, the file gets
/// that number of stripes on servers that Lustre chooses. If Lustre refuses these too, the file stays, without the layout:
/// another process may have opened the file meanwhile.
fn create_striped(files: &dyn OpenStorage, path: &Path, hints: &DriverHints) -> Result<()> {
    let request = match request(hints) {
        Err(_) if files.open(path, Mode::Read).is_ok() => return Ok(()),
        request => request?,
    };
    let there_already = |cause: &io::Error| cause.kind() == io::ErrorKind::AlreadyExists;
    let file = match files.create_without_stripes(path) {
        Err(cause) if there_already(&cause) => return Ok(()),
        made => made.map_err(|cause| Error::io(0, FileOperation::Open, path, None, &cause))?,
    };
    let striped = match file.control().set_stripes(&request) {
        // Lustre refuses this before version 2.13, or if it has fewer servers than the hints ask for.
        Err(cause) if hints.overstriping_ratio > 1 && !there_already(&cause) => {
            file.control().set_stripes(&self::request(&DriverHints { overstriping_ratio: 1, ..hints.clone() })?)
        }
        striped => striped,
    };
    match striped {
        // Another process has opened the file meanwhile. That open gave the file its stripes.
        Err(cause) if there_already(&cause) => Ok(()),
        striped => striped.map_err(|cause| Error::io(0, FileOperation::SetStripes, path, None, &cause)),
    }
}

/// Returns the hinted layout in the bytes that Lustre takes.
fn request(hints: &DriverHints) -> Result<StripeRequest> {
    let (unit, first) = (hinted_unit(hints, true)?, hints.start_iodevice);
    let count = hints.striping_factor.and_then(|count| u16::try_from(count).ok());
    Ok(match (count, hints.overstriping_ratio) {
        (Some(count), ratio) if ratio > 1 && count > 1 => {
            lov::overstriped(unit, count, (first.unwrap_or(0), (count / ratio).max(1)))
        }
        _ => lov::request(unit, count, first),
    })
}

/// Returns the stripes of the file; None, and a warning in the log, if the file has no layout that can be used.
fn stripes_of(file: &dyn Storage, path: &Path) -> Option<Stripes> {
    let path = path.display();
    match file.control().attribute(ATTRIBUTE) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hostile::{Fault, Hostile};
    use crate::registry::{create, lay_out};
    use crate::system::SystemFiles;

    fn units(striping_unit: Option<u64>) -> DriverHints {
        DriverHints { striping_unit, striping_factor: striping_unit.map(|_| 4), ..DriverHints::default() }
    }

    /// A new file has the stripes of the hints, and keeps them at the next open.
    #[test]
    fn a_new_file_gets_the_hinted_stripes() {
        let dir = tempfile::tempdir().unwrap();
        let (path, files) = (dir.path().join("new"), Hostile::lustre(Fault::None));
        let hints = units(Some(2 << 20));
        let file = create(&files, &path, &hints).unwrap();
        let layout = Layout { direct_from: Some(4 << 20), ..Layout::of(2 << 20, 4) };
        assert_eq!(Lustre.layout(&files, &path, &*file, &hints), Ok(layout));
        std::fs::write(&path, "kept").unwrap();
        // Hints do not change the stripes of an existing file, and an impossible hint is no error for such a file.
        for other in [1 << 20, 10] {
            let other = units(Some(other));
            let second = create(&files, &path, &other).unwrap();
            assert_eq!(Lustre.layout(&files, &path, &*second, &other), Ok(layout));
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"kept");
    }

    /// The file system decides whether stripes are set, not the driver that a hint names.
    #[test]
    fn the_first_server_is_a_layout() {
        let dir = tempfile::tempdir().unwrap();
        let (path, files) = (dir.path().join("new"), Hostile::lustre(Fault::None));
        let hints = DriverHints { start_iodevice: Some(7), ..DriverHints::default() };
        let file = create(&files, &path, &hints).unwrap();
        assert_eq!(file.control().attribute(ATTRIBUTE).unwrap(), lov::request(None, None, Some(7)).0);
        lay_out(&Hostile::new(Fault::Stripes(libc::EIO)), &dir.path().join("elsewhere"), &hints).unwrap();
        assert!(!dir.path().join("elsewhere").exists());
    }

    /// 8 stripes, of which a server gets 3, lie on 2 servers; one stripe, or no number of them, is no overstriping.
    #[test]
    fn a_server_gets_as_many_stripes_as_the_hint_says() {
        let dir = tempfile::tempdir().unwrap();
        let hints = |striping_factor, overstriping_ratio| DriverHints {
            striping_factor,
            overstriping_ratio,
            start_iodevice: Some(5),
            ..DriverHints::default()
        };
        for (hints, due) in [
            (hints(Some(8), 3), lov::overstriped(None, 8, (5, 2))),
            (hints(Some(2), 4), lov::overstriped(None, 2, (5, 1))),
            (hints(Some(8), 1), lov::request(None, Some(8), Some(5))),
            (hints(Some(1), 4), lov::request(None, Some(1), Some(5))),
            (hints(None, 4), lov::request(None, None, Some(5))),
        ] {
            let (path, files) = (dir.path().join(format!("{hints:?}")), Hostile::lustre(Fault::None));
            let file = create(&files, &path, &hints).unwrap();
            assert_eq!(file.control().attribute(ATTRIBUTE).unwrap(), due.0, "{hints:?}");
        }
    }

    #[test]
    fn unknown_stripes_are_assumed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, files) = (dir.path().join("new"), Hostile::lustre(Fault::None));
        let file = create(&files, &path, &units(None)).unwrap();
        let hints = DriverHints { direct_write: Some(false), ..units(None) };
        assert_eq!(Lustre.layout(&files, &path, &*file, &hints), Ok(Layout::of(1 << 20, 0)));
    }

    #[test]
    fn a_layout_that_is_refused_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new");
        let refused = |fault, unit| {
            let error = create(&Hostile::lustre(fault), &path, &units(Some(unit))).err().unwrap();
            assert!(!path.exists());
            error
        };
        let error = refused(Fault::Stripes(libc::ENOSPC), 1 << 20);
        assert!(matches!(&error, Error::Io { operation: FileOperation::SetStripes, .. }), "{error}");
        assert!(matches!(refused(Fault::None, 10), Error::Hint { .. }));
    }

    /// Another process (of a second job, or a rank with an independent open) opens the file between our two calls.
    #[test]
    fn a_file_that_another_opens_meanwhile_is_left_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new");
        lay_out(&Hostile::lustre(Fault::Stripes(libc::EEXIST)), &path, &units(Some(1 << 20))).unwrap();
        assert!(path.exists());
    }

    /// Makes the system call on a file system that has no stripes.
    #[test]
    fn the_system_refuses_stripes_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        if is_real(&SystemFiles, dir.path()) {
            return; // A real Lustre does not refuse.
        }
        let path = dir.path().join("new");
        let error = create_striped(&SystemFiles, &path, &units(Some(1 << 20))).unwrap_err();
        assert!(matches!(&error, Error::Io { operation: FileOperation::SetStripes, .. }), "{error}");
        assert!(path.exists(), "nobody else has its file taken away");
    }

    #[test]
    fn a_file_that_is_there_keeps_its_layout_and_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("old");
        std::fs::write(&path, "kept").unwrap();
        create_striped(&SystemFiles, &path, &units(Some(1 << 20))).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"kept");
        let real = is_real(&SystemFiles, &path);
        assert_eq!(stripes_of(&*SystemFiles.open(&path, Mode::Read).unwrap(), &path).is_some(), real);
    }

    #[test]
    fn stripe_sizes() {
        let unit = |bytes, real| hinted_unit(&units(bytes), real);
        assert_eq!(unit(None, true), Ok(None));
        assert_eq!(unit(Some(65_536), true), Ok(Some(65_536)));
        assert_eq!(unit(Some(10), false), Ok(Some(10)));
        for (bytes, real) in [(10, true), (4 << 30, true), (4 << 30, false)] {
            assert!(matches!(unit(Some(bytes), real), Err(Error::Hint { .. })), "{bytes}");
        }
    }

    /// Ranges are used only if windows go past the cache, and are large and full enough.
    #[test]
    fn large_dense_writes_are_divided_in_ranges() {
        let domains = |direct_from, bytes, span| {
            let layout = Layout { direct_from, ..Layout::of(3 << 20, 4) };
            let written = Written { start: 5, end: 5 + span, bytes, histogram: &[] };
            match Lustre.domains(&layout, 4, written, &DriverHints::default()) {
                Domains::Ranges { bounds, window } => Some((bounds[1], window)),
                Domains::Cyclic { .. } => None,
            }
        };
        let gib = 1 << 30;
        assert_eq!(domains(None, gib, gib), None);
        assert_eq!(domains(Some(4 << 20), gib, gib), Some((86 * (3 << 20), 15 << 20)));
        assert_eq!(domains(Some(4 << 20), gib / 2, gib), None, "half of it are holes");
        assert_eq!(domains(Some(4 << 20), 15 << 20, 15 << 20), None, "less than 4 MiB for each");
        assert_eq!(domains(Some(20 << 20), gib, gib), Some((86 * (3 << 20), 21 << 20)));
    }

    #[test]
    fn rounds() {
        let stripes = |cb_buffer_size| {
            let layout = Layout::of(1 << 20, 64);
            let written = Written { start: 5, end: 7, bytes: 2, histogram: &[] };
            match Lustre.domains(&layout, 64, written, &DriverHints { cb_buffer_size, ..DriverHints::default() }) {
                Domains::Cyclic { stripe, aggregators, stripes } => {
                    assert_eq!((stripe, aggregators), (1 << 20, 64));
                    stripes
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(stripes(DriverHints::default().cb_buffer_size), 16);
        assert_eq!(stripes(1 << 20), 1);
        assert_eq!(stripes(512 << 10), 1);
        assert_eq!(stripes(2500 << 10), 2);
        // 2^62 bytes for each of 64 aggregators do not fit offsets.
        assert_eq!(stripes(1 << 62), 1 << 36);
    }
}
