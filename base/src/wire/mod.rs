//! The one encoding of values that ranks send to each other and that captures keep: facts of a call, errors, hints,
//! properties of a file.
//!
//! | module | holds |
//! |---|---|
//! | [`frame`] | bytes with their length before them, in a slot of shared memory or in a message |
//! | [`varint`] | integers in a variable number of bytes |
//!
//! Numbers are little-endian integers of 64 bits. A text, or a list, begins with its length. An enum begins with the
//! number of its variant, in one byte. An option begins with one byte, 0 or 1. If all values of a type have the same size
//! ([`Wire::SIZE`]), so have all options and enums of the type: zeros fill the place. Damaged bytes decode to another
//! value or to None, without a panic, and take no more memory than a few times their own length.

pub mod frame;
pub mod varint;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

pub use crate::wire_fields as fields;

/// A value that can be encoded in bytes. All ranks run the same version of the library, so the encoding may change
/// with every version.
pub trait Wire: Sized {
    /// Number of bytes of every encoded value; `None` if it depends on the value.
    const SIZE: Option<usize>;

    /// Appends the bytes of the value to `to`.
    fn encode(&self, to: &mut impl Output);

    /// Decodes a value from the front of `from`, and removes its bytes there. `None` if the bytes there are no value
    /// of this type.
    fn decode(from: &mut &[u8]) -> Option<Self>;
}

/// Takes the bytes of encoded values, in order.
pub trait Output {
    /// Appends bytes.
    fn bytes(&mut self, bytes: &[u8]);

    /// Appends `count` bytes that are zero.
    fn zeros(&mut self, count: usize);

    /// Appends one byte.
    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        self.bytes(&[byte]);
    }
}

impl Output for Vec<u8> {
    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline]
    fn zeros(&mut self, count: usize) {
        self.resize(self.len() + count, 0);
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.push(byte);
    }
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

/// Decodes a value from the front of `from`, and removes its bytes there. Like [`Wire::decode`], but for a type of fixed
/// size checks the length of the bytes once, not for each field.
#[inline(always)]
pub fn take<T: Wire>(from: &mut &[u8]) -> Option<T> {
    let Some(size) = T::SIZE else { return T::decode(from) };
    let (mut own, rest) = from.split_at_checked(size)?;
    *from = rest;
    T::decode(&mut own)
}

impl Wire for u64 {
    const SIZE: Option<usize> = Some(8);

    #[inline(always)]
    fn encode(&self, to: &mut impl Output) {
        to.bytes(&self.to_le_bytes());
    }

    #[inline(always)]
    fn decode(from: &mut &[u8]) -> Option<Self> {
        let (word, rest) = from.split_first_chunk()?;
        *from = rest;
        Some(Self::from_le_bytes(*word))
    }
}

macro_rules! integers {
    ($($kind:ty)+) => {
        $(impl Wire for $kind {
            const SIZE: Option<usize> = u64::SIZE;

            #[inline(always)]
            fn encode(&self, to: &mut impl Output) {
                (*self as u64).encode(to);
            }

            #[inline(always)]
            fn decode(from: &mut &[u8]) -> Option<Self> {
                let word = u64::decode(from)?;
                let value = word as Self;
                (value as u64 == word).then_some(value)
            }
        })+
    };
}

integers! { u16 u32 usize i32 i64 }

impl Wire for f64 {
    const SIZE: Option<usize> = u64::SIZE;

    fn encode(&self, to: &mut impl Output) {
        self.to_bits().encode(to);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        u64::decode(from).map(Self::from_bits)
    }
}

impl Wire for u8 {
    const SIZE: Option<usize> = Some(1);

    #[inline(always)]
    fn encode(&self, to: &mut impl Output) {
        to.byte(*self);
    }

    #[inline(always)]
    fn decode(from: &mut &[u8]) -> Option<Self> {
        let (first, rest) = from.split_first()?;
        *from = rest;
        Some(*first)
    }
}

