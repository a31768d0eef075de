//! Tests what every driver must do, whatever the hints, topology and bytes written.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use proptest::prelude::*;

use crate::error::{FileOperation, IoClass};
use crate::hostile::{Fault, Hostile};
use crate::*;

fn names() -> impl Iterator<Item = DriverName> {
    DriverName::ALL.iter().copied().filter(|name| *name != DriverName::Auto)
}

fn every_driver() -> impl Iterator<Item = (DriverName, Box<dyn Driver>)> {
    names().map(|name| (name, driver(name, Path::new("unused"))))
}

/// Returns the layout of a file; creates the file if it does not exist.
fn made(driver: &dyn Driver, path: &Path, hints: &DriverHints) -> Layout {
    let file = create(&SystemFiles, path, hints).unwrap();
    driver.layout(&SystemFiles, path, &*file, hints).unwrap()
}

#[test]
fn names_and_detection() {
    // A file that is not there yet is on the file system of its directory.
    let dir = tempfile::tempdir().unwrap();
    let here = Path::new(".");
    for (path, like) in [(&*dir.path().join("new"), dir.path()), (Path::new("new"), here), (Path::new(""), here)] {
        assert_eq!(detect(path), detect(like), "{path:?}");
        assert_eq!(DriverName::Auto.resolved(&SystemFiles, path), detect(like), "{path:?}");
        assert_eq!(SystemFiles.file_system(path), SystemFiles.file_system(like), "{path:?}");
    }
    assert_eq!(detect(Path::new("/nowhere/at/all")), DriverName::Posix);
    // A link to a file that is not there yet, and a link to a link.
    let links = ["absolute", "relative", "circle"].map(|name| dir.path().join(name));
    for (link, target) in links.iter().zip(["/proc/self/none", "absolute", "circle"]) {
        std::os::unix::fs::symlink(target, link).unwrap();
    }
    let found = links.map(|link| SystemFiles.file_system(&link));
    let [there, here] = ["/proc/self", "."].map(|path| SystemFiles.file_system(&dir.path().join(path)));
    assert_eq!(found, [there, there, here]);
    assert_ne!(there, here);
}

#[test]
fn what_is_known_of_a_file_depends_on_its_file_system() {
    let known = |magic| {
        let found = FileSystem { magic, block: 0, is_daos: false };
        (found.knows_size(), found.knows_data())
    };
    for exact in [0xEF53, 0x5846_5342, 0x0102_1994] {
        assert_eq!(known(exact), (true, true), "{exact:#x}");
    }
    for size in [0x0BD0_0BD0, 0x4750_4653, 0x9123_683E, 0xF2F5_2010, 0x2FC1_2FC1, 0x794C_7630] {
        assert_eq!(known(size), (true, false), "{size:#x}");
    }
    // NFS, FUSE, SMB, 9P, BeeGFS, OrangeFS, CephFS, and an unknown type.
    for nothing in [0x6969, 0x6573_5546, 0xFE53_4D42, 0x0102_1997, 0x1983_0326, 0x2003_0528, 0x00C3_6400, 0] {
        assert_eq!(known(nothing), (false, false), "{nothing:#x}");
    }
}

#[test]
fn creating_makes_a_file_and_keeps_one() {
    let dir = tempfile::tempdir().unwrap();
    for (name, driver) in every_driver() {
        let path = dir.path().join(name.to_string());
        let first = made(&*driver, &path, &DriverHints::default());
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & !0o666, 0, "{mode:o}");
        assert_ne!(mode & 0o400, 0, "{mode:o}");
        std::fs::write(&path, "kept").unwrap();
        assert_eq!(made(&*driver, &path, &DriverHints::default()), first);
        assert_eq!(std::fs::read(&path).unwrap(), b"kept");
        let hints = DriverHints { striping_unit: Some(131_072), striping_factor: Some(7), ..DriverHints::default() };
        let hinted = made(&*driver, &path, &hints);
        assert_eq!(hinted.unit, 131_072);
        assert_eq!(hinted.factor, if name == DriverName::Lustre { 7 } else { 1 });
    }
}

