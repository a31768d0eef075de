//! Encodes values that ranks send to each other beside file data: errors, hints, properties of a file.
//!
//! Numbers are little-endian integers of 64 bits. A text, or a list, begins with its length. An enum begins with the
//! number of its variant, in one byte. Damaged bytes decode to another value or to None, without a panic, and take no
//! more memory than a few times their own length.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

pub use crate::wire_fields as fields;

/// A value that can be encoded in bytes. All ranks run the same version of the library, so the encoding may change
/// with every version.
pub trait Wire: Sized {
    /// Appends the bytes of the value to `to`.
    fn encode(&self, to: &mut Vec<u8>);

    /// Decodes a value from the front of `from`, and removes its bytes there. `None` if the bytes there are no value
    /// of this type.
    fn decode(from: &mut &[u8]) -> Option<Self>;
}

/// Returns the encoding of a value as bytes.
pub fn to_bytes(value: &impl Wire) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    bytes
}

/// Decodes a value; `None` if the bytes are not exactly the encoding of one value.
pub fn from_bytes<T: Wire>(mut bytes: &[u8]) -> Option<T> {
    let value = T::decode(&mut bytes);
    value.filter(|_| bytes.is_empty())
}

impl Wire for u64 {
    fn encode(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.to_le_bytes());
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let (word, rest) = from.split_first_chunk()?;
        *from = rest;
        Some(Self::from_le_bytes(*word))
    }
}

macro_rules! integers {
    ($($kind:ty)+) => {
        $(impl Wire for $kind {
            fn encode(&self, to: &mut Vec<u8>) {
                (*self as u64).encode(to);
            }

            fn decode(from: &mut &[u8]) -> Option<Self> {
                let word = u64::decode(from)?;
                let value = word as Self;
                (value as u64 == word).then_some(value)
            }
        })+
    };
}

integers! { u16 u32 usize i32 }

impl Wire for f64 {
    fn encode(&self, to: &mut Vec<u8>) {
        self.to_bits().encode(to);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        u64::decode(from).map(Self::from_bits)
    }
}

impl Wire for u8 {
    fn encode(&self, to: &mut Vec<u8>) {
        to.push(*self);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let (first, rest) = from.split_first()?;
        *from = rest;
        Some(*first)
    }
}

impl Wire for bool {
    fn encode(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        match u8::decode(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn encode(&self, to: &mut Vec<u8>) {
        self.len().encode(to);
        self.iter().for_each(|one| one.encode(to));
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let count = usize::decode(from)?;
        // A value takes a byte or more: a longer list is not there, and no memory is taken for it.
        if count > from.len() {
            return None;
        }
        (0..count).map(|_| T::decode(from)).collect()
    }
}

impl Wire for String {
    fn encode(&self, to: &mut Vec<u8>) {
        self.len().encode(to);
        to.extend_from_slice(self.as_bytes());
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        Self::from_utf8(Vec::decode(from)?).ok()
    }
}

impl Wire for PathBuf {
    fn encode(&self, to: &mut Vec<u8>) {
        let bytes = self.as_os_str().as_bytes();
        bytes.len().encode(to);
        to.extend_from_slice(bytes);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        Vec::decode(from).map(|bytes| OsStr::from_bytes(&bytes).into())
    }
}

impl<T: Wire> Wire for Option<T> {
    fn encode(&self, to: &mut Vec<u8>) {
        self.is_some().encode(to);
        if let Some(value) = self {
            value.encode(to);
        }
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        match bool::decode(from)? {
            true => T::decode(from).map(Some),
            false => Some(None),
        }
    }
}

impl<T: Wire> Wire for Box<T> {
    fn encode(&self, to: &mut Vec<u8>) {
        (**self).encode(to);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        T::decode(from).map(Self::new)
    }
}

impl<T: Wire, E: Wire> Wire for Result<T, E> {
    fn encode(&self, to: &mut Vec<u8>) {
        self.is_ok().encode(to);
        match self {
            Ok(value) => value.encode(to),
            Err(error) => error.encode(to),
        }
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        match bool::decode(from)? {
            true => T::decode(from).map(Ok),
            false => E::decode(from).map(Err),
        }
    }
}

impl<T: Wire, U: Wire> Wire for (T, U) {
    fn encode(&self, to: &mut Vec<u8>) {
        self.0.encode(to);
        self.1.encode(to);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        Some((T::decode(from)?, U::decode(from)?))
    }
}

impl<const N: usize> Wire for [u64; N] {
    fn encode(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|word| word.encode(to));
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let mut words = [0; N];
        for word in &mut words {
            *word = u64::decode(from)?;
        }
        Some(words)
    }
}

/// Implements [`Wire`](crate::wire::Wire) for a struct by its fields, in order, and for an enum by its variants, which have numbers.
#[doc(hidden)]
#[macro_export]
macro_rules! wire_fields {
    (struct $name:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::wire::Wire for $name {
            fn encode(&self, to: &mut Vec<u8>) {
                let Self { $($field),+ } = self;
                $($crate::wire::Wire::encode($field, to);)+
            }

            fn decode(from: &mut &[u8]) -> Option<Self> {
                $(let $field = $crate::wire::Wire::decode(from)?;)+
                Some(Self { $($field),+ })
            }
        }
    };
    (enum $name:ident { $($number:literal $variant:ident $(($one:ident))? $({ $($field:ident),+ })?,)+ }) => {
        impl $crate::wire::Wire for $name {
            fn encode(&self, to: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($one))? $({ $($field),+ })? => {
                        to.push($number);
                        $($crate::wire::Wire::encode($one, to);)?
                        $($($crate::wire::Wire::encode($field, to);)+)?
                    })+
                }
            }

