//! Tests IOR: compares the file with IOR's own rules, word by word; calls, closed forms, refusals.

use crate::common::every::{RANKS, accesses, assert_met, check, meet, serial_image};
use proptest::prelude::*;
use tributary_benchmarks::{Division, Ior, IorOptions, Packet, Pattern};

const PACKETS: [Packet; 3] = [Packet::Timestamp, Packet::Offset, Packet::Incompressible];

fn words(image: &[u8]) -> Vec<u64> {
    image.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn every_world_size_and_packet() {
    for ranks in RANKS {
        for packet in PACKETS {
            for one_call in [false, true] {
                let options = IorOptions { transfer: 64, block: 192, segments: 3, signature: 7, packet, one_call };
                check(&Ior::new(ranks, options).unwrap());
            }
        }
    }
}

/// Tests `ior -t 4104 -b 8208 -s 2 -G 1000 -l t` on 3 ranks: the stamp depends on its rank only, not on its position.
#[test]
fn timestamp_packets() {
    let options = IorOptions { transfer: 4104, block: 8208, segments: 2, signature: 1000, ..IorOptions::default() };
    let image = words(&serial_image(&Ior::new(3, options).unwrap()));
    for (number, word) in image.iter().enumerate() {
        let (transfer, within) = (number / 513, number % 513);
        let rank = transfer / 2 % 3;
        assert_eq!(*word, (rank as u64) << 32 | (1000 + within as u64), "word {number}");
    }
}

/// Tests `-l o`: the first word of each 4 KiB of a transfer is the transfer's offset times 1, 2, ... in 32 bits.
#[test]
fn offset_packets() {
    let options =
        IorOptions { transfer: 8200, block: 8200, segments: 2, packet: Packet::Offset, ..IorOptions::default() };
    let image = words(&serial_image(&Ior::new(2, options).unwrap()));
    for (number, word) in image.iter().enumerate() {
        let (transfer, within) = (number as u64 / 1025, number as u64 % 1025);
        let low = match within % 512 {
            0 => (transfer * 8200) * (within / 512 + 1),
            _ => 1 + within,
        };
        assert_eq!(*word, (transfer % 2) << 32 | low, "word {number}");
    }
}

/// Offsets beyond 4 GiB are cut to 32 bits, as IOR does; the file itself is not written here.
#[test]
fn offsets_wrap_in_32_bits() {
    let options = IorOptions { transfer: 8192, block: 3 << 30, packet: Packet::Offset, ..IorOptions::default() };
    let ior = Ior::new(2, options).unwrap();
    let step = 5;
    let offset = (3u64 << 30) + step as u64 * 8192;
    let file = ior.rank_access(1, step).unwrap().file;
    assert_eq!(file.span(), Some((offset, offset + 8192)));
    let mut data = vec![0; 8192];
    ior.fill(1, step, &mut data).unwrap();
    assert_eq!(words(&data)[0], 1 << 32 | offset);
    assert_eq!(words(&data)[512], 1 << 32 | ((2 * offset) & 0xffff_ffff));
}

#[test]
fn segmented_and_strided_are_the_same_bytes_in_other_places() {
    let ranges = |options: IorOptions| {
        let ior = Ior::new(4, IorOptions { one_call: true, ..options }).unwrap();
        let file = ior.rank_access(2, 0).unwrap().file;
        file.iter().map(|e| (e.offset, e.len)).collect::<Vec<_>>()
    };
    let segmented = IorOptions { transfer: 8, block: 24, segments: 1, ..IorOptions::default() };
    let strided = IorOptions { transfer: 8, block: 8, segments: 3, ..IorOptions::default() };
    assert_eq!(ranges(segmented), [(48, 24)]);
    assert_eq!(ranges(strided), [(16, 8), (48, 8), (80, 8)]);
}

#[test]
fn calls_and_requests() {
    let options = IorOptions { transfer: 16, block: 64, segments: 5, ..IorOptions::default() };
    let (each, one) = (Ior::new(3, options).unwrap(), Ior::new(3, IorOptions { one_call: true, ..options }).unwrap());
    assert_eq!((each.steps(), each.rank_access(0, 19).unwrap().requests), (20, 1));
    assert_eq!((one.steps(), one.rank_access(0, 0).unwrap().requests), (1, 20));
    assert_eq!(each.totals(), one.totals());
}

/// A window of whole blocks gets data from just the ranks of these blocks; a block larger than a stripe belongs to
/// one rank.
#[test]
fn closed_forms_are_reached() {
    let options = IorOptions { transfer: 1024, block: 1024, segments: 16, one_call: true, ..IorOptions::default() };
    let strided = Ior::new(16, options).unwrap();
    let met = assert_met(&strided, Division::Stripes { stripe: 4096, aggregators: 3 }, 1);
    assert_eq!((met.data, met.metadata), (4, 16));
    // Where the aggregators' stripes are as long together as a segment, each hears of the same 4 ranks over and over.
    let met = meet(&accesses(&strided), Division::Stripes { stripe: 4096, aggregators: 4 }, 1);
    assert_eq!((met.data, met.metadata), (4, 4));
    // Ranges end anywhere: 4 blocks and the ends of another two.
    let stated = strided.closed_form(Division::Ranges { window: 4096, aggregators: 4 });
    assert_eq!(stated.data_fan_in, Some(5));
    let options = IorOptions { transfer: 4096, block: 8192, ..IorOptions::default() };
    let segmented = Ior::new(8, options).unwrap();
    let met = assert_met(&segmented, Division::Stripes { stripe: 4096, aggregators: 16 }, 1);
    assert_eq!((met.data, met.metadata), (1, 1));
}

#[test]
fn packets_by_name() {
    let named: Vec<Packet> = ["t", "Offset", "incompressible"].iter().map(|name| name.parse().unwrap()).collect();
    assert_eq!(named, PACKETS);
    let error = "random".parse::<Packet>().unwrap_err().to_string();
    assert_eq!(error, "packet: random; allowed: timestamp, offset, incompressible, or their first letters");
}

#[test]
fn refusals() {
    let refused = |ranks, options: IorOptions| Ior::new(ranks, options).unwrap_err().to_string();
    let good = IorOptions::default();
    assert!(refused(0, good).starts_with("ranks: 0;"));
    assert!(refused(2, IorOptions { transfer: 0, ..good }).contains("multiples of 8"));
    assert!(refused(2, IorOptions { transfer: 12, block: 24, ..good }).contains("multiples of 8"));
    assert!(refused(2, IorOptions { transfer: 16, block: 24, ..good }).contains("multiples of the transfer size, 16"));
    assert!(refused(2, IorOptions { block: 0, ..good }).starts_with("block size: 0"));
    assert!(refused(2, IorOptions { segments: 0, ..good }).starts_with("segments: 0"));
    assert!(refused(2, IorOptions { signature: 0, ..good }).starts_with("signature: 0"));
    assert!(refused(2, IorOptions { signature: 1 << 31, ..good }).contains("1 to 2^31 - 1"));
    assert!(refused(16, IorOptions { segments: 1 << 40, ..good }).contains("below 2^63 bytes"));
    assert!(refused(16, IorOptions { segments: u64::MAX, ..good }).contains("below 2^63 bytes"));
    assert!(refused(1 << 31, good).starts_with("ranks: 2147483648"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_parameters(
        ranks in 1usize..10, words in 1u64..40, transfers in 1u64..6, segments in 1u64..5, signature in 1u32..1 << 31,
        packet in prop::sample::select(PACKETS.to_vec()), one_call: bool
    ) {
        let transfer = 8 * words;
        let options = IorOptions { transfer, block: transfer * transfers, segments, signature, packet, one_call };
        check(&Ior::new(ranks, options).unwrap());
    }
}