#[test]
fn defaults_without_hints_and_without_a_reported_size() {
    let dir = tempfile::tempdir().unwrap();
    if detect(dir.path()) != DriverName::Posix {
        return; // The file system reports a preferred size.
    }
    let layout = |name| made(&*driver(name, dir.path()), &dir.path().join("file"), &DriverHints::default());
    assert_eq!(layout(DriverName::Lustre), Layout::of(1 << 20, 0));
    assert_eq!(layout(DriverName::Gpfs), Layout::of(1 << 20, 1));
    assert!(layout(DriverName::Posix).unit.is_power_of_two());
}

#[test]
fn a_path_that_cannot_be_opened_is_named() {
    for (path, wanted) in [("/nowhere/file", IoClass::NoSuchFile), ("/", IoClass::BadFile)] {
        match create(&SystemFiles, Path::new(path), &DriverHints::default()).err().unwrap() {
            Error::Io { rank: 0, operation, path: named, offset: None, class, .. } => {
                assert_eq!((operation, named.as_str(), class), (FileOperation::Open, path, wanted));
            }
            other => panic!("{other}"),
        }
    }
}

/// The file is created through the storage only: if the storage fails, so does `create`, and no file exists.
#[test]
fn a_file_that_cannot_be_made() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    for hints in [DriverHints::default(), DriverHints { striping_factor: Some(2), ..DriverHints::default() }] {
        for files in [Hostile::new(Fault::Create(libc::EDQUOT)), Hostile::lustre(Fault::Create(libc::EDQUOT))] {
            let error = create(&files, &path, &hints).err().unwrap();
            assert!(matches!(&error, Error::Io { rank: 0, class: IoClass::Quota, .. }), "{error}");
            assert!(error.to_string().contains("open of"), "{error}");
            assert!(!path.exists());
        }
    }
}

#[test]
fn a_file_system_is_what_the_storage_says() {
    let files = Hostile::lustre(Fault::None);
    assert_eq!(detect_on(&files, Path::new(".")), DriverName::Lustre);
    let named = |name: DriverName| name.resolved(&files, Path::new("."));
    assert_eq!([DriverName::Auto, DriverName::Gpfs].map(named), [DriverName::Lustre, DriverName::Gpfs]);
    let of_auto = driver_on(&files, DriverName::Auto, Path::new("."));
    assert_eq!(of_auto.magic(), Some(0x0BD0_0BD0));
}

/// Drivers choose one aggregator per node; GPFS chooses two and NFS four if there are several nodes and no placement is
/// hinted.
#[test]
fn aggregators_of_nodes() {
    let layout = Layout::of(1 << 20, 0);
    let several = Topology::blocks(12, 4).unwrap();
    let count = |name, topology: &Topology, hints: &DriverHints| {
        driver(name, Path::new("")).aggregators(topology, &layout, hints).unwrap()
    };
    let (default, most) = (DriverHints::default(), DriverHints { cb_config_list: Some(1), ..DriverHints::default() });
    let strided = DriverHints { placement: Placement::Stride(4), ..DriverHints::default() };
    for name in [DriverName::Posix, DriverName::Lustre] {
        assert_eq!(count(name, &several, &default), [0, 4, 8]);
    }
    assert_eq!(count(DriverName::Gpfs, &several, &default), [0, 1, 4, 5, 8, 9]);
    assert_eq!(count(DriverName::Nfs, &Topology::blocks(12, 6).unwrap(), &default), [0, 1, 2, 3, 6, 7, 8, 9]);
    for name in [DriverName::Gpfs, DriverName::Nfs] {
        for hints in [&most, &strided] {
            assert_eq!(count(name, &several, hints), [0, 4, 8]);
        }
        assert_eq!(count(name, &Topology::blocks(12, 12).unwrap(), &default), [0]);
        assert_eq!(count(name, &Topology::blocks(3, 1).unwrap(), &default), [0, 1, 2]);
    }
}

