//! Encodes and decodes the bytes in which Lustre describes a file's striping. There is no system call here, so this
//! runs anywhere.
//!
//! Lustre returns the extended attribute `lustre.lov`, little-endian on the wire, in the byte order of the machine
//! from some clients; the magic number shows which. It is data from outside: every length is checked.
//!
//! | magic | structure | stripe size, count at |
//! |---|---|---|
//! | `0x0BD10BD0`, `0x0BD30BD0`, `0x0BD50BD0` | plain layout (`lov_user_md_v1`, `_v3`) | 24, 28 |
//! | `0x0BD60BD0` | composite layout: components of 48 bytes from 32 on, each with offset, size of a plain layout | 24, 28 |

use crate::storage::StripeRequest;

const PLAIN: [u32; 3] = [0x0BD1_0BD0, 0x0BD3_0BD0, 0x0BD5_0BD0];
const COMPOSITE: u32 = 0x0BD6_0BD0;

/// Size of a plain layout without its list of objects, in bytes.
const PLAIN_HEAD: usize = 32;
/// Magic number of a plain layout that names the server of each stripe, in a request.
const NAMED_SERVERS: u32 = PLAIN[2];
/// Size of the name of the pool that follows the head of such a layout, in bytes.
const POOL: usize = 16;
/// Size of the entry for one stripe in such a layout, in bytes; its last 4 bytes are the number of the server.
const OBJECT: usize = 24;
/// Pattern of a file whose stripes lie on servers in turn, and the flag for a file with several stripes on a server.
const PATTERN_STRIPED: u32 = 0x1;
const PATTERN_OVERSTRIPED: u32 = 0x200;
const COMPOSITE_HEAD: usize = 32;
const COMPONENT: usize = 48;

/// Pattern of a file whose data the metadata server keeps, which has no stripes.
const PATTERN_MDT: u32 = 0x100;
/// Flags of components that hold no current data: a stale mirror, parity.
const NO_DATA: u32 = 0x01 | 0x80;
/// Maximum stripe count. Larger numbers are not counts: -1 asks for all servers.
const MOST_STRIPES: u16 = 65_532;

/// Number that lets Lustre choose the server of the first stripe.
const ANY_SERVER: u16 = u16::MAX;

/// The stripes of a file on Lustre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripes {
    /// Stripe size in bytes, above 0.
    pub unit: u32,
    /// Number of stripes, above 0.
    pub count: u16,
    /// Number of components; above 1, the other fields describe the component with most stripes.
    pub components: u16,
}

/// Decodes the attribute `lustre.lov`. For a composite layout (PFL, FLR), returns the component with most stripes, the
/// first of equals: a progressive layout grows towards this component, so a large file lies mostly there.
///
/// # Errors
/// A description if the bytes are damaged or contain no stripes.
pub fn read(bytes: &[u8]) -> Result<Stripes, &'static str> {
    let stored = Reader { bytes, swapped: false };
    let magic = stored.u32(0)?;
    let known = |magic: u32| PLAIN.contains(&magic) || magic == COMPOSITE;
    let (reader, magic) = match magic {
        magic if known(magic) => (stored, magic),
        magic if known(magic.swap_bytes()) => (Reader { bytes, swapped: true }, magic.swap_bytes()),
        _ => return Err("unknown magic number"),
    };
    if magic == COMPOSITE { composite(reader) } else { plain(reader)?.ok_or("not striped over servers") }
}

/// Returns the bytes for the call that sets stripes, in the byte order of the machine. `None` leaves the choice to
/// the file system.
pub fn request(unit: Option<u32>, count: Option<u16>, first: Option<u16>) -> StripeRequest {
    StripeRequest(head((PLAIN[0], 0), unit, count.unwrap_or(0), first.unwrap_or(ANY_SERVER)))
}

/// Returns the bytes for the call that gives a file `count` stripes on `servers` servers, from number `first` on:
/// more stripes than servers (overstriping).
pub fn overstriped(unit: Option<u32>, count: u16, (first, servers): (u16, u16)) -> StripeRequest {
    let mut bytes = head((NAMED_SERVERS, PATTERN_STRIPED | PATTERN_OVERSTRIPED), unit, count, first);
    bytes.resize(PLAIN_HEAD + POOL, 0);
    for stripe in 0..count {
        bytes.resize(bytes.len() + OBJECT - size_of::<u32>(), 0);
        let server = u32::from(first) + u32::from(stripe % servers.max(1));
        bytes.extend(server.to_ne_bytes());
    }
    StripeRequest(bytes)
}

fn head((magic, pattern): (u32, u32), unit: Option<u32>, count: u16, first: u16) -> Vec<u8> {
    let mut bytes = vec![0; PLAIN_HEAD];
    bytes[..4].copy_from_slice(&magic.to_ne_bytes());
    bytes[4..8].copy_from_slice(&pattern.to_ne_bytes());
    bytes[24..28].copy_from_slice(&unit.unwrap_or(0).to_ne_bytes());
    bytes[28..30].copy_from_slice(&count.to_ne_bytes());
    bytes[30..32].copy_from_slice(&first.to_ne_bytes());
    bytes
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    bytes: &'a [u8],
    swapped: bool,
}