            fn decode(from: &mut &[u8]) -> Option<Self> {
                match <u8 as $crate::wire::Wire>::decode(from)? {
                    $($number => {
                        $(let $one = $crate::wire::Wire::decode(from)?;)?
                        $($(let $field = $crate::wire::Wire::decode(from)?;)+)?
                        Some(Self::$variant $(($one))? $({ $($field),+ })?)
                    })+
                    _ => None,
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::calls::CallGroups;
    use crate::error::{About, FileOperation, IoClass};

    fn errors() -> Vec<Error> {
        let cause = std::io::Error::from_raw_os_error(libc::ENOSPC);
        vec![
            Error::hint("cb_nodes", "ä", "1 or more").of_rank(3),
            Error::argument("path", "a\nb", "").about(About::Terms),
            Error::io(7, FileOperation::deferred_write("write", 3), "file".as_ref(), u64::MAX, &cause),
            Error::codec(5, "cut"),
            Error::NoMemory { rank: 1, bytes: 1 << 40, what: String::new() },
            Error::refused(2, "other hints"),
            Error::CallsDiffer { calls: CallGroups::from_calls([(1, "a"), (2, "b")]), path: "f".to_string() },
            Error::fabric("gone"),
            Error::internal(0, "x".repeat(300)),
        ]
    }

    #[test]
    fn a_value_comes_back() {
        for error in errors() {
            assert_eq!(from_bytes::<Error>(&to_bytes(&error)), Some(error.clone()));
            let all = (Some(vec![error.clone()]), Err::<u64, _>(error));
            assert_eq!(from_bytes(&to_bytes(&all)), Some(all));
        }
        let others = (PathBuf::from(OsStr::from_bytes(b"a\xff")), (Some(1.5), (-3i32, (7u16, true))));
        assert_eq!(from_bytes(&to_bytes(&others)), Some(others));
        assert_eq!(from_bytes::<IoClass>(&[200]), None);
    }

    /// Bytes that end too early are no value. A changed byte gives another value, or none.
    #[test]
    fn damaged_bytes_are_no_panic() {
        for error in errors() {
            let bytes = to_bytes(&Some(error));
            for at in 0..bytes.len() {
                assert_eq!(from_bytes::<Option<Error>>(&bytes[..at]), None);
                for other in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut damaged = bytes.clone();
                    damaged[at] = other;
                    let _ = from_bytes::<Option<Error>>(&damaged);
                    let _ = from_bytes::<Vec<(String, String)>>(&damaged);
                }
            }
            assert_eq!(from_bytes::<Option<Error>>(&[&bytes[..], &[0]].concat()), None, "more than a value");
        }
    }
}
