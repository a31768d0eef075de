//! The one encoding of what ranks tell each other about a call: *lanes*, little-endian integers of 64 bits. They are the same in
//! a slot of shared memory and in a message.

/// What is told in a fixed number of lanes.
pub trait Lanes: Sized {
    /// The number.
    const COUNT: usize;

    /// Hands out the lanes in order.
    fn tell(&self, next: &mut impl FnMut(u64));

    /// Takes the lanes in order. Any lanes have a meaning.
    fn hear(next: &mut impl FnMut() -> u64) -> Self;
}

/// Writes the lanes to the front of a slot, which has room for them.
#[inline]
pub fn put<T: Lanes>(what: &T, slot: &mut [u8]) {
    // Of a length that is known when this is compiled.
    let mut places = slot.as_chunks_mut::<8>().0[..T::COUNT].iter_mut();
    what.tell(&mut |lane| {
        if let Some(place) = places.next() {
            *place = lane.to_le_bytes();
        }
    });
}

/// What the lanes at the front of a slot or a message say. Lanes that are not there are 0.
#[inline]
pub fn get<T: Lanes>(bytes: &[u8]) -> T {
    let padded;
    let all = match bytes.as_chunks::<8>().0.get(..T::COUNT) {
        Some(all) => all,
        None => {
            padded = [bytes, &vec![0; 8 * T::COUNT]].concat();
            &padded.as_chunks::<8>().0[..T::COUNT]
        }
    };
    let mut lanes = all.iter();
    T::hear(&mut || lanes.next().map_or(0, |lane| u64::from_le_bytes(*lane)))
}

/// The lanes as a message.
pub fn message<T: Lanes>(what: &T) -> Vec<u8> {
    let mut bytes = vec![0; 8 * T::COUNT];
    put(what, &mut bytes);
    bytes
}

macro_rules! one_lane {
    ($($kind:ty: $lane:ident => $back:expr;)+) => {
        $(impl Lanes for $kind {
            const COUNT: usize = 1;

            #[inline]
            fn tell(&self, next: &mut impl FnMut(u64)) {
                next(*self as u64);
            }

            #[inline]
            fn hear(next: &mut impl FnMut() -> u64) -> Self {
                let $lane = next();
                $back
            }
        })+
    };
}

one_lane! {
    u64: lane => lane;
    u32: lane => lane as Self;
    i64: lane => lane as Self;
    usize: lane => lane as Self;
    bool: lane => lane != 0;
}

impl<T: Lanes + Default> Lanes for Option<T> {
    const COUNT: usize = 1 + T::COUNT;

    #[inline]
    fn tell(&self, next: &mut impl FnMut(u64)) {
        self.is_some().tell(next);
        self.as_ref().unwrap_or(&T::default()).tell(next);
    }

    #[inline]
    fn hear(next: &mut impl FnMut() -> u64) -> Self {
        let is_some = bool::hear(next);
        Some(T::hear(next)).filter(|_| is_some)
    }
}

impl<T: Lanes, const N: usize> Lanes for [T; N] {
    const COUNT: usize = N * T::COUNT;

    #[inline]
    fn tell(&self, next: &mut impl FnMut(u64)) {
        self.iter().for_each(|one| one.tell(next));
    }

    #[inline]
    fn hear(next: &mut impl FnMut() -> u64) -> Self {
        std::array::from_fn(|_| T::hear(next))
    }
}

/// A struct that is told as the lanes of its fields.
macro_rules! lanes {
    ($(#[$about:meta])* $sees:vis struct $name:ident {
        $($(#[$of:meta])* $seen:vis $field:ident: $kind:ty,)+
    }) => {
        $(#[$about])*
        $sees struct $name {
            $($(#[$of])* $seen $field: $kind,)+
        }

        impl $crate::engine::facts::lanes::Lanes for $name {
            const COUNT: usize = 0 $(+ <$kind as $crate::engine::facts::lanes::Lanes>::COUNT)+;

            #[inline]
            fn tell(&self, next: &mut impl FnMut(u64)) {
                $($crate::engine::facts::lanes::Lanes::tell(&self.$field, next);)+
            }

            #[inline]
            fn hear(next: &mut impl FnMut() -> u64) -> Self {
                $(let $field = $crate::engine::facts::lanes::Lanes::hear(next);)+
                Self { $($field),+ }
            }
        }
    };
}
pub(in crate::engine) use lanes;
