//! What the bytes of a file may be, by MPI's rules: an exact model of each program.

use tributary::Rank;

/// What is known of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Byte {
    /// It has this value.
    Is(u8),
    /// The rank that has written the second value by itself reads it; the others read either, until they agree.
    Was(u8, u8, Rank),
    /// The rank has written this value by itself, where there was another of its own or anything, and reads it; the others read
    /// anything, until they agree.
    Last(u8, Rank),
    /// A failed call may have left anything.
    Any,
}

/// What is known of a file.
#[derive(Debug, Clone, Default)]
pub struct Model {
    bytes: Vec<Byte>,
    /// Sizes that the file may have: the least, and the largest.
    size: (u64, u64),
    /// Least size at the last sync that has succeeded.
    synced: u64,
    /// Pieces written since the last sync that has succeeded, with write-behind: a later error may be theirs.
    unsynced: Vec<(u64, u64)>,
    /// Pieces that ranks have written by themselves since the last agreement. Their order is known to these ranks only, which find
    /// the file as long as that.
    alone: Vec<(Rank, (u64, u64))>,
}

impl Model {
    fn grow(&mut self, end: u64) {
        if self.bytes.len() < end as usize {
            self.bytes.resize(end as usize, Byte::Is(0));
        }
    }

    /// Notes a collective write of a byte.
    pub fn write(&mut self, (offset, len): (u64, u64), value: impl Fn(u64) -> u8) {
        self.grow(offset + len);
        for at in offset..offset + len {
            self.bytes[at as usize] = Byte::Is(value(at));
        }
        self.size = (self.size.0.max(offset + len), self.size.1.max(offset + len));
        self.unsynced.push((offset, len));
    }

    /// Notes an independent write of a rank.
    pub fn write_alone(&mut self, rank: Rank, (offset, len): (u64, u64), value: impl Fn(u64) -> u8) {
        self.grow(offset + len);
        for at in offset..offset + len {
            let byte = &mut self.bytes[at as usize];
            *byte = match *byte {
                Byte::Is(old) => Byte::Was(old, value(at), rank),
                Byte::Was(.., other) | Byte::Last(_, other) if other != rank => Byte::Any,
                _ => Byte::Last(value(at), rank),
            };
        }
        for (_, other) in self.alone.clone().iter().filter(|(writer, _)| *writer != rank) {
            self.forget_where_both(*other, [(offset, len)].iter());
        }
        self.size.1 = self.size.1.max(offset + len);
        self.unsynced.push((offset, len));
        self.alone.push((rank, (offset, len)));
    }

    /// Notes a write that has failed: its bytes may be anything. With write-behind, so may all bytes since the last sync.
    pub fn fail(&mut self, pieces: impl IntoIterator<Item = (u64, u64)>, is_behind: bool) {
        let earlier = if is_behind { self.unsynced.clone() } else { Vec::new() };
        for (offset, len) in pieces.into_iter().chain(earlier) {
            self.grow(offset + len);
            self.bytes[offset as usize..(offset + len) as usize].fill(Byte::Any);
            self.size.1 = self.size.1.max(offset + len);
        }
        if is_behind {
            self.size.0 = self.size.0.min(self.synced);
        }
    }

    /// Notes that bytes may or may not be written yet.
    pub fn forget(&mut self, (offset, len): (u64, u64)) {
        self.grow(offset + len);
        self.bytes[offset as usize..(offset + len) as usize].fill(Byte::Any);
        self.size.1 = self.size.1.max(offset + len);
    }

    /// Notes that the order of a write and of others is not known: the bytes of both may be either.
    pub fn forget_where_both<'a>(&mut self, (offset, len): (u64, u64), others: impl Iterator<Item = &'a (u64, u64)>) {
        for other in others {
            let (start, end) = (offset.max(other.0), (offset + len).min(other.0 + other.1));
            if start < end {
                self.forget((start, end - start));
            }
        }
    }

    /// Notes that a call has written pieces: its order and that of independent writes that no agreement has followed is not known.
    pub fn forget_where_alone<'a>(&mut self, pieces: impl Iterator<Item = &'a (u64, u64)> + Clone) {
        for (_, alone) in self.alone.clone() {
            self.forget_where_both(alone, pieces.clone());
        }
    }

    /// Notes an agreement of all ranks: from here on, all of them read what each has written.
    pub fn agree(&mut self) {
        for byte in &mut self.bytes {
            if let Byte::Was(_, new, _) | Byte::Last(new, _) = *byte {
                *byte = Byte::Is(new);
            }
        }
        self.size.0 = self.alone.drain(..).fold(self.size.0, |least, (_, (offset, len))| least.max(offset + len));
    }

    /// Notes a sync that has succeeded.
    pub fn sync(&mut self) {
        self.agree();
        self.unsynced.clear();
        self.synced = self.size.0;
    }

    /// Notes that the size was set; `is_sure` unless that has failed.
    pub fn set_len(&mut self, len: u64, is_sure: bool) {
        if is_sure {
            self.agree();
            self.bytes.resize(len as usize, Byte::Is(0));
            (self.size, self.synced) = ((len, len), self.synced.min(len));
            self.unsynced.retain(|(offset, _)| *offset < len);
            self.unsynced.iter_mut().for_each(|(offset, bytes)| *bytes = (*bytes).min(len - *offset));
        } else {
            self.grow(self.size.1.max(len));
            let from = (len.min(self.size.0)) as usize;
            self.bytes[from..].fill(Byte::Any);
            self.alone.clear();
            self.size = (self.size.0.min(len), self.size.1.max(len));
        }
    }

    /// Returns the first offset at which `found` is not what `rank` may read; before it, the buffer had `before` where the file has
    /// no bytes.
    pub fn wrong(&self, rank: Option<Rank>, offset: u64, found: &[u8], before: u8) -> Option<String> {
        let own = self.alone.iter().filter(|(writer, _)| rank == Some(*writer));
        let least = own.fold(self.size.0, |least, (_, (offset, len))| least.max(offset + len));
        for (at, &byte) in (offset..).zip(found) {
            let known = self.bytes.get(at as usize).copied();
            let is_behind_end = byte == before && at >= least;
            let is_right = is_behind_end
                || match known {
                    Some(Byte::Is(value)) => byte == value,
                    Some(Byte::Was(_, new, writer) | Byte::Last(new, writer))
                        if rank == Some(writer) || rank.is_none() =>
                    {
                        byte == new
                    }
                    Some(Byte::Was(old, new, _)) => byte == old || byte == new || byte == 0,
                    Some(Byte::Last(..) | Byte::Any) => true,
                    None => false,
                };
            if !is_right {
                return Some(format!("offset {at}: found {byte}, to be {known:?}, size {:?}", self.size));
            }
        }
        None
    }

    /// Returns what is wrong about the whole file.
    pub fn wrong_file(&self, found: &[u8]) -> Option<String> {
        let len = found.len() as u64;
        if len < self.size.0 || len > self.size.1 {
            return Some(format!("the file has {len} bytes, to be {:?}", self.size));
        }
        // Bytes behind its end are not there to be wrong.
        self.wrong(None, 0, found, 0).filter(|_| true)
    }
}
