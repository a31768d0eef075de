//! Tests a file system whose hosts cache by themselves (NFS, FUSE): MPI's promises hold there too. A file system in
//! memory stands in for it, which has only close-to-open consistency: a host's bytes reach the server when a handle
//! is closed, settled or synced, and a host sees the bytes of others when it opens the file. As NFS does, it writes
//! whole pages with their old contents, unless a handle goes past its cache.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use rand::{RngExt, SeedableRng, rngs::SmallRng};
use tributary::drivers::{FileControl, FileSystem, OpenStorage, Storage};
use tributary::engine::{Direction, binding};
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Error, Extent, Extents, File, Hints, Mode};
use tributary_testing::watchdog::Watchdog;

const RANKS: usize = 6;
const CELLS: usize = 40;
/// Size of a cell in bytes: odd, so that no cell ends where a domain or a window ends.
const CELL: u64 = 97;
/// Size of a page in bytes, which a host writes as a whole on NFS: cells share pages.
const PAGE: usize = 256;
const NFS: u32 = 0x6969;
const FUSE: u32 = 0x6573_5546;
const EXT4: u32 = 0xEF53;

/// The bytes on the server, and the bytes that are on stable storage.
type Server = Arc<Mutex<Bytes>>;

#[derive(Default)]
struct Bytes {
    seen: Vec<u8>,
    stored: Vec<u8>,
}

/// The file as one host's cache has it.
#[derive(Default)]
struct Cache {
    seen: Vec<u8>,
    /// Bytes written on this host that are not on the server yet: offset and bytes.
    ahead: Vec<(u64, Vec<u8>)>,
    /// Ranges written on this host that are not on stable storage yet: offset and length.
    unstored: Vec<(u64, usize)>,
}

/// The file system's client on a host.
#[derive(Clone)]
struct Client {
    server: Server,
    cache: Arc<Mutex<Cache>>,
    magic: u32,
}

fn put(into: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let end = offset as usize + bytes.len();
    into.resize(into.len().max(end), 0);
    into[offset as usize..end].copy_from_slice(bytes);
}

impl Client {
    fn file_system(&self) -> FileSystem {
        FileSystem { magic: self.magic, block: 4096, is_daos: false }
    }

    fn pass_on(&self) {
        let (mut cache, mut server) = (self.cache.lock().unwrap(), self.server.lock().unwrap());
        let ahead = std::mem::take(&mut cache.ahead);
        ahead.iter().for_each(|(offset, bytes)| put(&mut server.seen, *offset, bytes));
        cache.unstored.extend(ahead.into_iter().map(|(offset, bytes)| (offset, bytes.len())));
    }
}