#[test]
fn windows_hold_whole_units() {
    let written = Written { start: 0, end: 100, bytes: 100, histogram: &[] };
    let window = |cb_buffer_size, unit| {
        let hints = DriverHints { cb_buffer_size, ..DriverHints::default() };
        match driver(DriverName::Gpfs, Path::new("")).domains(&Layout::of(unit, 1), 2, written, &hints) {
            Domains::Ranges { window, .. } => window,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(window(DriverHints::default().cb_buffer_size, 1 << 20), 16 << 20);
    assert_eq!(window(25, 10), 20);
    assert_eq!(window(7, 10), 7);
}

proptest! {
    /// Every byte below `end` has one owner among the aggregators, and a window that is not longer than allowed.
    #[test]
    fn domains_divide_the_file(
        start in 0u64..200, len in 1u64..200, unit in 1u64..40, buffer in 1u64..60, aggregators in 1usize..9,
        histogram in prop::collection::vec(0u64..9, 1..12)
    ) {
        let hints = DriverHints { cb_buffer_size: buffer, ..DriverHints::default() };
        let layout = Layout::of(unit, 3);
        for (name, driver) in every_driver() {
            let histogram = if driver.wants_histogram() { &histogram[..] } else { &[] };
            let written = Written { start, end: start + len, bytes: len, histogram };
            let domains = driver.domains(&layout, aggregators, written, &hints);
            prop_assert_eq!(domains.aggregators(), aggregators);
            for offset in start..start + len {
                let (owner, until) = domains.owner(offset);
                prop_assert!(owner < aggregators && until > offset);
                let window = domains.window(owner, offset);
                prop_assert!(window.start <= offset && offset < window.end);
                let most = if name == DriverName::Lustre { buffer.max(unit) } else { buffer };
                prop_assert!(window.len() <= most, "{:?} {:?}", name, window);
                // Inside the written range, ownership changes at multiples of the unit only.
                prop_assert!(until % unit == 0 || until >= start + len);
            }
        }
    }

    /// Nothing overflows with offsets up to the maximum of a file and hints up to the allowed maximum.
    #[test]
    fn nothing_overflows(
        end in prop::sample::select(vec![1u64, 1 << 40, i64::MAX as u64]), back in 1u64..5000, aggregators in 1usize..5000,
        unit in prop::sample::select(vec![1u64, 10, 1 << 20, u32::MAX.into(), 1 << 62]),
        buffer in prop::sample::select(vec![1u64, 1 << 24, 1 << 62])
    ) {
        let hints = DriverHints { cb_buffer_size: buffer, ..DriverHints::default() };
        let start = end.saturating_sub(back);
        // Lustre stores the stripe size in 32 bits, so its driver makes no layout with larger stripes.
        let longest = |name| if name == DriverName::Lustre { u32::MAX.into() } else { u64::MAX };
        for (_, driver) in every_driver().filter(|(name, _)| unit <= longest(*name)) {
            let written = Written { start, end, bytes: 3, histogram: &[1, 0, 2] };
            let domains = driver.domains(&Layout::of(unit, 1), aggregators, written, &hints);
            let (owner, until) = domains.owner(end - 1);
            prop_assert!(until >= end.min(start + 1));
            let window = domains.window(owner, end - 1);
            prop_assert!(window.start < end && end <= window.end);
        }
    }

    /// All drivers respect `cb_nodes` and `cb_config_list`.
    #[test]
    fn counts_are_kept(
        ranks in 1usize..100, per_node in 1usize..20, count in 1usize..120, most in 1usize..5, factor in 0u32..90
    ) {
        let topology = Topology::blocks(ranks, per_node).unwrap();
        let layout = Layout::of(1, factor);
        let hints = DriverHints { cb_nodes: Some(count), cb_config_list: Some(most), ..DriverHints::default() };
        let room: usize = (0..topology.nodes()).map(|node| topology.ranks_on(node).min(most)).sum();
        for (_, driver) in every_driver() {
            prop_assert_eq!(driver.aggregators(&topology, &layout, &hints).unwrap().len(), count.min(room));
        }
    }
}
