//! The encoding of values that ranks send each other about a call: *words*, little-endian integers of 64 bits. They are
//! the same in a slot of shared memory and in a message.

use crate::fabric::frame::Encoder;

/// A value that is encoded in a fixed number of words.
pub trait Words: Sized {
    /// Number of words.
    const COUNT: usize;

    /// Passes the words of the value to `next`, in order.
    fn encode(&self, next: &mut impl FnMut(u64));

    /// Decodes the value from the words that `next` returns, in order. Any words have a meaning.
    fn decode(next: &mut impl FnMut() -> u64) -> Self;
}

/// Adds a value to what is being encoded.
#[inline]
pub fn add<T: Words>(what: &T, out: &mut Encoder<'_>) {
    put(what, out.next(8 * T::COUNT));
}

/// Encodes a value at the start of `bytes`, which must have room for it.
#[inline]
fn put<T: Words>(what: &T, bytes: &mut [u8]) {
    // The length is known at compile time.
    let mut places = bytes.as_chunks_mut::<8>().0[..T::COUNT].iter_mut();
    what.encode(&mut |value| {
        if let Some(place) = places.next() {
            *place = value.to_le_bytes();
        }
    });
}

/// Decodes a value from the words at the start of `bytes`. Missing words are 0.
#[inline]
pub fn get<T: Words>(bytes: &[u8]) -> T {
    let padded;
    let all = match bytes.as_chunks::<8>().0.get(..T::COUNT) {
        Some(all) => all,
        None => {
            padded = [bytes, &vec![0; 8 * T::COUNT]].concat();
            &padded.as_chunks::<8>().0[..T::COUNT]
        }
    };
    let mut words = all.iter();
    T::decode(&mut || words.next().map_or(0, |value| u64::from_le_bytes(*value)))
}

/// Returns an encoded value.
#[cfg(test)]
pub fn message<T: Words>(what: &T) -> Vec<u8> {
    let mut bytes = vec![0; 8 * T::COUNT];
    put(what, &mut bytes);
    bytes
}

/// Implements `Words` for types that one word encodes: the type, a name for the word, and how the word becomes the value.
macro_rules! one_word {
    ($($kind:ty: $value:ident => $back:expr;)+) => {
        $(impl $crate::engine::facts::words::Words for $kind {
            const COUNT: usize = 1;

            #[inline]
            fn encode(&self, next: &mut impl FnMut(u64)) {
                next(*self as u64);
            }

            #[inline]
            fn decode(next: &mut impl FnMut() -> u64) -> Self {
                let $value = next();
                $back
            }
        })+
    };
}

one_word! {
    u64: value => value;
    u32: value => value as Self;
    i64: value => value as Self;
    usize: value => value as Self;
    bool: value => value != 0;
}

impl<T: Words + Default> Words for Option<T> {
    const COUNT: usize = 1 + T::COUNT;

    #[inline]
    fn encode(&self, next: &mut impl FnMut(u64)) {
        self.is_some().encode(next);
        self.as_ref().unwrap_or(&T::default()).encode(next);
    }

    #[inline]
    fn decode(next: &mut impl FnMut() -> u64) -> Self {
        let is_some = bool::decode(next);
        Some(T::decode(next)).filter(|_| is_some)
    }
}

impl<T: Words, const N: usize> Words for [T; N] {
    const COUNT: usize = N * T::COUNT;

    #[inline]
    fn encode(&self, next: &mut impl FnMut(u64)) {
        self.iter().for_each(|one| one.encode(next));
    }

    #[inline]
    fn decode(next: &mut impl FnMut() -> u64) -> Self {
        std::array::from_fn(|_| T::decode(next))
    }
}

/// Defines a struct and its encoding: the words of its fields, in order.
macro_rules! words {
    ($(#[$about:meta])* $sees:vis struct $name:ident {
        $($(#[$of:meta])* $seen:vis $field:ident: $kind:ty,)+
    }) => {
        $(#[$about])*
        $sees struct $name {
            $($(#[$of])* $seen $field: $kind,)+
        }

        impl $crate::engine::facts::words::Words for $name {
            const COUNT: usize = 0 $(+ <$kind as $crate::engine::facts::words::Words>::COUNT)+;

            #[inline]
            fn encode(&self, next: &mut impl FnMut(u64)) {
                $($crate::engine::facts::words::Words::encode(&self.$field, next);)+
            }

            #[inline]
            fn decode(next: &mut impl FnMut() -> u64) -> Self {
                $(let $field = $crate::engine::facts::words::Words::decode(next);)+
                Self { $($field),+ }
            }
        }
    };
}
pub(in crate::engine) use {one_word, words};
