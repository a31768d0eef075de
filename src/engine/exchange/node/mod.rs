//! The layer between a local aggregator and its members in memory that they share: copies instead of messages.
//!
//! The local aggregator merges the lists of its members once, in the metadata phase. It sends each member the positions
//! of the member's bytes in the merged messages ([`places`]). In a round of a write, the local aggregator makes room
//! for these messages in a ring of shared memory, in the order of its sends, and publishes where they lie. All members
//! copy their bytes from the caller's buffer to these positions in parallel. The local aggregator sends a complete
//! message directly from the ring. So a byte is copied once inside the node. In a read, a message that arrives is
//! copied into the ring, and members copy their bytes from there.
//!
//! **Why it cannot deadlock.** Of all undelivered messages between local aggregators and aggregators, take the first in
//! the order of (round, step). Its local aggregator makes room in the order of its chain, so all messages in the ring
//! come before it, are delivered, and free their room; an empty ring has room for any message. Its members have
//! finished the rounds before, and in this round wait only for that room. (See
//! `docs/how-it-works/schedules.md#why-no-throttle-can-deadlock`.)
//!
//! | module | holds |
//! |---|---|
//! | [`merge`] | the lists of members, merged into one |
//! | [`places`] | the positions of members' bytes in the messages, which the metadata phase sends |
//! | [`ring`] | the ring of messages, and the entries that say where each message lies |
//! | [`inside`] | the state of one rank over the rounds |

mod inside;
pub mod merge;
mod places;
mod ring;

pub use inside::NodeMember;
pub use places::{InMemory, agree_on_places};
pub use ring::AREA;

#[cfg(test)]
mod tests {
    use crate::exchange::KERNELS;
    use crate::fabric::{Endpoint, threads};
    use crate::{BufferLayout, Extents, File, Hints, Mode};

    /// Messages that do not fit in the ring: the calls use one layer, and their reports say so.
    #[test]
    fn messages_without_room_go_by_themselves() {
        let directory = tempfile::tempdir().unwrap();
        let text = "trib_ranks_per_node=2;nc_num_aggrs_per_node=1;trib_kernel=two_layer;romio_cb_write=enable;\
                    romio_cb_read=enable;cb_nodes=2;cb_buffer_size=4MiB";
        threads::run(4, |transport| {
            let rank = transport.rank() as u64;
            let path = directory.path().join("file");
            let mut file =
                File::open(Endpoint::new(transport), &path, Mode::Create, Hints::parse(text).unwrap()).unwrap();
            for (len, is_flat) in [(10_000, false), (30_000, true), (10_000, false)] {
                let access = Extents::strided(rank * len, len, 4 * len as i64, 40).unwrap();
                let bytes: Vec<u8> = (0..access.bytes()).map(|at| (at * 7 + rank) as u8).collect();
                let written = file.write_all(&access, &BufferLayout::Contiguous, &bytes).unwrap();
                let mut back = vec![0; bytes.len()];
                let read = file.read_all(&access, &BufferLayout::Contiguous, &mut back).unwrap().call;
                assert!(back == bytes, "rank {rank}, pieces of {len}");
                for report in [written, read] {
                    let why = report.why().to_string();
                    assert_eq!(why.contains("the ranks of a node share no memory"), is_flat, "{why}");
                    assert_eq!(report.in_memory > 0, !is_flat, "{why}");
                }
            }
            file.close().unwrap();
        })
        .unwrap();
    }

    /// The ring has room for one message of the largest size, and a round has a message for each of 5 aggregators, of several
    /// sizes. They wait for each other under every throttle, in writes and in reads.
    #[test]
    fn messages_that_wait_for_room_all_get_it() {
        let directory = tempfile::tempdir().unwrap();
        for (number, outer) in KERNELS.iter().enumerate() {
            for throttle in ["", "trib_throttle_data=1", "trib_throttle_data=2;trib_throttle_mode=window"] {
                if outer.coupled && !throttle.is_empty() {
                    continue;
                }
                let text = format!(
                    "trib_shared_memory=enable;trib_ranks_per_node=4;nc_num_aggrs_per_node=1;trib_kernel_meta=two_layer;\
                     trib_kernel_data=two_layer;trib_two_layer_outer={outer};{throttle};romio_cb_write=enable;\
                     romio_cb_read=enable;trib_tiny_call=0;trib_driver=lustre;striping_unit=1000;striping_factor=5;\
                     cb_buffer_size=3000;trib_placement=spread"
                );
                let hints = Hints::parse(&text).unwrap();
                let path = directory.path().join(format!("{number}"));
                threads::run(10, |transport| {
                    let rank = transport.rank() as u64;
                    let mut file = File::open(Endpoint::new(transport), &path, Mode::Create, hints.clone()).unwrap();
                    // Members overlap in the second access, and the highest rank's bytes stay.
                    for (stride, len) in [(10 * 37, 37), (10 * 37, 60)] {
                        let access = Extents::strided(rank * 37, len, stride, 200).unwrap();
                        let bytes: Vec<u8> = (0..access.bytes()).map(|at| (at * 7 + rank) as u8).collect();
                        let report = file.write_all(&access, &BufferLayout::Contiguous, &bytes).unwrap();
                        assert_eq!(report.in_memory / report.bytes, 1);
                        let mut back = vec![0; bytes.len()];
                        let read = file.read_all(&access, &BufferLayout::Contiguous, &mut back).unwrap();
                        assert_eq!(read.call.in_memory, read.call.bytes);
                        let kept = if len == 37 { 37 } else { 0 };
                        for (piece, got) in bytes.chunks(len as usize).zip(back.chunks(len as usize)) {
                            assert!(piece[..kept] == got[..kept], "rank {rank} under {hints:?}");
                        }
                    }
                    file.close().unwrap();
                })
                .unwrap();
            }
        }
    }
}