impl Wire for bool {
    const SIZE: Option<usize> = Some(1);

    #[inline(always)]
    fn encode(&self, to: &mut impl Output) {
        to.byte(u8::from(*self));
    }

    #[inline(always)]
    fn decode(from: &mut &[u8]) -> Option<Self> {
        match u8::decode(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<T: Wire> Wire for Vec<T> {
    const SIZE: Option<usize> = None;

    fn encode(&self, to: &mut impl Output) {
        self.len().encode(to);
        self.iter().for_each(|one| one.encode(to));
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let count = usize::decode(from)?;
        // Every value takes at least one byte. So a longer list is damaged; no memory is allocated for it.
        if count > from.len() {
            return None;
        }
        (0..count).map(|_| T::decode(from)).collect()
    }
}

impl Wire for String {
    const SIZE: Option<usize> = None;

    fn encode(&self, to: &mut impl Output) {
        self.len().encode(to);
        to.bytes(self.as_bytes());
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        Self::from_utf8(Vec::decode(from)?).ok()
    }
}

impl Wire for PathBuf {
    const SIZE: Option<usize> = None;

    fn encode(&self, to: &mut impl Output) {
        let bytes = self.as_os_str().as_bytes();
        bytes.len().encode(to);
        to.bytes(bytes);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        Vec::decode(from).map(|bytes| OsStr::from_bytes(&bytes).into())
    }
}

impl<T: Wire> Wire for Option<T> {
    const SIZE: Option<usize> = fields_size(&[bool::SIZE, T::SIZE]);

    #[inline(always)]
    fn encode(&self, to: &mut impl Output) {
        self.is_some().encode(to);
        match self {
            Some(value) => value.encode(to),
            None => to.zeros(T::SIZE.unwrap_or(0)),
        }
    }

    #[inline(always)]
    fn decode(from: &mut &[u8]) -> Option<Self> {
        match bool::decode(from)? {
            true => T::decode(from).map(Some),
            false => {
                *from = from.get(T::SIZE.unwrap_or(0)..)?;
                Some(None)
            }
        }
    }
}

impl<T: Wire> Wire for Box<T> {
    const SIZE: Option<usize> = T::SIZE;

    fn encode(&self, to: &mut impl Output) {
        (**self).encode(to);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        T::decode(from).map(Self::new)
    }
}

impl<T: Wire, E: Wire> Wire for Result<T, E> {
    const SIZE: Option<usize> = None;

    fn encode(&self, to: &mut impl Output) {
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
    const SIZE: Option<usize> = fields_size(&[T::SIZE, U::SIZE]);

    #[inline(always)]
    fn encode(&self, to: &mut impl Output) {
        self.0.encode(to);
        self.1.encode(to);
    }

    #[inline(always)]
    fn decode(from: &mut &[u8]) -> Option<Self> {
        Some((T::decode(from)?, U::decode(from)?))
    }
}

impl<const N: usize> Wire for [u64; N] {
    const SIZE: Option<usize> = Some(8 * N);

    #[inline(always)]
    fn encode(&self, to: &mut impl Output) {
        to.bytes(self.map(u64::to_le_bytes).as_flattened());
    }

    #[inline(always)]
    fn decode(from: &mut &[u8]) -> Option<Self> {
        let (own, rest) = from.split_at_checked(8 * N)?;
        *from = rest;
        let mut values = [0; N];
        values.iter_mut().zip(own.as_chunks().0).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
        Some(values)
    }
}

/// Returns the size of a value with fields of these sizes; `None` if it depends on the value.
#[doc(hidden)]
pub const fn fields_size(fields: &[Option<usize>]) -> Option<usize> {
    let (mut sum, mut at) = (0, 0);
    while at < fields.len() {
        match fields[at] {
            Some(size) => sum += size,
            None => return None,
        }
        at += 1;
    }
    Some(sum)
}

/// Returns the size of an enum whose variants have fields of these sizes; `None` if it depends on the value.
#[doc(hidden)]
pub const fn variants_size(variants: &[Option<usize>]) -> Option<usize> {
    let (mut most, mut at) = (0, 0);
    while at < variants.len() {
        match variants[at] {
            Some(size) if size > most => most = size,
            Some(_) => {}
            None => return None,
        }
        at += 1;
    }
    Some(1 + most)
}

/// Returns the number of zeros after a variant with fields of size `own` that fill it up to the size `all` of its enum.
#[doc(hidden)]
pub const fn filling(all: Option<usize>, own: Option<usize>) -> usize {
    match (all, own) {
        (Some(all), Some(own)) => all - 1 - own,
        _ => 0,
    }
}

/// Returns the encoded size of `T`, or `None` if it varies. Does not call `_field`.
#[doc(hidden)]
pub const fn field_size<S, T: Wire>(_field: fn(&S) -> Option<&T>) -> Option<usize> {
    T::SIZE
}

/// Implements [`Wire`](crate::wire::Wire) for a struct by its fields, in order, and for an enum by its variants, which have
/// numbers.
#[doc(hidden)]
#[macro_export]
macro_rules! wire_fields {
    (struct $name:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::wire::Wire for $name {
            const SIZE: Option<usize> =
                $crate::wire::fields_size(&[$($crate::wire::field_size(|it: &Self| Some(&it.$field))),+]);

            #[inline(always)]
            fn encode(&self, to: &mut impl $crate::wire::Output) {
                let Self { $($field),+ } = self;
                $($crate::wire::Wire::encode($field, to);)+
            }

            #[inline(always)]
            fn decode(from: &mut &[u8]) -> Option<Self> {
                $(let $field = $crate::wire::Wire::decode(from)?;)+
                Some(Self { $($field),+ })
            }
        }
    };
    (enum $name:ident { $($number:literal $variant:ident $(($one:ident))? $({ $($field:ident),+ })?,)+ }) => {
        impl $crate::wire::Wire for $name {
            const SIZE: Option<usize> = $crate::wire::variants_size(&[
                $($crate::wire_fields!(@size $variant $(($one))? $({ $($field),+ })?)),+
            ]);

            #[inline(always)]
            fn encode(&self, to: &mut impl $crate::wire::Output) {
                match self {
                    $(Self::$variant $(($one))? $({ $($field),+ })? => {
                        to.byte($number);
                        $($crate::wire::Wire::encode($one, to);)?
                        $($($crate::wire::Wire::encode($field, to);)+)?
                        to.zeros($crate::wire_fields!(@filling $variant $(($one))? $({ $($field),+ })?));
                    })+
                }
            }

            #[inline(always)]
            fn decode(from: &mut &[u8]) -> Option<Self> {
                let (value, filling) = match <u8 as $crate::wire::Wire>::decode(from)? {
                    $($number => {
                        $(let $one = $crate::wire::Wire::decode(from)?;)?
                        $($(let $field = $crate::wire::Wire::decode(from)?;)+)?
                        (
                            Self::$variant $(($one))? $({ $($field),+ })?,
                            $crate::wire_fields!(@filling $variant $(($one))? $({ $($field),+ })?),
                        )
                    })+
                    _ => return None,
                };
                *from = from.get(filling..)?;
                Some(value)
            }
        }
    };
    (@filling $($variant:tt)+) => {
        const { $crate::wire::filling(Self::SIZE, $crate::wire_fields!(@size $($variant)+)) }
    };
    (@size $variant:ident $(($one:ident))? $({ $($field:ident),+ })?) => {
        $crate::wire::fields_size(&[
            $($crate::wire_fields!(@of |it| { Self::$variant($one) } $one),)?
            $($($crate::wire_fields!(@of |it| { Self::$variant { $field, .. } } $field),)+)?
        ])
    };
    (@of |$it:ident| { $pattern:pat } $field:ident) => {
        $crate::wire::field_size(|$it: &Self| match $it {
            $pattern => Some($field),
            #[allow(unreachable_patterns)]
                    _ => None,
        })
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