impl OpenStorage for Client {
    fn open(&self, _path: &Path, _mode: Mode) -> io::Result<Box<dyn Storage>> {
        self.pass_on();
        let (mut cache, server) = (self.cache.lock().unwrap(), self.server.lock().unwrap());
        let Cache { seen, ahead, .. } = &mut *cache;
        seen.clone_from(&server.seen);
        // What another rank of the host has written meanwhile.
        ahead.iter().for_each(|(offset, bytes)| put(seen, *offset, bytes));
        drop((cache, server));
        Ok(Box::new(Handle { client: self.clone(), is_direct: AtomicBool::new(false) }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Storage>> {
        self.open(path, Mode::Create)
    }

    fn file_system(&self, _path: &Path) -> Option<FileSystem> {
        Some(Self::file_system(self))
    }
}

struct Handle {
    client: Client,
    /// True if calls go past the cache.
    is_direct: AtomicBool,
}

impl Storage for Handle {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut cache = self.client.cache.lock().unwrap();
        put(&mut cache.seen, offset, bytes);
        if self.is_direct.load(Relaxed) {
            put(&mut self.client.server.lock().unwrap().seen, offset, bytes);
            cache.unstored.push((offset, bytes.len()));
            return Ok(bytes.len());
        }
        let (mut start, mut end) = (offset as usize, offset as usize + bytes.len());
        if self.client.file_system().writes_whole_pages() {
            (start, end) = (start / PAGE * PAGE, end.next_multiple_of(PAGE).min(cache.seen.len()));
        }
        let bytes_out = cache.seen[start..end].to_vec();
        cache.ahead.push((start as u64, bytes_out));
        Ok(bytes.len())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut cache = self.client.cache.lock().unwrap();
        if self.is_direct.load(Relaxed) {
            cache.seen.clone_from(&self.client.server.lock().unwrap().seen);
        }
        let there = cache.seen.get(offset as usize..).unwrap_or_default();
        let count = bytes.len().min(there.len());
        bytes[..count].copy_from_slice(&there[..count]);
        Ok(count)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.client.cache.lock().unwrap().seen.len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.client.pass_on();
        let mut server = self.client.server.lock().unwrap();
        server.seen.resize(len as usize, 0);
        server.stored.resize(len as usize, 0);
        drop(server);
        self.client.cache.lock().unwrap().seen.resize(len as usize, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.client.pass_on();
        let (mut cache, mut server) = (self.client.cache.lock().unwrap(), self.client.server.lock().unwrap());
        let unstored = std::mem::take(&mut cache.unstored);
        let Bytes { seen, stored } = &mut *server;
        for (offset, len) in unstored {
            put(stored, offset, &seen[offset as usize..][..len]);
        }
        Ok(())
    }

    fn control(&self) -> &dyn FileControl {
        self
    }
}

impl FileControl for Handle {
    fn settle(&self) -> io::Result<()> {
        self.client.pass_on();
        Ok(())
    }

    fn see_other_hosts(&self) -> io::Result<()> {
        self.is_direct.store(self.client.file_system().writes_whole_pages(), Relaxed);
        Ok(())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.client.pass_on();
    }
}

/// Runs a random program on the file at `path`, the same on all ranks: cells change their owner only at a sync, so MPI
/// defines the bytes that every read gets. `stored` returns the bytes that must be in the file after a sync, and `closed`
/// those after the close. Returns the number of reads that got other bytes on this rank.
pub fn random_program(
    endpoint: Endpoint,
    (files, path): (Arc<dyn OpenStorage>, &Path),
    hints: &str,
    seed: u64,
    (stored, closed): (impl Fn() -> Vec<u8>, impl Fn() -> Vec<u8>),
) -> (Endpoint, usize) {
    let (rank, mut random) = (endpoint.rank(), SmallRng::seed_from_u64(seed));
    let hints = Hints::parse(&format!("cb_nodes=3;cb_buffer_size=500;{hints}")).unwrap();
    let mut file = File::open_on(endpoint, path, Mode::Create, hints, files).unwrap();
    let mut expected = vec![0u8; CELLS * CELL as usize];
    let ranks = file.endpoint().ranks();
    let mut owners = vec![0usize; CELLS];
    let mut wrong = 0;
    let extents = |cells: &[usize]| {
        Extents::from_extents(cells.iter().map(|&cell| Extent { offset: cell as u64 * CELL, len: CELL })).unwrap()
    };
    let of = |expected: &[u8], cells: &[usize]| -> Vec<u8> {
        cells.iter().flat_map(|&cell| expected[cell * CELL as usize..][..CELL as usize].to_vec()).collect()
    };
    for step in 0..60u8 {
        if step % 15 == 0 {
            file.sync().unwrap();
            owners.iter_mut().for_each(|owner| *owner = random.random_range(0..ranks));
            // Written at once by the new owner, so that what it reads is its own.
            expected.fill(step + 1);
            let own: Vec<_> = (0..CELLS).filter(|&cell| owners[cell] == rank).collect();
            file.write_all(&extents(&own), &BufferLayout::Contiguous, &of(&expected, &own)).unwrap();
        }
        let chosen: Vec<_> = (0..CELLS).filter(|_| random.random_bool(0.4)).collect();
        let own: Vec<_> = chosen.iter().copied().filter(|&cell| owners[cell] == rank).collect();
        let writes = random.random_bool(0.5);
        if writes {
            chosen.iter().for_each(|&cell| expected[cell * CELL as usize..][..CELL as usize].fill(step + 100));
        }
        let bytes = of(&expected, &own);
        let mut back = vec![0; bytes.len()];
        match (writes, random.random_bool(0.6)) {
            (true, true) => {
                file.write_all(&extents(&own), &BufferLayout::Contiguous, &bytes).unwrap();
            }
            (true, false) => {
                for (cell, bytes) in own.iter().zip(bytes.chunks(CELL as usize)) {
                    file.write_at(*cell as u64 * CELL, bytes).unwrap();
                }
            }
            (false, true) => {
                file.read_all(&extents(&own), &BufferLayout::Contiguous, &mut back).unwrap();
            }
            (false, false) => {
                for (cell, back) in own.iter().zip(back.chunks_mut(CELL as usize)) {
                    file.read_at(*cell as u64 * CELL, back).unwrap();
                }
            }
        }
        wrong += usize::from(!writes && back != bytes);
    }
    // A read in between, which closes handles: a sync stores what any of them has written.
    let mut first = [0];
    let mine = if rank == 0 { Extents::contiguous(0, 1).unwrap() } else { Extents::empty() };
    file.read_all(&mine, &BufferLayout::Contiguous, &mut first[..mine.bytes() as usize]).unwrap();
    file.sync().unwrap();
    wrong += usize::from(stored() != expected);
    let endpoint = file.close().unwrap();
    wrong += usize::from(closed() != expected);
    (endpoint, wrong)
}

/// Runs random programs on hosts of `ranks_per_host` ranks, on a file system of the type `magic`; returns the number
/// of reads that got wrong bytes.
fn wrong_on(magic: u32, ranks_per_host: usize, hints: &str, seeds: std::ops::Range<u64>) -> usize {
    let server = Server::default();
    let host = || Client { server: server.clone(), cache: Arc::default(), magic };
    let hosts: Vec<_> = (0..RANKS.div_ceil(ranks_per_host)).map(|_| host()).collect();
    let hints = match ranks_per_host {
        1 => hints.to_string(),
        ranks => format!("trib_shared_memory=enable;trib_ranks_per_node={ranks};{hints}"),
    };
    let ran = threads::run(RANKS, |transport| {
        let mut endpoint = Endpoint::new(transport);
        let mut wrong = 0;
        for seed in seeds.clone() {
            let found;
            let client = Arc::new(hosts[endpoint.rank() / ranks_per_host].clone());
            let (stored, closed) = (|| server.lock().unwrap().stored.clone(), || server.lock().unwrap().seen.clone());
            (endpoint, found) = random_program(endpoint, (client, Path::new("cells")), &hints, seed, (stored, closed));
            wrong += found;
        }
        wrong
    });
    ran.unwrap().into_iter().sum()
}

/// Hints for the paths of the bytes: the automatic choice, always an exchange, each rank by itself, aggregators on
/// two hosts in turn.
const WAYS: [&str; 4] = [
    "",
    "trib_tiny_call=0;romio_cb_write=enable;romio_cb_read=enable",
    "romio_cb_write=disable",
    "trib_tiny_call=0;trib_driver=lustre;striping_unit=64KiB",
];

#[test]
fn bytes_are_right_where_hosts_cache_by_themselves() {
    let _watchdog = Watchdog::new("hosts that cache by themselves", 120);
    for magic in [NFS, FUSE] {
        for hints in WAYS {
            for ranks_per_host in [1, 2, 3] {
                let wrong = wrong_on(magic, ranks_per_host, hints, 0..6);
                assert_eq!(wrong, 0, "type {magic:x}, {ranks_per_host} ranks a host, {hints}");
            }
        }
    }
}

/// No call leaves bytes behind there, and the file says why.
#[test]
fn nothing_is_left_behind() {
    let client = Client { server: Server::default(), cache: Arc::default(), magic: NFS };
    threads::run(2, |transport| {
        let hints = Hints::parse("trib_write_behind=auto").unwrap();
        let files = Arc::new(client.clone());
        let file = File::open_on(Endpoint::new(transport), "cells", Mode::Create, hints, files).unwrap();
        let said = (file.settings().without_write_behind, file.settings().hints.write_behind);
        assert_eq!(said, (Some("the hosts cache the file independently"), Some(0)));
        file.close().unwrap();
    })
    .unwrap();
}

/// Shows that the first test can fail: bytes are wrong if the engine takes the stand-in for a coherent file system.
#[test]
fn they_are_wrong_if_that_is_not_known() {
    let _watchdog = Watchdog::new("hosts that are taken for coherent", 120);
    assert!(wrong_on(EXT4, 2, WAYS[1], 0..6) > 0);
}

/// A read begins with an agreement of its own here, a write does not: ranks in different calls get an error all the
/// same.
#[test]
fn ranks_in_different_calls_find_out() {
    let _watchdog = Watchdog::new("different calls on hosts that cache by themselves", 120);
    for (ways, ranks_per_host) in WAYS.into_iter().flat_map(|ways| [1, 2, 6].map(|ranks| (ways, ranks))) {
        let server = Server::default();
        let client = Client { server: server.clone(), cache: Arc::default(), magic: NFS };
        let memory = format!("trib_shared_memory=enable;trib_ranks_per_node={ranks_per_host};{ways}");
        let hints = Hints::parse(if ranks_per_host == 1 { ways } else { &memory }).unwrap();
        threads::run(RANKS, |transport| {
            let endpoint = Endpoint::new(transport);
            let rank = endpoint.rank();
            let mut file =
                File::open_on(endpoint, "cells", Mode::Create, hints.clone(), Arc::new(client.clone())).unwrap();
            let own = Extents::contiguous(rank as u64 * CELL, CELL).unwrap();
            let mut bytes = vec![7; CELL as usize];
            for odd in [0, 1, RANKS - 1] {
                let outcome = match rank == odd {
                    true => file.read_all(&own, &BufferLayout::Contiguous, &mut bytes).map(drop),
                    false => file.write_all(&own, &BufferLayout::Contiguous, &bytes).map(drop),
                };
                let text = outcome.unwrap_err().to_string();
                assert!(text.contains(&format!("rank {} is in a collective ", odd.max(1))), "{text}");
                file.write_all(&own, &BufferLayout::Contiguous, &bytes).unwrap();
            }
            // A refusal knows its direction.
            let error = Error::argument("count", -1, "0 or more");
            let refused = match rank {
                2 => binding::refuse(&mut file, Direction::Read, error.clone()),
                _ => file.read_all(&own, &BufferLayout::Contiguous, &mut bytes).unwrap_err(),
            };
            assert_eq!(refused, error.of_rank(2));
            file.close().unwrap();
        })
        .unwrap();
    }
}
