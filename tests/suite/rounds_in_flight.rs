//! Tests rounds with long messages, of which several are in flight on a rank at a time.

use std::collections::BTreeMap;

use tributary::error::Result;
use tributary::fabric::{Memory, Message, threads};
use tributary::schedule::{Action, Buffer, Builder, SendMode, Span, Throttle};
use tributary::{BufferLayout, Endpoint, Extent, Extents, File, Hints, Mode};
use tributary_testing::suite::value;
use tributary_testing::watchdog::Watchdog;

const RANKS: u64 = 4;
/// Number of schedules in flight.
const SCHEDULES: usize = 3;

/// Sends, for each schedule, messages with its number; keeps what arrives, by schedule and sender.
#[derive(Default)]
struct Numbered {
    schedule: usize,
    arrived: BTreeMap<(usize, usize), Vec<u8>>,
}

impl Memory for Numbered {
    fn turn_to(&mut self, schedule: usize) {
        self.schedule = schedule;
    }

    fn read(&mut self, span: Span) -> Result<Message> {
        Ok(Message::from(vec![self.schedule as u8; span.len as usize]))
    }

    fn write(&mut self, from: usize, _: Span, message: Message) -> Result<()> {
        self.arrived.insert((self.schedule, from), message.to_vec());
        Ok(())
    }

    fn copy(&mut self, _: Span, _: Span) -> Result<()> {
        Ok(())
    }
}

/// Messages of several schedules with one tag match in the order of the schedules, whatever their lengths, also if the
/// schedules have more messages than a sliding limit allows.
#[test]
fn messages_match_in_the_order_of_their_schedules() {
    let _watchdog = Watchdog::new("messages_match_in_the_order_of_their_schedules", 60);
    let ranks = RANKS as usize;
    let length = |schedule: usize, from: usize| ((schedule + from) % 3 * 100_000 + 1) as u64;
    for throttle in [Throttle::NONE, Throttle::sliding(ranks as u32)] {
        let all = threads::run(ranks, |transport| {
            let mut endpoint = Endpoint::new(transport);
            let (me, mut memory) = (endpoint.rank(), Numbered::default());
            let others = || (0..ranks).filter(|&rank| rank != me);
            let mut flight = endpoint.flight(7);
            for schedule in 0..SCHEDULES {
                let span = |rank: usize| Span::new(Buffer::Send, 0, length(schedule, rank));
                let mut builder = Builder::default();
                let receives: Vec<_> = others().map(|from| (Action::Receive { from }, span(from))).collect();
                let send = |to| (Action::Send { to, mode: SendMode::Synchronous }, span(me));
                let sends: Vec<_> = others().map(send).collect();
                builder.chain(&receives, throttle, &[]);
                builder.chain(&sends, throttle, &[]);
                flight.start(builder.finish());
            }
            let mut sent = Vec::new();
            let waiting = endpoint.waiting().clone();
            while !flight.is_empty() {
                // A schedule that ends moves the others to the front; what arrives is about those.
                let before = memory.arrived.len();
                let ended = waiting.wait(std::pin::pin!(endpoint.advance(&mut flight, &mut memory))).unwrap();
                assert!(ended.is_none() || memory.arrived.len() == before);
                sent.extend(ended.map(|traffic| traffic.messages));
                if ended.is_some() {
                    let of_the_first = memory.arrived.iter().filter(|((schedule, _), _)| *schedule == 0);
                    assert_eq!(of_the_first.count(), ranks - 1);
                    memory.arrived.retain(|(schedule, _), _| *schedule > 0);
                    memory.arrived = std::mem::take(&mut memory.arrived)
                        .into_iter()
                        .map(|((schedule, from), bytes)| ((schedule - 1, from), bytes))
                        .collect();
                }
                for ((schedule, from), bytes) in &memory.arrived {
                    assert_eq!(bytes.len() as u64, length(schedule + flight.ended(), *from));
                }
            }
            sent
        });
        assert_eq!(all.unwrap(), vec![vec![RANKS - 1; SCHEDULES]; ranks]);
    }
}

/// Every byte is right in writes and reads of many windows with long messages, with every kernel: pieces of different
/// lengths, holes, and a rank without bytes in some windows.
#[test]
fn every_byte_is_right_with_long_messages() {
    let _watchdog = Watchdog::new("every_byte_is_right_with_long_messages", 240);
    let directory = tempfile::tempdir().unwrap();
    let kernels = "ascending_isend ascending_issend spread_out balanced pairwise two_layer";
    for (number, kernel) in kernels.split(' ').enumerate() {
        let throttles =
            ["cb_nodes=1", "cb_nodes=3; trib_throttle=4", "cb_nodes=4; trib_throttle=2; trib_throttle_mode=batch"];
        // pairwise has no other throttle than its own.
        for hints in &throttles[..if kernel == "pairwise" { 1 } else { 3 }] {
            let path = directory.path().join(format!("file-{number}"));
            let text = format!(
                "trib_kernel={kernel}; cb_buffer_size=320K; trib_write_buffers=5; trib_shared_memory=disable; \
                 romio_cb_write=enable; romio_cb_read=enable; {hints}"
            );
            threads::run(RANKS as usize, |transport| {
                let endpoint = Endpoint::new(transport);
                let rank = endpoint.rank() as u64;
                let hints = Hints::parse(&text).unwrap();
                let mut file = File::open(endpoint, &path, Mode::Create, hints).unwrap();
                // Rank 3 has nothing in the middle of the file.
                let pieces = (0..40).filter(|at| rank != 3 || !(10..30).contains(at));
                let piece = |at| {
                    let len = (70 << 10) + (at * 7919 + rank * 104_729) % (50 << 10);
                    Extent { offset: (at * RANKS + rank) * (120 << 10), len }
                };
                let mine = Extents::from_list(pieces.map(piece)).unwrap();
                let bytes: Vec<u8> = mine.iter().flat_map(|extent| extent.offset..extent.end()).map(value).collect();
                file.write_all(&mine, &BufferLayout::Contiguous, &bytes).unwrap();
                let mut back = vec![0; bytes.len()];
                file.read_all(&mine, &BufferLayout::Contiguous, &mut back).unwrap();
                assert!(back == bytes, "rank {rank}, {text}");
                file.close().unwrap();
            })
            .unwrap();
            let image = std::fs::read(&path).unwrap();
            let wrong = (0..image.len()).find(|&at| image[at] != 0 && image[at] != value(at as u64));
            assert_eq!(wrong, None, "{text}");
        }
    }
}