impl<'a> Reader<'a> {
    fn array<const N: usize>(&self, at: usize) -> Result<[u8; N], &'static str> {
        self.bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().ok_or("truncated")
    }

    fn u16(&self, at: usize) -> Result<u16, &'static str> {
        let value = u16::from_le_bytes(self.array(at)?);
        Ok(if self.swapped { value.swap_bytes() } else { value })
    }

    fn u32(&self, at: usize) -> Result<u32, &'static str> {
        let value = u32::from_le_bytes(self.array(at)?);
        Ok(if self.swapped { value.swap_bytes() } else { value })
    }

    fn part(&self, at: usize, len: usize) -> Result<Self, &'static str> {
        let bytes = self.bytes.get(at..).and_then(|rest| rest.get(..len)).ok_or("a component beyond the end")?;
        Ok(Self { bytes, ..*self })
    }
}

/// Decodes a plain layout; `None` if it has no stripes on a known number of servers.
fn plain(reader: Reader<'_>) -> Result<Option<Stripes>, &'static str> {
    let head = reader.part(0, PLAIN_HEAD).map_err(|_| "truncated")?;
    let (pattern, unit, count) = (head.u32(4)?, head.u32(24)?, head.u16(28)?);
    let striped = pattern & PATTERN_MDT == 0 && unit > 0 && (1..=MOST_STRIPES).contains(&count);
    Ok(striped.then_some(Stripes { unit, count, components: 1 }))
}

fn composite(reader: Reader<'_>) -> Result<Stripes, &'static str> {
    let components = reader.u16(14)?;
    let mut widest: Option<Stripes> = None;
    for component in 0..usize::from(components) {
        let entry = reader.part(COMPOSITE_HEAD + component * COMPONENT, COMPONENT)?;
        let (flags, offset, size) = (entry.u32(4)?, entry.u32(24)? as usize, entry.u32(28)? as usize);
        let inner = reader.part(offset, size)?;
        if !PLAIN.contains(&inner.u32(0)?) {
            return Err("a component that is no plain layout");
        }
        let found = plain(inner)?.filter(|_| flags & NO_DATA == 0);
        widest = match (widest, found) {
            (Some(widest), Some(found)) if found.count <= widest.count => Some(widest),
            (widest, found) => found.or(widest),
        };
    }
    widest.map(|widest| Stripes { components, ..widest }).ok_or("no component is striped over servers")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the bytes of a plain layout as a little-endian client stores it, with one object of 24 bytes per
    /// stripe.
    fn plain_bytes(magic: u32, pattern: u32, unit: u32, count: u16) -> Vec<u8> {
        let mut bytes = [magic.to_le_bytes(), pattern.to_le_bytes()].concat();
        bytes.extend([0x11; 16]);
        bytes.extend(unit.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        bytes.extend([0; 2]);
        if magic != PLAIN[0] {
            bytes.extend(*b"pool\0\0\0\0\0\0\0\0\0\0\0\0");
        }
        bytes.extend(std::iter::repeat_n(0x22, 24 * usize::from(count.min(8))));
        bytes
    }

    /// Returns the bytes of a composite layout. Each component has flags and a plain layout.
    fn composite_bytes(components: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = COMPOSITE.to_le_bytes().to_vec();
        bytes.resize(COMPOSITE_HEAD, 0);
        bytes[14..16].copy_from_slice(&(components.len() as u16).to_le_bytes());
        let mut at = COMPOSITE_HEAD + COMPONENT * components.len();
        for (flags, inner) in components {
            let mut entry = [0; COMPONENT];
            entry[4..8].copy_from_slice(&flags.to_le_bytes());
            entry[24..28].copy_from_slice(&(at as u32).to_le_bytes());
            entry[28..32].copy_from_slice(&(inner.len() as u32).to_le_bytes());
            bytes.extend(entry);
            at += inner.len();
        }
        components.iter().for_each(|(_, inner)| bytes.extend(inner));
        bytes
    }

    fn stripes(unit: u32, count: u16, components: u16) -> Result<Stripes, &'static str> {
        Ok(Stripes { unit, count, components })
    }

    #[test]
    fn plain_layouts_of_every_version() {
        for magic in PLAIN {
            assert_eq!(read(&plain_bytes(magic, 1, 1 << 20, 64)), stripes(1 << 20, 64, 1));
        }
        // Over-striped (0x200), released (0x80000000): still striped.
        assert_eq!(read(&plain_bytes(PLAIN[1], 0x8000_0201, 65_536, 200)), stripes(65_536, 200, 1));
    }

    #[test]
    fn the_other_byte_order() {
        let mut bytes = vec![0; PLAIN_HEAD];
        bytes[..4].copy_from_slice(&PLAIN[0].to_be_bytes());
        bytes[4..8].copy_from_slice(&1u32.to_be_bytes());
        bytes[24..28].copy_from_slice(&(4u32 << 20).to_be_bytes());
        bytes[28..30].copy_from_slice(&8u16.to_be_bytes());
        assert_eq!(read(&bytes), stripes(4 << 20, 8, 1));
    }

    #[test]
    fn what_is_asked_for_reads_back() {
        assert_eq!(read(&request(Some(1 << 20), Some(64), Some(3)).0), stripes(1 << 20, 64, 1));
        let StripeRequest(bytes) = request(None, None, None);
        assert_eq!(bytes[..4], PLAIN[0].to_ne_bytes());
        assert_eq!(bytes[4..30], [0; 26]);
        assert_eq!(bytes[30..], [0xff; 2]);
    }

    #[test]
    fn more_stripes_than_servers_name_the_server_of_each() {
        let StripeRequest(bytes) = overstriped(Some(1 << 20), 5, (10, 2));
        assert_eq!(read(&bytes), stripes(1 << 20, 5, 1));
        assert_eq!(bytes.len(), 48 + 5 * 24);
        assert_eq!(bytes[..8], [0x0BD5_0BD0u32.to_ne_bytes(), 0x201u32.to_ne_bytes()].concat());
        assert_eq!(bytes[30..32], 10u16.to_ne_bytes());
        let server = |stripe: usize| u32::from_ne_bytes(bytes[48 + stripe * 24 + 20..][..4].try_into().unwrap());
        assert_eq!([0, 1, 2, 3, 4].map(server), [10, 11, 10, 11, 10]);
    }

    #[test]
    fn composite_layouts_count_by_their_widest_component() {
        let component = |unit, count| plain_bytes(PLAIN[0], 1, unit, count);
        let on_the_metadata_server = plain_bytes(PLAIN[0], PATTERN_MDT, 1 << 16, 0);
        let progressive = [
            (0x10, on_the_metadata_server.clone()),
            (0x10, component(1 << 20, 1)),
            (0x10, component(2 << 20, 8)),
            (0, component(4 << 20, 8)),
            (0, component(8 << 20, u16::MAX)),
            (0x11, component(16 << 20, 99)),
        ];
        assert_eq!(read(&composite_bytes(&progressive)), stripes(2 << 20, 8, 6));
        assert_eq!(read(&composite_bytes(&[(0, on_the_metadata_server)])), Err("no component is striped over servers"));
        assert_eq!(read(&composite_bytes(&[])), Err("no component is striped over servers"));
    }

    #[test]
    fn hostile_bytes() {
        let good = plain_bytes(PLAIN[0], 1, 1 << 20, 4);
        for (bytes, says) in [
            (vec![], "truncated"),
            (vec![0xd0, 0x0b], "truncated"),
            (vec![0; 64], "unknown magic number"),
            (good[..31].to_vec(), "truncated"),
            (plain_bytes(PLAIN[0], 1, 0, 4), "not striped over servers"),
            (plain_bytes(PLAIN[0], 1, 1 << 20, 0), "not striped over servers"),
            (plain_bytes(PLAIN[0], 1, 1 << 20, u16::MAX), "not striped over servers"),
            (plain_bytes(PLAIN[0], PATTERN_MDT, 1 << 20, 4), "not striped over servers"),
            (composite_bytes(&[(0, composite_bytes(&[(0, good.clone())]))]), "a component that is no plain layout"),
        ] {
            assert_eq!(read(&bytes), Err(says), "{bytes:x?}");
        }
        // A component that points beyond the end, and more components than there are.
        let whole = composite_bytes(&[(0, good)]);
        for (at, value) in [(32 + 24, u32::MAX), (32 + 28, u32::MAX), (12, u32::MAX)] {
            let mut bytes = whole.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            assert_eq!(read(&bytes), Err("a component beyond the end"), "{at}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            magic in prop::sample::select(vec![PLAIN[0], PLAIN[1], PLAIN[2], COMPOSITE, COMPOSITE.swap_bytes(), 0]),
            rest in prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(32), Just(80), any::<u8>()], 0..300)
        ) {
            let bytes = [&magic.to_le_bytes()[..], &rest].concat();
            if let Ok(found) = read(&bytes) {
                prop_assert!(found.unit > 0 && found.count > 0 && found.components > 0);
            }
        }

        #[test]
        fn a_cut_layout_is_refused(components in 1usize..5, cut in 0usize..400) {
            let bytes = composite_bytes(&vec![(0, plain_bytes(PLAIN[1], 1, 1 << 20, 3)); components]);
            prop_assert_eq!(read(&bytes[..cut.min(bytes.len())]).is_ok(), cut >= bytes.len());
        }
    }
}
